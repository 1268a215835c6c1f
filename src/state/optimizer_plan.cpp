// Plan of an optimizer: new options and new state are built beside the live ones, which they replace at the end.
//
// Tensors of the live state are kept where they fit, so that applying again and again takes no memory; they are only
// written to after all checks. State that the checkpoint does not have is gone afterwards: absent is not zero.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>

#include "format/fail.h"
#include "state/dtypes.h"
#include "state/late_numbers.h"
#include "state/optimizer_fields.h"
#include "state/optimizer_options_reader.h"
#include "state/optimizer_record.h"
#include "state/optimizer_state_key.h"
#include "state/optimizer_state_reader.h"
#include "state/parameter_pairing.h"
#include "state/target_plan.h"

namespace cairn::state {

namespace {

/// What takes the place of a live optimizer's content. Fields have their places until finish.
template <typename Optimizer>
struct NewContent {
  using Fields = FieldsOf<Optimizer>;

  explicit NewContent(const PlanContext& context) : numbers(context) {}

  std::vector<std::unique_ptr<typename Fields::Options>> options;                      // by group
  std::vector<std::pair<at::Tensor, std::unique_ptr<typename Fields::State>>> states;  // by parameter
  LateNumbers numbers;
};

void append_names(const RecordedFields& fields, std::vector<std::string>& names) {
  for (const auto& [field, item] : fields) names.push_back(item->name);
}

template <typename Optimizer>
bool read_options(const PlanContext& context, const Optimizer& optimizer, OptimizerRecord& record,
                  NewContent<Optimizer>& content, std::vector<std::string>& missing) {
  using Options = typename FieldsOf<Optimizer>::Options;
  bool is_sound = true;
  for (std::size_t group = 0; group < record.groups.size(); ++group) {
    const auto* live = dynamic_cast<const Options*>(&optimizer.param_groups()[group].options());
    if (live == nullptr) {
      context.differences.add(fmt::format("{}: param group {} of the optimizer has options of another class",
                                          printable(context.object()), group));
      return false;
    }
    Options& options = *content.options.emplace_back(std::make_unique<Options>(*live));
    OptionReader reader(context, record.groups[group], content.numbers, fmt::format("param_groups.{}.", group),
                        missing);
    FieldsOf<Optimizer>::visit_options(options, reader);
    is_sound = is_sound && reader.is_sound();
  }
  return is_sound;
}

/// Sizes of the tensors of a state that are shaped as what they belong to.
template <typename Optimizer>
std::vector<std::int64_t> state_sizes(const Optimizer& optimizer, const at::Tensor& parameter) {
  if constexpr (has_one_state_v<Optimizer>) {
    std::int64_t numel = 0;
    for (const at::Tensor& each : optimizer.param_groups()[0].params()) numel += each.numel();
    return {numel};
  } else {
    return {parameter.sizes().begin(), parameter.sizes().end()};
  }
}

template <typename Optimizer>
void read_state(const PlanContext& context, const Optimizer& optimizer, const RecordedParameter& recorded,
                const LiveParameter& live, RecordedFields& fields, NewContent<Optimizer>& content, TargetPlan& plan) {
  using State = typename FieldsOf<Optimizer>::State;
  const auto* old = static_cast<const State*>(find_state(optimizer, live.tensor));
  auto state = old != nullptr ? std::make_unique<State>(*old) : std::make_unique<State>();
  StateReader reader(context, fields, content.numbers, plan.copies,
                     {fmt::format("state.{}.", recorded.number), recorded.name, recorded.shape, live.tensor,
                      state_sizes(optimizer, live.tensor), !has_one_state_v<Optimizer>});
  FieldsOf<Optimizer>::visit_state(*state, *content.options[live.group], reader);
  content.states.emplace_back(live.tensor, std::move(state));
}

/// One flat vector over all parameters has no meaning in another order.
bool is_same_order(const std::vector<ParameterPair>& pairs) {
  return std::is_sorted(pairs.begin(), pairs.end(), [](const ParameterPair& left, const ParameterPair& right) {
    return left.recorded < right.recorded;
  });
}

template <typename Optimizer>
void read_states(const PlanContext& context, const Optimizer& optimizer, OptimizerRecord& record,
                 const LiveParameters& live, NewContent<Optimizer>& content, TargetPlan& plan) {
  std::vector<ParameterPair> pairs = pair_parameters(context, record, live);
  if constexpr (has_one_state_v<Optimizer>) {
    if (!is_same_order(pairs)) {
      context.differences.add(
          fmt::format("{}: the parameters come in another order than in the checkpoint, and {} keeps "
                      "one state for all of them in order",
                      printable(context.object()), FieldsOf<Optimizer>::kName));
      return;
    }
    pairs.resize(std::min<std::size_t>(pairs.size(), 1));
  }
  for (const ParameterPair& pair : pairs) {
    const RecordedParameter& recorded = record.parameters[pair.recorded];
    const auto fields = record.states.find(recorded.number);
    if (fields == record.states.end()) continue;
    read_state(context, optimizer, recorded, live.parameters[pair.live], fields->second, content, plan);
  }
}

template <typename Optimizer>
void replace_content(Optimizer& optimizer, NewContent<Optimizer>& content) {
  for (std::size_t group = 0; group < content.options.size(); ++group) {
    static_cast<typename FieldsOf<Optimizer>::Options&>(optimizer.param_groups()[group].options()) =
        *content.options[group];
  }
  optimizer.state().clear();
  for (auto& [parameter, state] : content.states) {
    optimizer.state()[state_key(optimizer, parameter)] = std::move(state);
  }
}

template <typename Optimizer>
TargetPlan plan_exact(const PlanContext& context, Optimizer& optimizer) {
  TargetPlan plan;
  std::optional<OptimizerRecord> record = read_optimizer_record(context);
  if (!record) return plan;
  const LiveParameters live = live_parameters(optimizer);
  auto content = std::make_shared<NewContent<Optimizer>>(context);
  std::vector<std::string> missing;
  if (record->groups.size() != live.groups.size()) {
    pair_parameters(context, *record, live);  // says how they differ
    return plan;
  }
  if (!read_options(context, optimizer, *record, *content, missing)) return plan;
  read_states(context, optimizer, *record, live, *content, plan);

  std::vector<std::string> unexpected = record->unknown;
  for (const RecordedFields& group : record->groups) append_names(group, unexpected);
  for (const auto& [number, fields] : record->states) append_names(fields, unexpected);
  context.settle(missing, unexpected);

  plan.read_ahead = content->numbers.copies();
  plan.check = [content](Differences& differences) { content->numbers.settle(differences); };
  plan.finish = [content, &optimizer] { replace_content(optimizer, *content); };
  return plan;
}

}  // namespace

TargetPlan plan_optimizer(const PlanContext& context) {
  const c10::AutoGradMode no_grad(false);
  torch::optim::Optimizer& optimizer =
      *std::get<detail::OptimizerObject>(context.target.target().object()->object).optimizer;
  TargetPlan plan;
  visit_optimizer(optimizer, [&](auto& exact) { plan = plan_exact(context, exact); });
  return plan;
}

}  // namespace cairn::state
