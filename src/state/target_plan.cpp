// What the plans of all kinds of targets share: the comparison of one tensor, the settling of names, hints.
#include "state/target_plan.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include "format/fail.h"
#include "state/dtypes.h"

namespace cairn::state {

namespace {

/// Prefix that the checkpoint's names have beyond the target's, when every missing name is among the unexpected with
/// it; empty otherwise.
std::string common_prefix(const std::vector<std::string>& shorter, const std::vector<std::string>& longer) {
  const std::unordered_set<std::string_view> names(longer.begin(), longer.end());
  const std::string& first = shorter.front();
  for (const std::string& candidate : longer) {
    if (candidate.size() <= first.size() || !candidate.ends_with(first)) continue;
    const std::string prefix = candidate.substr(0, candidate.size() - first.size());
    if (prefix.back() != '.') continue;
    if (std::all_of(shorter.begin(), shorter.end(),
                    [&](const std::string& name) { return names.contains(prefix + name); })) {
      return prefix;
    }
  }
  return {};
}

std::string rename_hint(const std::string& object, const std::vector<std::string>& missing,
                        const std::vector<std::string>& unexpected) {
  if (missing.empty() || unexpected.empty()) return {};
  if (const std::string prefix = common_prefix(missing, unexpected); !prefix.empty()) {
    return fmt::format("the checkpoint's names start with '{}': rename {{\"{}\", \"{}/\"}}", printable(prefix),
                       path_of(object, prefix), printable(object));
  }
  if (const std::string prefix = common_prefix(unexpected, missing); !prefix.empty()) {
    return fmt::format("the target's names start with '{}': rename {{\"{}/\", \"{}\"}}", printable(prefix),
                       printable(object), path_of(object, prefix));
  }
  return {};
}

void append_paths(const std::string& object, const std::vector<std::string>& names, std::vector<std::string>& paths) {
  for (const std::string& name : names) paths.push_back(object + "/" + name);
}

}  // namespace

bool can_cast(at::ScalarType from, at::ScalarType to) {
  if (c10::isComplexType(from) && !c10::isComplexType(to)) return false;
  const c10::AutoGradMode no_grad(false);
  try {
    at::empty({1}, at::TensorOptions().dtype(to)).copy_(at::empty({1}, at::TensorOptions().dtype(from)));
    return true;
  } catch (const c10::Error&) {  // LibTorch has no copy between the two
    return false;
  }
}

std::string_view PlanContext::side() const {
  switch (target.target().kind()) {
    case ObjectKind::kModule:
      return "model";
    case ObjectKind::kOptimizer:
      return "optimizer";
    case ObjectKind::kGenerator:
      return "generator";
    case ObjectKind::kSampler:
      return "sampler";
    default:
      return "target";
  }
}

void PlanContext::settle(const std::vector<std::string>& missing, const std::vector<std::string>& unexpected) const {
  const bool is_refused = (!missing.empty() && !accepts_missing()) || (!unexpected.empty() && !accepts_unexpected());
  if (accepts_missing()) {
    append_paths(object(), missing, report.missing);
  } else {
    differences.add_list(object(), fmt::format("of the {} not in the checkpoint", side()), missing);
  }
  if (accepts_unexpected()) {
    append_paths(object(), unexpected, report.unexpected);
  } else {
    differences.add_list(object(), fmt::format("of the checkpoint not in the {}", side()), unexpected);
  }
  if (!is_refused) return;
  if (std::string hint = rename_hint(object(), missing, unexpected); !hint.empty()) {
    differences.add_hint(std::move(hint));
  }
}

void PlanContext::count(const SourceView::Item& item) const {
  ++report.applied_count;
  if (item.is_tensor()) report.applied_bytes += format::nbytes_of(item.layout());
}

bool PlanContext::fits(const SourceView::Item& item, at::IntArrayRef sizes, at::ScalarType type) const {
  const format::TensorLayout& stored = item.layout();
  const std::vector<std::int64_t> wanted(sizes.begin(), sizes.end());
  const auto stored_type = to_torch(stored.dtype);
  const bool is_same_type = stored_type == type;
  const bool is_same = stored.sizes == wanted && (is_same_type || options.cast);
  if (!is_same) {
    differences.add(fmt::format("{}: checkpoint {} {}, {} {} {}", path(item.name), format::name_of(stored.dtype),
                                format::describe_sizes(stored.sizes), side(), describe(type),
                                format::describe_sizes(wanted)));
    return false;
  }
  if (is_same_type) return true;
  if (!stored_type || !can_cast(*stored_type, type)) {
    differences.add(fmt::format("{}: checkpoint {} cannot be converted to {} of the {}", path(item.name),
                                format::name_of(stored.dtype), describe(type), side()));
    return false;
  }
  report.cast.push_back(object() + "/" + item.name);
  return true;
}

}  // namespace cairn::state
