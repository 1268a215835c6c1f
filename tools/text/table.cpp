// Widths are counted in columns of the terminal, not bytes; titles are styled after they have been
// padded.
#include "text/table.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "text/terminal.h"

namespace cairn::tools {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kSmallestCut = 8;

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return align == Align::kLeft ? text + space : space + text;
}

void end_line(std::string& out) {
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += '\n';
}

}  // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const std::vector<std::string>& row : rows_) {
    assert(row.size() == columns_.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::size_t Table::width() const {
  const std::vector<std::size_t> each = widths();
  return std::accumulate(each.begin(), each.end(), std::size_t{0}) + kGap * (each.empty() ? 0 : each.size() - 1);
}

void Table::fit(std::size_t columns) {
  std::vector<std::size_t> limits = widths();
  std::size_t total = width();
  while (total > columns) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t smallest = std::max(kSmallestCut, display_width(columns_[i].title));
      if (columns_[i].align == Align::kLeft && limits[i] > smallest &&
          (widest == columns_.size() || limits[i] > limits[widest])) {
        widest = i;
      }
    }
    if (widest == columns_.size()) break;
    --limits[widest];
    --total;
  }
  for (std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = clip(row[i], limits[i]);
  }
}

std::string Table::text(std::string_view indent) const {
  const std::vector<std::size_t> each = widths();
  std::string out;
  std::string title;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i != 0) title += std::string(kGap, ' ');
    title += padded(columns_[i].title, each[i], columns_[i].align);
  }
  title.erase(title.find_last_not_of(' ') + 1);
  out += indent;
  out += styled(Style::kTitle, title);
  out += '\n';
  for (const std::vector<std::string>& row : rows_) {
    out += indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out += std::string(kGap, ' ');
      out += padded(row[i], each[i], columns_[i].align);
    }
    end_line(out);
  }
  return out;
}

std::string aligned_pairs(const std::vector<std::pair<std::string, std::string>>& pairs, std::string_view indent) {
  std::size_t width = 0;
  for (const auto& [name, value] : pairs) width = std::max(width, display_width(name));
  std::string out;
  for (const auto& [name, value] : pairs) {
    out += indent;
    out += padded(name, width + kGap, Align::kLeft);
    out += value;
    end_line(out);
  }
  return out;
}

}  // namespace cairn::tools
