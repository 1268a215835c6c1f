// Index of the parameters of all modules of a call, by identity and by name.
#include "state/parameter_names.h"

#include <algorithm>

#include "state/module_entries.h"
#include "state/target_object.h"

namespace cairn::state {

ParameterNames::ParameterNames(const Targets& targets) {
  for (const NamedTarget& target : targets) {
    const auto* module = std::get_if<detail::ModuleObject>(&target.target().object()->object);
    if (module == nullptr) continue;
    for (const ModuleEntry& entry : module_entries(*module->module)) {
      if (!entry.is_parameter) continue;
      const void* identity = entry.tensor.unsafeGetTensorImpl();
      places_[identity].push_back({target.name(), entry.name});
      std::vector<const void*>& same_name = tensors_[entry.name];
      if (std::find(same_name.begin(), same_name.end(), identity) == same_name.end()) same_name.push_back(identity);
    }
  }
}

std::vector<ParameterNames::Place> ParameterNames::places(const at::Tensor& parameter) const {
  const auto found = places_.find(parameter.unsafeGetTensorImpl());
  return found == places_.end() ? std::vector<Place>() : found->second;
}

std::optional<std::string> ParameterNames::find(const at::Tensor& parameter) const {
  const auto found = places_.find(parameter.unsafeGetTensorImpl());
  if (found == places_.end()) return std::nullopt;
  const Place& first = found->second.front();
  // A slash would read as a module's name.
  const bool is_plain = tensors_.at(first.name).size() == 1 && first.name.find('/') == std::string::npos;
  return is_plain ? first.name : first.object + "/" + first.name;
}

}  // namespace cairn::state
