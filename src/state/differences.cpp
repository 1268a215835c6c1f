// The text of a mismatch.
#include "state/differences.h"

#include <iterator>
#include <utility>

#include "format/fail.h"

namespace cairn::state {

namespace {

constexpr std::size_t kShownNames = 20;
constexpr std::size_t kShownLines = 200;

}  // namespace

std::string path_of(std::string_view object, std::string_view entry) {
  return fmt::format("{}/{}", printable(object), printable(entry));
}

std::string list_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShownNames; ++i) {
    fmt::format_to(std::back_inserter(text), "{}'{}'", i == 0 ? "" : ", ", printable(names[i]));
  }
  if (names.size() > kShownNames) text += fmt::format(" and {} more", names.size() - kShownNames);
  return text;
}

void Differences::add(std::string line) {
  lines_.push_back(std::move(line));
  ++count_;
}

void Differences::add_list(std::string_view object, std::string_view what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  lines_.push_back(fmt::format("{}: {} {} {}: {}", printable(object), names.size(),
                               names.size() == 1 ? "entry" : "entries", what, list_names(names)));
  count_ += names.size();
}

void Differences::add_absent(std::string line) {
  add(std::move(line));
  ++absent_count_;
}

void Differences::raise_if_any() const {
  if (empty()) return;
  const ErrorCode code = absent_count_ == count_ ? ErrorCode::kNotFound : ErrorCode::kMismatch;
  std::string text =
      fmt::format("{} {} between checkpoint and targets:", count_, count_ == 1 ? "difference" : "differences");
  for (std::size_t i = 0; i < lines_.size() && i < kShownLines; ++i) text += "\n  " + lines_[i];
  if (lines_.size() > kShownLines) text += fmt::format("\n  and {} lines more", lines_.size() - kShownLines);
  for (const std::string& hint : hints_) text += "\n  hint: " + hint;
  throw Error(code, text);
}

}  // namespace cairn::state
