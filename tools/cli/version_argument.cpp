// Versions are not dense: `latest~1` is the one before in the list, whatever its number.
#include "cli/version_argument.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/command.h"
#include "text/terminal.h"
#include "text/wording.h"

namespace cairn::tools {

namespace {

constexpr std::string_view kLatest = "latest";

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Wanted {
  bool is_relative = false;
  std::uint64_t number = 0;  // the version, or how many before the latest
};

std::optional<Wanted> parse(std::string_view text) {
  if (text == kLatest) return Wanted{true, 0};
  if (text.substr(0, kLatest.size()) == kLatest && text.size() > kLatest.size() && text[kLatest.size()] == '~') {
    const auto back = number_of(text.substr(kLatest.size() + 1));
    return back ? std::optional(Wanted{true, *back}) : std::nullopt;
  }
  const auto version = number_of(text);
  return version && *version > 0 ? std::optional(Wanted{false, *version}) : std::nullopt;
}

[[noreturn]] void fail_not_there(const Store& store, const std::string& text,
                                 const std::vector<CheckpointInfo>& checkpoints) {
  const std::string path = printable(store.path().string());
  if (checkpoints.empty()) throw CommandError(fmt::format("'{}' has no checkpoints yet", path));
  const std::uint64_t first = checkpoints.front().version;
  const std::uint64_t last = checkpoints.back().version;
  throw CommandError(
      fmt::format("'{}' has no checkpoint {}: it has {}, {}", path, text,
                  count_text(checkpoints.size(), "checkpoint", "checkpoints"),
                  first == last ? fmt::format("version {}", last) : fmt::format("versions {} to {}", first, last)),
      fmt::format("'cairn log {}' lists them", path));
}

}  // namespace

std::string check_version(const std::string& text) {
  if (parse(text)) return {};
  return fmt::format("'{}' is no version: give a number from 1, 'latest' or 'latest~2'", printable(text));
}

Checkpoint resolve_version(const Store& store, const std::string& text) {
  const Wanted wanted = parse(text).value();  // main lets no other text pass
  if (wanted.is_relative && wanted.number == 0) {
    if (auto latest = store.latest()) return *latest;
    fail_not_there(store, text, {});
  }
  std::uint64_t version = wanted.number;
  const std::vector<CheckpointInfo> checkpoints = store.list();
  if (wanted.is_relative) {
    if (wanted.number >= checkpoints.size()) fail_not_there(store, text, checkpoints);
    version = checkpoints[checkpoints.size() - 1 - wanted.number].version;
  }
  if (auto checkpoint = store.checkpoint(version)) return *checkpoint;
  fail_not_there(store, text, checkpoints);
}

}  // namespace cairn::tools
