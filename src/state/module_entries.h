// The tensors of a module under the names LibTorch gives them.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace cairn::state {

struct ModuleEntry {
  std::string name;  ///< As in named_parameters() and named_buffers(): "encoder.0.weight".
  at::Tensor tensor;
  bool is_parameter = false;
};

/// Parameters, then buffers of a module, then those of its children: the order of Python's state_dict(). A tensor that
/// is registered under several names comes under each of them; an undefined one (no bias, no running mean) not at all.
std::vector<ModuleEntry> module_entries(const torch::nn::Module& module);

}  // namespace cairn::state
