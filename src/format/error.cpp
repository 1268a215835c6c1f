// Names of error codes, and how foreign bytes are shown in messages.
#include "cairn/error.h"

#include "format/fail.h"
#include "format/utf8.h"

namespace cairn {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "InvalidArgument";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kAlreadyExists:
      return "AlreadyExists";
    case ErrorCode::kMismatch:
      return "Mismatch";
    case ErrorCode::kUnsupportedVersion:
      return "UnsupportedVersion";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kCorruption:
      return "Corruption";
    case ErrorCode::kBusy:
      return "Busy";
    case ErrorCode::kOutOfSpace:
      return "OutOfSpace";
    case ErrorCode::kIo:
      return "Io";
    case ErrorCode::kFailed:
      return "Failed";
  }
  return "Unknown";
}

std::string printable(std::string_view name) {
  constexpr std::size_t kShownBytes = 200;
  if (name.size() <= kShownBytes) return format::escape_unprintable(name);
  const std::string_view head = name.substr(0, kShownBytes / 2);
  const std::string_view tail = name.substr(name.size() - kShownBytes / 2);
  return fmt::format("{}...{} ({} bytes)", format::escape_unprintable(head), format::escape_unprintable(tail),
                     name.size());
}

}  // namespace cairn
