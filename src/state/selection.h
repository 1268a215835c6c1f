// Which entries an apply is about, and under which names: ApplyOptions' only, except and rename.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/options.h"

namespace cairn::state {

class Selection {
 public:
  /// Keeps a reference to the options.
  explicit Selection(const ApplyOptions& options) : options_(options) {}

  bool includes(std::string_view object, std::string_view entry) const;
  bool is_everything() const noexcept { return options_.only.empty() && options_.except.empty(); }

  bool has_renames() const noexcept { return !options_.rename.empty(); }
  /// The path "object/entry" of a checkpoint as the target's; the first rule that fits is used.
  std::string renamed(std::string path) const;

 private:
  const ApplyOptions& options_;
};

/// Whether a glob (`*` any bytes, `?` one byte) fits all of a text. Cost: pattern times text at worst.
bool glob_fits(std::string_view pattern, std::string_view text);

/// Whether a path starts with a prefix that ends at a dot, a slash or the end of the path.
bool prefix_fits(std::string_view prefix, std::string_view path);

}  // namespace cairn::state
