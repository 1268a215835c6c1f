// Plan of targets whose entries stand each for itself: modules, state dicts, tensors.
#include <memory>
#include <unordered_set>
#include <utility>

#include "format/fail.h"
#include "state/dtypes.h"
#include "state/module_entries.h"
#include "state/target_plan.h"
#include "state/tensor_bytes.h"

namespace cairn::state {

namespace {

struct LiveEntry {
  std::string name;
  at::Tensor tensor;  // undefined for a plain value
  bool is_tensor = true;
};

std::vector<LiveEntry> live_entries(const detail::TargetObject& target) {
  std::vector<LiveEntry> entries;
  if (const auto* module = std::get_if<detail::ModuleObject>(&target.object)) {
    for (ModuleEntry& entry : module_entries(*module->module)) {
      entries.push_back({std::move(entry.name), std::move(entry.tensor)});
    }
  } else if (const auto* state_dict = std::get_if<detail::StateDictObject>(&target.object)) {
    for (const StateDict::Entry& entry : *state_dict->state_dict) {
      entries.push_back({entry.name, entry.is_tensor() ? entry.tensor() : at::Tensor(), entry.is_tensor()});
    }
  } else {
    entries.push_back({"value", std::get<at::Tensor>(target.object)});
  }
  return entries;
}

std::string_view form_of(bool is_tensor) { return is_tensor ? "a tensor" : "a plain value"; }

/// Plain values of the source on their way into a state dict.
using NewValues = std::vector<std::pair<std::string, Value>>;

void plan_entry(const PlanContext& context, const LiveEntry& entry, const SourceView::Item& item, TargetPlan& plan,
                NewValues& values) {
  if (entry.is_tensor != item.is_tensor()) {
    context.differences.add(fmt::format("{}: {} in the checkpoint, {} in the {}", context.path(entry.name),
                                        form_of(item.is_tensor()), form_of(entry.is_tensor), context.side()));
    return;
  }
  if (!entry.is_tensor) {
    values.emplace_back(entry.name, item.value());
  } else {
    if (std::string problem = writable_problem(entry.tensor); !problem.empty()) {
      context.differences.add(fmt::format("{}: the {}'s tensor cannot be written to: {}", context.path(entry.name),
                                          context.side(), problem));
      return;
    }
    if (!context.fits(item, entry.tensor.sizes(), entry.tensor.scalar_type())) return;
    plan.copies.push_back({item.ref, entry.tensor});
  }
  context.count(item);
}

void refuse_without_match(const PlanContext& context, std::size_t live_count, const std::vector<std::string>& missing,
                          const std::vector<std::string>& unexpected) {
  context.differences.add(
      fmt::format("{}: 0 of {} entries of the {} match one of {} in the checkpoint; {}: {}; checkpoint: {}",
                  printable(context.object()), live_count, context.side(), context.view.items().size(), context.side(),
                  list_names(missing), unexpected.empty() ? "none" : list_names(unexpected)));
}

}  // namespace

TargetPlan plan_entries(const PlanContext& context) {
  TargetPlan plan;
  NewValues values;
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::unordered_set<std::string> live_names;
  std::size_t match_count = 0;
  for (const LiveEntry& entry : live_entries(*context.target.target().object())) {
    if (!context.selection.includes(context.object(), entry.name)) continue;
    live_names.insert(entry.name);
    if (const SourceView::Item* item = context.view.find(entry.name)) {
      ++match_count;
      plan_entry(context, entry, *item, plan, values);
    } else {
      missing.push_back(entry.name);
    }
  }
  for (const SourceView::Item& item : context.view.items()) {
    if (!live_names.contains(item.name)) unexpected.push_back(item.name);
  }
  context.settle(missing, unexpected);
  if (match_count == 0 && context.accepts_missing() && !missing.empty() && !unexpected.empty()) {
    refuse_without_match(context, live_names.size(), missing, unexpected);
  }
  if (!values.empty()) {
    StateDict* state_dict = std::get<detail::StateDictObject>(context.target.target().object()->object).state_dict;
    plan.finish = [state_dict, values = std::move(values)] {
      for (const auto& [name, value] : values) state_dict->set(name, value);
    };
  }
  return plan;
}

}  // namespace cairn::state
