// Aligned columns of text for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::tools {

enum class Align { kLeft, kRight };

/// Rows of printable cells under titles. The last column is not padded, and no line ends in spaces.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Requires: as many cells as there are columns.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// Cuts the widest left-aligned cells until the whole is at most `columns` wide, as far as that
  /// goes (8 columns stay).
  void fit(std::size_t columns);
  /// Columns of the widest line.
  std::size_t width() const;
  /// All lines, titles first, each after `indent`.
  std::string text(std::string_view indent = {}) const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "name   value" lines: the first of each pair padded to the longest.
std::string aligned_pairs(const std::vector<std::pair<std::string, std::string>>& pairs, std::string_view indent = {});

}  // namespace cairn::tools
