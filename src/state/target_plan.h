// What an apply is going to do with one target, decided before anything is changed (invariant 6).
//
// Planning reads names, shapes, dtypes and plain values of the source, and the live object; it changes neither. What
// does not fit goes into the differences of the call, what is done into its report.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/options.h"
#include "state/differences.h"
#include "state/parameter_names.h"
#include "state/source.h"
#include "state/source_view.h"
#include "state/target_object.h"

namespace cairn::state {

/// The steps of one target, carried out in this order over all targets together.
struct TargetPlan {
  std::vector<TensorCopy> read_ahead;       ///< Into fresh tensors: what cannot be copied in place.
  std::function<void(Differences&)> check;  ///< Looks at what was read ahead. May be empty, as the rest.
  std::function<void()> hand_over;          ///< Calls the user's own function, which may throw.
  std::vector<TensorCopy> copies;           ///< In place.
  std::function<void()> finish;             ///< Sets values; does not throw but for lack of memory.
};

struct PlanContext {
  const NamedTarget& target;
  const SourceView& view;
  const SourceViews& views;
  const Selection& selection;
  const ApplyOptions& options;
  const ParameterNames& names;
  ApplyReport& report;
  Differences& differences;

  const std::string& object() const { return target.name(); }
  std::string path(std::string_view entry) const { return path_of(target.name(), entry); }
  /// How messages call the target's side: "model", "optimizer" ...
  std::string_view side() const;
  bool accepts_missing() const { return !options.strict || options.allow_missing; }
  bool accepts_unexpected() const { return !options.strict || options.allow_unexpected; }

  /// Notes names that one side lacks: differences where they are not accepted, else lines of the report.
  void settle(const std::vector<std::string>& missing, const std::vector<std::string>& unexpected) const;
  /// Notes that an entry is applied.
  void count(const SourceView::Item& item) const;
  /// Checks a tensor entry against what it is to be copied into; false when it differs. A cast that is allowed is
  /// noted.
  bool fits(const SourceView::Item& item, at::IntArrayRef sizes, at::ScalarType type) const;
};

/// Modules, state dicts and tensors: entry by entry.
TargetPlan plan_entries(const PlanContext& context);
/// Whole or not at all: class, groups, parameters, options and state must fit; `strict` and the two allowances apply to
/// options and to fields of the state that one side does not know.
TargetPlan plan_optimizer(const PlanContext& context);
TargetPlan plan_generator(const PlanContext& context);
TargetPlan plan_sampler(const PlanContext& context);
TargetPlan plan_user(const PlanContext& context);

/// Whether values of one dtype can be turned into another without losing the imaginary part, and LibTorch can do it.
bool can_cast(at::ScalarType from, at::ScalarType to);

}  // namespace cairn::state
