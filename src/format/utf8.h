// Telling printable UTF-8 from other bytes, for messages and JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn::format {

/// Bytes of the well-formed UTF-8 sequence that text starts with; 0 when it starts with none (overlong forms,
/// surrogates and numbers above U+10FFFF are not well-formed).
std::size_t utf8_sequence_length(std::string_view text) noexcept;

/// The text with control characters and bytes that are not UTF-8 as \xNN.
std::string escape_unprintable(std::string_view text);

}  // namespace cairn::format
