// Key of a parameter's state in an optimizer: its address, as text up to LibTorch 2.1, as a pointer since.
#pragma once

#include <sstream>
#include <string>
#include <type_traits>

#include <torch/optim/optimizer.h>

namespace cairn::state {

template <typename Optimizer>
auto state_key(const Optimizer& optimizer, const at::Tensor& parameter) {
  using Key = typename std::remove_cvref_t<decltype(optimizer.state())>::key_type;
  if constexpr (std::is_same_v<Key, std::string>) {
    // As c10::guts::to_string prints a pointer.
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return static_cast<Key>(parameter.unsafeGetTensorImpl());
  }
}

}  // namespace cairn::state
