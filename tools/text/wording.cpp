// Sizes are in powers of 1024. Times are UTC, so that two people who look at one store read the
// same.
#include "text/wording.h"

#include <array>
#include <chrono>
#include <cmath>
#include <ctime>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/terminal.h"

namespace cairn::tools {

namespace {
constexpr std::int64_t kUsPerSecond = 1'000'000;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 would round to 1024.0 of the smaller unit.
  while (amount >= 1023.95 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

std::string count_text(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string time_text(std::int64_t us_since_1970, Precision precision) {
  std::int64_t seconds = us_since_1970 / kUsPerSecond;
  std::int64_t us = us_since_1970 % kUsPerSecond;
  if (us < 0) {
    us += kUsPerSecond;
    --seconds;
  }
  const std::time_t moment = seconds;
  std::tm utc{};
  if (gmtime_r(&moment, &utc) == nullptr) return fmt::format("{} us after 1970", us_since_1970);
  const std::string day_and_time = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", utc.tm_year + 1900,
                                               utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
  return precision == Precision::kSeconds ? day_and_time + "Z" : fmt::format("{}.{:06}Z", day_and_time, us);
}

std::string age_text(std::int64_t us_since_1970) {
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  // Clocks of two machines may differ by a little.
  if (us_since_1970 > now + 60 * kUsPerSecond) return "in the future";
  const std::int64_t seconds = us_since_1970 > now ? 0 : (now - us_since_1970) / kUsPerSecond;
  if (seconds < 100) return fmt::format("{} s", seconds);
  if (seconds < 100 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86400);
}

std::string shape_text(const std::vector<std::int64_t>& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

std::string value_text(const Value& value, Detail detail) {
  if (detail == Detail::kShort && value.type() == Value::Type::kDouble && std::isfinite(value.as_double())) {
    return fmt::format("{:.6g}", value.as_double());
  }
  if (detail == Detail::kShort && value.type() == Value::Type::kString) return printable(value.as_string());
  return printable(to_string(value));
}

}  // namespace cairn::tools
