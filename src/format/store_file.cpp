// Lines of "word rest".
#include "format/store_file.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "format/fail.h"
#include "format/rows.h"

namespace cairn::format {

namespace {

constexpr std::string_view kFirstLine = "cairn store";
constexpr std::size_t kIdDigits = 32;
/// A file of a store is far shorter; a longer one is something else.
constexpr std::size_t kMaxFileBytes = 4096;

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The rest of a line that starts with the word.
std::optional<std::string_view> rest_of(std::string_view line, std::string_view word) {
  if (line.size() <= word.size() || line.substr(0, word.size()) != word || line[word.size()] != ' ')
    return std::nullopt;
  return line.substr(word.size() + 1);
}

std::uint32_t parse_version(std::string_view digits) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number == 0) {
    fail(ErrorCode::kCorruption, "file CAIRN: '{}' is not a format version", printable(digits));
  }
  return number;
}

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string encode(const StoreFile& file) {
  return fmt::format("{}\nformat {}\nreader {}\nid {}\nstate {}\n", kFirstLine, file.format_version,
                     file.min_reader_version, file.id, file.is_ready ? "ready" : "creating");
}

StoreFile decode_store_file(std::string_view text) {
  if (text.size() > kMaxFileBytes || take_line(text) != kFirstLine) {
    fail(ErrorCode::kInvalidArgument, "file CAIRN does not start with '{}': not a store of Cairn", kFirstLine);
  }
  StoreFile file;
  std::optional<bool> is_ready;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (const auto format = rest_of(line, "format")) {
      file.format_version = parse_version(*format);
    } else if (const auto reader = rest_of(line, "reader")) {
      file.min_reader_version = parse_version(*reader);
    } else if (const auto id = rest_of(line, "id")) {
      file.id = *id;
    } else if (const auto state = rest_of(line, "state")) {
      if (*state == "ready") is_ready = true;
      if (*state == "creating") is_ready = false;
    }
  }
  if (file.format_version == 0 || file.min_reader_version == 0) {
    fail(ErrorCode::kCorruption, "file CAIRN has no {} line", file.format_version == 0 ? "format" : "reader");
  }
  if (file.min_reader_version > kFormatVersion) {
    fail(ErrorCode::kUnsupportedVersion,
         "the store has format {}, which needs a library that reads format {} or newer; this one reads format {}",
         file.format_version, file.min_reader_version, kFormatVersion);
  }
  if (file.id.size() != kIdDigits || !std::all_of(file.id.begin(), file.id.end(), is_lower_hex)) {
    fail(ErrorCode::kCorruption, "file CAIRN: id '{}' is not {} hexadecimal digits", printable(file.id), kIdDigits);
  }
  if (!is_ready) fail(ErrorCode::kCorruption, "file CAIRN has no line 'state ready' or 'state creating'");
  file.is_ready = *is_ready;
  return file;
}

}  // namespace cairn::format
