// Walks over the fields of an optimizer and writes them down.
#include "state/optimizer_capture.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>

#include "format/fail.h"
#include "state/optimizer_fields.h"
#include "state/optimizer_parameters.h"

namespace cairn::state {

namespace {

Value to_value(double number) { return number; }
Value to_value(std::int64_t number) { return number; }
Value to_value(bool flag) { return flag; }
Value to_value(const std::string& text) { return text; }
Value to_value(const std::tuple<double, double>& pair) { return ValueList{std::get<0>(pair), std::get<1>(pair)}; }
/// std::optional, or c10::optional where that is another type.
template <typename Optional>
auto to_value(const Optional& optional) -> decltype(optional.has_value(), Value()) {
  return optional.has_value() ? to_value(*optional) : Value();
}

struct OptionWriter {
  StateDict& state_dict;
  const std::string& prefix;

  template <typename Option>
  void operator()(std::string_view name, const Option& option) {
    state_dict.insert(prefix + std::string(name), to_value(option));
  }
};

struct StateWriter {
  StateDict& state_dict;
  const std::string& prefix;

  void count(std::string_view name, std::int64_t value) { state_dict.insert(prefix + std::string(name), Value(value)); }
  void number(std::string_view name, double value, Presence presence) {
    if (presence == Presence::kRequired) state_dict.insert(prefix + std::string(name), Value(value));
  }
  void tensor(std::string_view name, const at::Tensor& tensor, Presence, Extent = Extent::kParameter) {
    if (tensor.defined()) state_dict.insert(prefix + std::string(name), tensor);
  }
  void tensors(std::string_view name, const std::deque<at::Tensor>& list, Extent) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].defined()) state_dict.insert(fmt::format("{}{}.{}", prefix, name, i), list[i]);
    }
  }
  template <typename Slots>
  void slots(std::string_view name, const Slots& slots) {
    if (!slots.has_value()) return;
    state_dict.insert(fmt::format("{}{}_size", prefix, name), Value(static_cast<std::int64_t>(slots->size())));
    for (std::size_t i = 0; i < slots->size(); ++i) {
      if ((*slots)[i].defined()) state_dict.insert(fmt::format("{}{}.{}", prefix, name, i), (*slots)[i]);
    }
  }
};

/// Lists of a group that say what its parameters are.
void write_parameters(const std::string& prefix, const std::vector<at::Tensor>& parameters,
                      const std::vector<std::int64_t>& numbers, const ParameterNames& names, StateDict& state_dict) {
  ValueList listed;
  ValueList named;
  ValueList shapes;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto name = names.find(parameters[i]);
    listed.emplace_back(numbers[i]);
    named.push_back(name ? Value(*name) : Value());
    shapes.emplace_back(describe_parameter(parameters[i]));
  }
  state_dict.insert(prefix + "params", Value(std::move(listed)));
  if (!std::all_of(named.begin(), named.end(), [](const Value& name) { return name.is_null(); })) {
    state_dict.insert(prefix + "param_names", Value(std::move(named)));
  }
  state_dict.insert(prefix + "param_shapes", Value(std::move(shapes)));
}

/// A group can be given options of any class; LibTorch's own casts do not look.
template <typename Optimizer>
const typename FieldsOf<Optimizer>::Options& options_of(const Optimizer& optimizer, std::size_t group) {
  using Options = typename FieldsOf<Optimizer>::Options;
  if (const auto* options = dynamic_cast<const Options*>(&optimizer.param_groups()[group].options())) return *options;
  fail(ErrorCode::kUnsupported, "param group {} of an optimizer of class {} has options of another class", group,
       FieldsOf<Optimizer>::kName);
}

template <typename Optimizer>
StateDict capture_exact(const Optimizer& optimizer, const ParameterNames& names) {
  using Fields = FieldsOf<Optimizer>;
  StateDict state_dict;
  const LiveParameters live = live_parameters(optimizer);
  for (const LiveParameter& parameter : live.parameters) {
    const auto* state = find_state(optimizer, parameter.tensor);
    if (state == nullptr) continue;
    const std::string prefix = fmt::format("state.{}.", parameter.number);
    StateWriter writer{state_dict, prefix};
    Fields::visit_state(static_cast<const typename Fields::State&>(*state), options_of(optimizer, parameter.group),
                        writer);
  }
  for (std::size_t g = 0; g < live.groups.size(); ++g) {
    const std::string prefix = fmt::format("param_groups.{}.", g);
    OptionWriter writer{state_dict, prefix};
    Fields::visit_options(options_of(optimizer, g), writer);
    write_parameters(prefix, optimizer.param_groups()[g].params(), live.groups[g], names, state_dict);
  }
  return state_dict;
}

}  // namespace

StateDict capture_optimizer(const torch::optim::Optimizer& optimizer, const ParameterNames& names) {
  StateDict state_dict;
  visit_optimizer(optimizer, [&](const auto& exact) { state_dict = capture_exact(exact, names); });
  return state_dict;
}

}  // namespace cairn::state
