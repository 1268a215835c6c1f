// Plain values as FlexBuffers.
#pragma once

#include <string>
#include <string_view>

#include "cairn/value.h"

namespace cairn::format {

/// Deepest nesting of lists and maps that is written and read.
inline constexpr unsigned kMaxValueDepth = 64;

/// Errors: kInvalidArgument when nested deeper than kMaxValueDepth or longer than kMaxValueBytes encoded.
std::string encode_value(const Value& value);

/// Errors: kCorruption for bytes that are not a whole, well-formed FlexBuffer of the types of Value, are
/// nested too deep, or unfold to more nodes than their length allows (shared offsets).
Value decode_value(std::string_view bytes);

}  // namespace cairn::format
