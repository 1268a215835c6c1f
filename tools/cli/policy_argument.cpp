#include "cli/policy_argument.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "text/terminal.h"

namespace cairn::tools {

namespace {

struct Quantity {
  double number = 0;
  std::string unit;
};

/// A number above 0 and what follows it, in lower case; empty when there is no such number.
std::optional<Quantity> quantity_of(const std::string& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  Quantity quantity;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + end, quantity.number);
  if (error != std::errc() || stop != text.data() + end || !(quantity.number > 0)) return std::nullopt;
  quantity.unit = text.substr(end);
  std::transform(quantity.unit.begin(), quantity.unit.end(), quantity.unit.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return quantity;
}

template <std::size_t size>
std::optional<double> in_units(const std::string& text,
                               const std::array<std::pair<std::string_view, double>, size>& units, double largest) {
  const std::optional<Quantity> quantity = quantity_of(text);
  if (!quantity) return std::nullopt;
  for (const auto& [unit, factor] : units) {
    if (quantity->unit != unit) continue;
    const double number = std::round(quantity->number * factor);
    return number >= 1 && number < largest ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

constexpr double kLargest = 9e18;

}  // namespace

std::chrono::microseconds duration_of(const std::string& text) {
  constexpr double kSecond = 1e6;
  static constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {{{"s", kSecond},
                                                                                 {"min", 60 * kSecond},
                                                                                 {"h", 3600 * kSecond},
                                                                                 {"d", 86400 * kSecond},
                                                                                 {"w", 7 * 86400 * kSecond}}};
  if (const auto us = in_units(text, kUnits, kLargest)) {
    return std::chrono::microseconds(static_cast<std::int64_t>(*us));
  }
  throw std::invalid_argument(
      fmt::format("'{}' is no time: give a number and s, min, h, d or w, as in 7d", printable(text)));
}

std::uint64_t size_of(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{{"", 1},
                                                                                  {"b", 1},
                                                                                  {"kib", 1024.0},
                                                                                  {"mib", 1048576.0},
                                                                                  {"gib", 1073741824.0},
                                                                                  {"tib", 1099511627776.0},
                                                                                  {"kb", 1e3},
                                                                                  {"mb", 1e6},
                                                                                  {"gb", 1e9},
                                                                                  {"tb", 1e12}}};
  if (const auto bytes = in_units(text, kUnits, kLargest)) return static_cast<std::uint64_t>(*bytes);
  throw std::invalid_argument(
      fmt::format("'{}' is no size: give bytes, or a number and KiB, MiB, GiB or TiB, as in 10GiB", printable(text)));
}

std::uint64_t count_of(const std::string& text) {
  std::uint64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_count = error == std::errc() && stop == text.data() + text.size() && count > 0 && count < (1ULL << 62);
  if (is_count) return count;
  throw std::invalid_argument(fmt::format("'{}' is no count: give a number from 1", printable(text)));
}

RetentionPolicy::Best best_of(const std::string& text) {
  RetentionPolicy::Best best;
  std::string_view rest = text;
  const auto last_part = [&]() -> std::optional<std::string_view> {
    const std::size_t colon = rest.rfind(':');
    return colon == std::string_view::npos ? std::nullopt : std::optional(rest.substr(colon + 1));
  };
  const auto drop_last_part = [&] { rest = rest.substr(0, rest.rfind(':')); };
  if (const auto part = last_part(); part && part->find_first_not_of("0123456789") == std::string_view::npos) {
    best.count = count_of(std::string(*part));
    drop_last_part();
  }
  if (const auto part = last_part(); part && (*part == "min" || *part == "max")) {
    best.goal = *part == "min" ? Goal::kMin : Goal::kMax;
    drop_last_part();
  }
  best.metric = std::string(rest);
  if (!best.metric.empty()) return best;
  throw std::invalid_argument(
      fmt::format("'{}' names no metric: give METRIC, METRIC:max or METRIC:min:3", printable(text)));
}

}  // namespace cairn::tools
