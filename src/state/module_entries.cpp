// The walk over a module and its children.
#include "state/module_entries.h"

#include <torch/nn/module.h>

namespace cairn::state {

namespace {

void append(const torch::nn::Module& module, const std::string& prefix, std::vector<ModuleEntry>& entries) {
  for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
    if (parameter.value().defined()) entries.push_back({prefix + parameter.key(), parameter.value(), true});
  }
  for (const auto& buffer : module.named_buffers(/*recurse=*/false)) {
    if (buffer.value().defined()) entries.push_back({prefix + buffer.key(), buffer.value(), false});
  }
  for (const auto& child : module.named_children()) {
    if (child.value() != nullptr) append(*child.value(), prefix + child.key() + ".", entries);
  }
}

}  // namespace

std::vector<ModuleEntry> module_entries(const torch::nn::Module& module) {
  std::vector<ModuleEntry> entries;
  append(module, "", entries);
  return entries;
}

}  // namespace cairn::state
