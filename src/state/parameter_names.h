// What the parameters of an optimizer are called: by the modules that stand beside it in the same call.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cairn/target.h"

namespace cairn::state {

class ParameterNames {
 public:
  struct Place {
    std::string object;
    std::string name;
  };

  explicit ParameterNames(const Targets& targets);

  /// Name to record: the plain one where all modules of the call agree on what it means, else "object/name". Of several
  /// names of one tensor the first. Empty when no module of the call holds the parameter.
  std::optional<std::string> find(const at::Tensor& parameter) const;
  /// Every place where a module of the call holds the parameter.
  std::vector<Place> places(const at::Tensor& parameter) const;

 private:
  std::unordered_map<const void*, std::vector<Place>> places_;         // by TensorImpl
  std::unordered_map<std::string, std::vector<const void*>> tensors_;  // by plain name: different tensors of this name
};

}  // namespace cairn::state
