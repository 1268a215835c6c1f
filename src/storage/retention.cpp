// Each rule marks what it keeps; the marks are never taken back, so the rules are a union.
#include "storage/retention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "format/fail.h"

namespace cairn::storage {

namespace {

/// An int or a double that is a number; nothing else is one.
std::optional<double> number_of(const Metadata& metadata, std::string_view key) {
  const Value* value = metadata.find(key);
  if (value == nullptr || (value->type() != Value::Type::kInt && value->type() != Value::Type::kDouble)) {
    return std::nullopt;
  }
  const double number = value->as_double();
  return std::isnan(number) ? std::nullopt : std::optional(number);
}

class Selection {
 public:
  explicit Selection(std::span<const RetentionCandidate> candidates)
      : candidates_(candidates), is_kept_(candidates.size()) {}

  void keep_always() {
    if (!is_kept_.empty()) is_kept_.back() = true;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].is_tagged) is_kept_[i] = true;
    }
  }

  void keep_last(std::uint64_t count) {
    for (std::size_t i = candidates_.size(); i > 0 && candidates_.size() - i < count; --i) is_kept_[i - 1] = true;
  }

  void keep_every(std::int64_t steps) {
    std::map<double, std::pair<double, std::size_t>> firsts;  // period -> step, candidate
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const std::optional<double> step = number_of(*candidates_[i].metadata, "step");
      if (!step || !std::isfinite(*step)) continue;
      const double period = std::floor(*step / static_cast<double>(steps));
      const auto [first, is_new] = firsts.try_emplace(period, *step, i);
      if (!is_new && *step <= first->second.first) first->second = {*step, i};
    }
    for (const auto& [period, first] : firsts) is_kept_[first.second] = true;
  }

  void keep_best(const RetentionPolicy::Best& best) {
    std::vector<std::pair<double, std::size_t>> ranked;  // the lower, the better
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const std::optional<double> number = number_of(*candidates_[i].metadata, best.metric);
      if (number) ranked.emplace_back(best.goal == Goal::kMin ? *number : -*number, i);
    }
    std::sort(ranked.begin(), ranked.end(), [](const auto& left, const auto& right) {
      return left.first != right.first ? left.first < right.first : left.second > right.second;
    });
    if (ranked.size() > best.count) ranked.resize(best.count);
    for (const auto& [number, i] : ranked) is_kept_[i] = true;
  }

  void keep_newer_than(std::int64_t us_since_1970) {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].created_at_us >= us_since_1970) is_kept_[i] = true;
    }
  }

  /// Last of all: what the other rules keep takes its share first.
  void keep_within(std::uint64_t budget, const std::function<std::uint64_t(std::size_t)>& added_bytes) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (is_kept_[i]) bytes += added_bytes(i);
    }
    for (std::size_t i = candidates_.size(); i > 0 && bytes <= budget; --i) {
      if (is_kept_[i - 1]) continue;
      bytes += added_bytes(i - 1);
      if (bytes <= budget) is_kept_[i - 1] = true;
    }
  }

  std::vector<bool> take() { return std::move(is_kept_); }

 private:
  std::span<const RetentionCandidate> candidates_;
  std::vector<bool> is_kept_;
};

}  // namespace

void check_policy(const RetentionPolicy& policy) {
  if (policy.empty()) fail(ErrorCode::kInvalidArgument, "a retention policy without a rule would keep nothing");
  const auto check = [](bool is_positive, std::string_view rule) {
    if (!is_positive) fail(ErrorCode::kInvalidArgument, "retention rule '{}' needs a number above 0", rule);
  };
  check(!policy.last || *policy.last > 0, "keep_last");
  check(!policy.every || *policy.every > 0, "keep_every");
  check(!policy.newer_than || policy.newer_than->count() > 0, "keep_newer_than");
  check(!policy.budget_bytes || *policy.budget_bytes > 0, "keep_within");
  for (const RetentionPolicy::Best& best : policy.best) {
    check(best.count > 0, "keep_best");
    if (best.metric.empty()) fail(ErrorCode::kInvalidArgument, "retention rule 'keep_best' needs the name of a metric");
  }
}

std::vector<bool> kept_by(const RetentionPolicy& policy, std::span<const RetentionCandidate> candidates,
                          std::int64_t now_us, const std::function<std::uint64_t(std::size_t candidate)>& added_bytes) {
  check_policy(policy);
  Selection selection(candidates);
  selection.keep_always();
  if (policy.last) selection.keep_last(*policy.last);
  if (policy.every) selection.keep_every(*policy.every);
  for (const RetentionPolicy::Best& best : policy.best) selection.keep_best(best);
  if (policy.newer_than && policy.newer_than->count() < now_us) {
    selection.keep_newer_than(now_us - policy.newer_than->count());
  } else if (policy.newer_than) {
    selection.keep_newer_than(0);
  }
  if (policy.budget_bytes) selection.keep_within(*policy.budget_bytes, added_bytes);
  return selection.take();
}

}  // namespace cairn::storage
