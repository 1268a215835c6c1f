// Globs and prefixes.
#include "state/selection.h"

#include <algorithm>
#include <cstddef>

namespace cairn::state {

namespace {

bool is_separator(char c) { return c == '.' || c == '/'; }

bool fits_any(const std::vector<std::string>& globs, std::string_view path) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return glob_fits(glob, path); });
}

}  // namespace

bool glob_fits(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last '*' met
  std::size_t retry = 0;                      // where the text behind it is taken to start
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool prefix_fits(std::string_view prefix, std::string_view path) {
  if (path.substr(0, prefix.size()) != prefix) return false;
  if (prefix.empty() || is_separator(prefix.back()) || path.size() == prefix.size()) return true;
  return is_separator(path[prefix.size()]);
}

bool Selection::includes(std::string_view object, std::string_view entry) const {
  if (is_everything()) return true;
  const std::string path = std::string(object) + "/" + std::string(entry);
  return (options_.only.empty() || fits_any(options_.only, path)) && !fits_any(options_.except, path);
}

std::string Selection::renamed(std::string path) const {
  for (const auto& [from, to] : options_.rename) {
    if (prefix_fits(from, path)) return to + path.substr(from.size());
  }
  return path;
}

}  // namespace cairn::state
