// Reads UTF-8 by the letter of the standard: overlong forms, surrogates and numbers above U+10FFFF
// are not UTF-8. Widths come from the C library's wcwidth.
#include "text/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <system_error>

#include <fmt/format.h>
#include <wchar.h>

namespace cairn::tools {

namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  // 0: the byte at this place is not UTF-8
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const std::uint32_t smallest = length == 2 ? 0x80u : length == 3 ? 0x800u : 0x10000u;
  if (code < smallest || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

/// Characters that change how others are shown, or are not seen at all.
bool is_deceptive(std::uint32_t code) {
  return code == 0xAD || code == 0x61C || code == 0x180E || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
         (code >= 0xFFF9 && code <= 0xFFFB) || code >= 0xE0000;
}

/// Negative for a character that is not printable.
int columns_of(std::uint32_t code) {
  // wcwidth knows ASCII alone until the process has a UTF-8 locale; numbers stay as in the C
  // locale.
  static const bool has_locale = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
  if (!has_locale) return code >= 0x7F && code < 0xA0 ? -1 : 1;
  return wcwidth(static_cast<wchar_t>(code));
}

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return is_output_terminal() && (no_colour == nullptr || *no_colour == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.length == 0 || character.code < 0x20 || character.code == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (columns_of(character.code) < 0 || is_deceptive(character.code)) {
      out += fmt::format("\\u{{{:x}}}", character.code);
    } else {
      out += text.substr(0, character.length);
    }
    text.remove_prefix(character.length == 0 ? 1 : character.length);
  }
  return out;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    const int columns = character.length == 0 ? 1 : columns_of(character.code);
    width += columns < 0 ? 1 : static_cast<std::size_t>(columns);
    text.remove_prefix(character.length == 0 ? 1 : character.length);
  }
  return width;
}

std::string clip(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  constexpr std::string_view kDots = "...";
  if (columns <= kDots.size()) return std::string(kDots.substr(0, columns));
  std::string out;
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t length = character.length == 0 ? 1 : character.length;
    const std::size_t added = display_width(text.substr(0, length));
    if (width + added > columns - kDots.size()) break;
    out += text.substr(0, length);
    width += added;
    text.remove_prefix(length);
  }
  return out += kDots;
}

bool is_output_terminal() { return isatty(STDOUT_FILENO) == 1; }

std::size_t output_width() {
  winsize size{};
  if (is_output_terminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return std::numeric_limits<std::size_t>::max();
}

std::string styled(Style style, std::string_view text) {
  if (!wants_colour()) return std::string(text);
  const std::string_view code = style == Style::kTitle ? "1" : style == Style::kGood ? "32" : "31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
  }
}

}  // namespace cairn::tools
