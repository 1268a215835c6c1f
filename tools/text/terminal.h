// What may be shown on a terminal, how wide it is, and in which colour.
//
// Names and values come from whoever wrote the store: nothing of them reaches a terminal before
// `printable` has seen it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn::tools {

/// The text with every byte or character that could steer or deceive a terminal written as an
/// escape: control characters and bytes that are not UTF-8 as \xNN; direction marks, zero-width and
/// unassigned characters as \u{NNNN}.
std::string printable(std::string_view text);
/// The text with bytes that are not UTF-8 as \xNN, and nothing else changed.
std::string valid_utf8(std::string_view text);

/// Columns that a printable text takes.
std::size_t display_width(std::string_view text);
/// The printable text, cut to at most `columns` with "..." at the end where something was cut.
std::string clip(std::string_view text, std::size_t columns);

/// Columns of the terminal on standard output; no limit when it is not a terminal.
std::size_t output_width();
bool is_output_terminal();

enum class Style { kTitle, kGood, kBad };
/// The text in colour or bold where standard output is a terminal that wants it (NO_COLOR and
/// TERM=dumb do not).
std::string styled(Style style, std::string_view text);

/// Writes to standard output. Errors: std::system_error when it cannot take more.
void write_output(std::string_view text);

}  // namespace cairn::tools
