// Numbers of parameters, and the keys under which LibTorch keeps their state.
#include "state/optimizer_parameters.h"

#include <sstream>
#include <unordered_map>

#include <c10/util/Type.h>
#include <fmt/format.h>

#include "format/layout.h"
#include "state/dtypes.h"
#include "state/optimizer_class.h"
#include "state/optimizer_fields.h"
#include "state/optimizer_state_key.h"

namespace cairn::state {

LiveParameters live_parameters(const torch::optim::Optimizer& optimizer) {
  LiveParameters live;
  std::unordered_map<const void*, std::int64_t> numbers;
  std::int64_t next = 0;
  for (const auto& group : optimizer.param_groups()) {
    std::vector<std::int64_t>& listed = live.groups.emplace_back();
    for (const at::Tensor& parameter : group.params()) {
      const auto [place, is_first] = numbers.emplace(parameter.unsafeGetTensorImpl(), next++);
      if (is_first) live.parameters.push_back({place->second, live.groups.size() - 1, parameter});
      listed.push_back(place->second);
    }
  }
  return live;
}

torch::optim::OptimizerParamState* find_state(const torch::optim::Optimizer& optimizer, const at::Tensor& parameter) {
  const auto found = optimizer.state().find(state_key(optimizer, parameter));
  return found == optimizer.state().end() ? nullptr : found->second.get();
}

std::string describe_parameter(const at::Tensor& parameter) {
  const std::vector<std::int64_t> sizes(parameter.sizes().begin(), parameter.sizes().end());
  return fmt::format("{} {}", describe(parameter.scalar_type()), format::describe_sizes(sizes));
}

std::string optimizer_class(const torch::optim::Optimizer& optimizer) {
  std::string name;
  const bool is_known = visit_optimizer(
      optimizer, [&](const auto& exact) { name = FieldsOf<std::remove_cvref_t<decltype(exact)>>::kName; });
  return is_known ? name : c10::demangle(typeid(optimizer).name());
}

bool is_known_optimizer(const torch::optim::Optimizer& optimizer) {
  return visit_optimizer(optimizer, [](const auto&) {});
}

}  // namespace cairn::state
