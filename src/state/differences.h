// Everything in which checkpoint and targets differ, gathered to be raised as one error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::state {

class Differences {
 public:
  /// One difference, one line: "model/fc.weight: checkpoint float32 {3, 4}, model float32 {5, 4}".
  void add(std::string line);
  /// As many differences as names, one line: "model: 2 entries are not in the checkpoint: 'a', 'b'". `what` stands
  /// between the count and the names; only the first names are listed.
  void add_list(std::string_view object, std::string_view what, const std::vector<std::string>& names);
  /// A target whose object the checkpoint does not have at all.
  void add_absent(std::string line);
  /// Advice that follows the differences.
  void add_hint(std::string line) { hints_.push_back(std::move(line)); }

  bool empty() const noexcept { return count_ == 0; }
  /// Throws when there are differences: kNotFound when all of them are absent objects, else kMismatch.
  void raise_if_any() const;

 private:
  std::vector<std::string> lines_;
  std::vector<std::string> hints_;
  std::size_t count_ = 0;
  std::size_t absent_count_ = 0;
};

/// "'a', 'b' and 3 more".
std::string list_names(const std::vector<std::string>& names);

/// "object/entry" for messages, printable.
std::string path_of(std::string_view object, std::string_view entry);

}  // namespace cairn::state
