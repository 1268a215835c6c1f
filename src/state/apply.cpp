// The steps of an apply over all targets together, as numbered in apply.h.
#include "state/apply.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include "cairn/apply.h"
#include "format/fail.h"
#include "state/module_entries.h"
#include "state/optimizer_class.h"
#include "state/snapshot_source.h"
#include "state/target_plan.h"
#include "state/tied_tensors.h"
#include "state/whole_object.h"

namespace cairn::state {

namespace {

bool is_whole(ObjectKind kind) {
  return kind == ObjectKind::kOptimizer || kind == ObjectKind::kGenerator || kind == ObjectKind::kSampler ||
         kind == ObjectKind::kUser;
}

/// Names of a target's own entries, as far as they are needed to say what a checkpoint lacks; of an object that is
/// applied as a whole one name that it has in any case.
std::vector<std::string> own_names(const detail::TargetObject& target) {
  std::vector<std::string> names;
  if (const auto* module = std::get_if<detail::ModuleObject>(&target.object)) {
    for (ModuleEntry& entry : module_entries(*module->module)) names.push_back(std::move(entry.name));
  } else if (const auto* state_dict = std::get_if<detail::StateDictObject>(&target.object)) {
    for (const StateDict::Entry& entry : *state_dict->state_dict) names.push_back(entry.name);
  } else if (target.kind == ObjectKind::kOptimizer) {
    names.push_back("param_groups.0.params");
  } else {
    names.push_back(target.kind == ObjectKind::kTensor ? "value" : "state");
  }
  return names;
}

void note_absent(const PlanContext& context) {
  std::vector<std::string> missing;
  std::vector<std::string> names = own_names(*context.target.target().object());
  for (std::string& name : names) {
    if (context.selection.includes(context.object(), name)) missing.push_back(std::move(name));
  }
  if (missing.empty() && (!names.empty() || !context.selection.is_everything())) return;  // left out by only or except
  if (context.accepts_missing()) {
    for (const std::string& name : missing) context.report.missing.push_back(context.object() + "/" + name);
    return;
  }
  std::vector<std::string> objects;
  for (const SourceObject& object : context.views.source().objects()) objects.push_back(object.name);
  context.differences.add_absent(fmt::format("{}: the checkpoint has no such object, but {}",
                                             printable(context.object()),
                                             objects.empty() ? "none" : list_names(objects)));
}

TargetPlan plan_whole(const PlanContext& context) {
  if (!context.view.left_out().empty()) {
    if (context.view.items().empty()) return {};
    fail(ErrorCode::kInvalidArgument,
         "only and except leave out '{}', but {} '{}' is applied as a whole: take all of its entries or none",
         context.path(context.view.left_out()), to_string(context.target.target().kind()), printable(context.object()));
  }
  if (!is_same_class(context)) return {};
  switch (context.target.target().kind()) {
    case ObjectKind::kOptimizer:
      return plan_optimizer(context);
    case ObjectKind::kGenerator:
      return plan_generator(context);
    case ObjectKind::kSampler:
      return plan_sampler(context);
    default:
      return plan_user(context);
  }
}

TargetPlan plan_target(const PlanContext& context) {
  const detail::TargetObject& target = *context.target.target().object();
  if (const auto* optimizer = std::get_if<detail::OptimizerObject>(&target.object);
      optimizer != nullptr && !is_known_optimizer(*optimizer->optimizer)) {
    fail(ErrorCode::kUnsupported,
         "{}: optimizer class {} is none of LibTorch's own; give it to_state_dict and from_state_dict, or use "
         "Target::from_functions",
         printable(context.object()), target.type_name);
  }
  if (!context.view.exists()) {
    note_absent(context);
    return {};
  }
  return is_whole(target.kind) ? plan_whole(context) : plan_entries(context);
}

/// Writes through pointers go past LibTorch's counters, by which a backward pass knows that a tensor has changed.
void bump_versions(const std::vector<TensorCopy>& copies) {
  for (const TensorCopy& copy : copies) {
    if (!copy.to.is_inference()) copy.to.unsafeGetTensorImpl()->bump_version();
  }
}

ApplyOptions with_verify(const ApplyOptions& options, VerifyMode verify) {
  ApplyOptions changed = options;
  changed.verify = verify;
  return changed;
}

std::vector<TensorCopy> gather(const std::vector<TargetPlan>& plans, std::vector<TensorCopy> TargetPlan::*list) {
  std::vector<TensorCopy> all;
  for (const TargetPlan& plan : plans) all.insert(all.end(), (plan.*list).begin(), (plan.*list).end());
  return all;
}

void refuse_nothing(const ApplyReport& report, const Targets& targets, const Selection& selection) {
  if (report.applied_count != 0 || targets.size() == 0) return;
  if (report.missing.empty() && report.unexpected.empty()) {
    if (selection.is_everything()) return;  // targets without entries
    fail(ErrorCode::kInvalidArgument, "only and except leave nothing to apply");
  }
  fail(ErrorCode::kMismatch, "nothing in the checkpoint matches the targets; targets: {}; checkpoint: {}",
       report.missing.empty() ? "none" : list_names(report.missing),
       report.unexpected.empty() ? "none of their objects" : list_names(report.unexpected));
}

}  // namespace

ApplyReport apply(Source& source, const Targets& targets, const ApplyOptions& options) {
  const c10::AutoGradMode no_grad(false);
  ApplyReport report;
  Differences differences;

  // 1. Pair targets with objects of the source.
  const Selection selection(options);
  const SourceViews views(source, targets, selection);
  const ParameterNames names(targets);

  // 2. Plan every target.
  std::vector<TargetPlan> plans;
  for (const NamedTarget& target : targets) {
    plans.push_back(
        plan_target({target, views.at(target.name()), views, selection, options, names, report, differences}));
  }
  const std::vector<TensorCopy> copies = without_ties(gather(plans, &TargetPlan::copies), source, differences);

  // 3. Raise the whole list.
  differences.raise_if_any();
  refuse_nothing(report, targets, selection);

  // 4. Read ahead into fresh memory, where checking while copying is checking before.
  if (const std::vector<TensorCopy> ahead = gather(plans, &TargetPlan::read_ahead); !ahead.empty()) {
    const bool is_checked = options.verify != VerifyMode::kNever;
    source.copy(ahead, with_verify(options, is_checked ? VerifyMode::kWhileCopying : VerifyMode::kNever), {});
  }
  for (const TargetPlan& plan : plans) {
    if (plan.check) plan.check(differences);
  }
  differences.raise_if_any();

  // 5. Check the bytes of what is copied in place.
  if (options.verify == VerifyMode::kBeforeCopying) source.check(copies, options);

  // 6. Hand user types their state dicts: what they throw leaves the rest unchanged.
  for (const TargetPlan& plan : plans) {
    if (plan.hand_over) plan.hand_over();
  }

  // 7. Copy tensors.
  bump_versions(copies);
  source.copy(copies, options, options.progress);

  // 8. Set values.
  for (const TargetPlan& plan : plans) {
    if (plan.finish) plan.finish();
  }
  return report;
}

}  // namespace cairn::state

namespace cairn {

ApplyReport apply(const Snapshot& snapshot, const Targets& targets, const ApplyOptions& options) {
  const auto is_wanted = [&](std::string_view object) {
    return !options.rename.empty() || std::any_of(targets.begin(), targets.end(),
                                                  [&](const NamedTarget& target) { return target.name() == object; });
  };
  state::SnapshotSource source(snapshot, is_wanted);
  return state::apply(source, targets, options);
}

}  // namespace cairn
