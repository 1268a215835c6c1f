// What a tag may be called. Tags stand where versions stand (`cairn show STORE best`), so that the two must not be
// mistaken for each other.
#pragma once

#include <cstddef>
#include <string_view>

namespace cairn::format {

inline constexpr std::size_t kMaxTagBytes = 255;

/// Errors: kInvalidArgument unless the name is 1 to 255 bytes of UTF-8 without spaces at its ends, control characters and
///         `~`, and neither a number nor `latest`.
void check_tag_name(std::string_view name);

}  // namespace cairn::format
