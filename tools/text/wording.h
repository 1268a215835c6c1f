// Quantities in the words of people: sizes, moments, shapes, values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/value.h"

namespace cairn::tools {

/// "640 B", "1.2 MiB".
std::string size_text(std::uint64_t bytes);
/// "1 entry", "3 entries".
std::string count_text(std::uint64_t count, std::string_view one, std::string_view many);
/// "2025-12-01T11:25:03Z"; with microseconds when asked for.
enum class Precision { kSeconds, kMicroseconds };
std::string time_text(std::int64_t us_since_1970, Precision precision = Precision::kSeconds);
/// How long ago: "12 s", "3 min", "5 h", "21 d"; "in the future" for a clock that ran ahead.
std::string age_text(std::int64_t us_since_1970);
/// "[64, 128]"; "[]" for a tensor of no dimensions.
std::string shape_text(const std::vector<std::int64_t>& sizes);
/// A value on one line, printable. Short: floating-point numbers to six digits, strings without
/// quotes.
enum class Detail { kShort, kFull };
std::string value_text(const Value& value, Detail detail);

}  // namespace cairn::tools
