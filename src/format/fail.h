// Raising cairn::Error with a formatted message. See STYLE "Errors": what, which, expected, found.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cairn/error.h"

namespace cairn {

template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// A name as it may stand in a message: bytes that are not printable UTF-8 as \xNN, long names cut in the
/// middle to at most 200 bytes.
std::string printable(std::string_view name);

}  // namespace cairn
