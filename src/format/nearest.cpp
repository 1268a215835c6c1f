// Edit distance with a bound on its cost, since names may be 64 KiB long and candidates many.
#include "format/nearest.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "format/fail.h"

namespace cairn::format {

namespace {

constexpr std::size_t kShown = 3;
/// Longest piece of a name that is compared letter by letter; shared ends are cut off before.
constexpr std::size_t kComparedBytes = 64;
constexpr std::size_t kMaxCandidates = 20'000;

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t substituted = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::size_t distance(std::string_view left, std::string_view right) {
  while (!left.empty() && !right.empty() && left.front() == right.front()) {
    left.remove_prefix(1);
    right.remove_prefix(1);
  }
  while (!left.empty() && !right.empty() && left.back() == right.back()) {
    left.remove_suffix(1);
    right.remove_suffix(1);
  }
  const std::size_t uncompared =
      std::max(left.size(), right.size()) - std::min(kComparedBytes, std::max(left.size(), right.size()));
  return uncompared + edit_distance(left.substr(0, kComparedBytes), right.substr(0, kComparedBytes));
}

}  // namespace

std::string nearest_names(std::string_view wanted, const std::vector<std::string_view>& candidates) {
  if (candidates.empty()) return ", there are none";
  struct Near {
    std::size_t distance;
    std::string_view name;
  };
  std::vector<Near> near;
  const std::size_t count = std::min(candidates.size(), kMaxCandidates);
  near.reserve(count);
  for (std::size_t i = 0; i < count; ++i) near.push_back({distance(wanted, candidates[i]), candidates[i]});
  const std::size_t shown = std::min(kShown, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(shown), near.end(),
                    [](const Near& left, const Near& right) {
                      return left.distance != right.distance ? left.distance < right.distance : left.name < right.name;
                    });
  std::string text = ", nearest: ";
  for (std::size_t i = 0; i < shown; ++i) {
    fmt::format_to(std::back_inserter(text), "{}'{}'", i == 0 ? "" : ", ", printable(near[i].name));
  }
  return text;
}

}  // namespace cairn::format
