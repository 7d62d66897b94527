// Which columns of a table fit a width, and how wide they get: for tables that grow or change line
// by line, whose columns cannot follow their contents. Pure.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "reports/text.h"

namespace plumbline {

inline constexpr int kColumnGap = 1;

template <typename Row>
struct ShownColumn {
  const Row* row;
  int width;
};

// The columns that fit with what they need at least, and then as wide as there is room. A Row has
// `width` and `least` (columns that it gets, and with which it is still of use), `left`, and
// `priority`: the highest is left out first, 0 never. `width` 0 = unlimited.
template <typename Row>
std::vector<ShownColumn<Row>> columns_for(std::span<const Row> rows, int width) {
  std::vector<ShownColumn<Row>> shown;
  for (const Row& row : rows) shown.push_back({&row, row.least});
  const auto total = [&shown] {
    int sum = -kColumnGap;
    for (const auto& one : shown) sum += one.width + kColumnGap;
    return sum;
  };
  while (width > 0 && total() > width) {
    const auto worst = std::max_element(
        shown.begin(), shown.end(),
        [](const auto& a, const auto& b) { return a.row->priority < b.row->priority; });
    if (worst->row->priority == 0) break;
    shown.erase(worst);
  }
  // Only what is always there, and still too much: the first gives way, down to a few letters.
  constexpr int kFewest = 6;
  if (width > 0 && total() > width) {
    shown.front().width = std::max(kFewest, shown.front().width - (total() - width));
    return shown;
  }
  for (auto& one : shown) {
    const int room = width > 0 ? std::max(0, width - total()) : one.row->width;
    one.width = std::min(one.row->width, one.width + room);
  }
  return shown;
}

// One line of such a table: text(row) of every column, cleaned; for an empty one stands `none`.
template <typename Row, typename Text>
std::string column_line(std::span<const Row> rows, int width, Text text, const char* none = "-") {
  std::string line;
  const std::vector<ShownColumn<Row>> shown = columns_for(rows, width);
  for (const ShownColumn<Row>& one : shown) {
    if (&one != &shown.front()) line += std::string(kColumnGap, ' ');
    const std::string value = clean(text(*one.row));
    line += fit(value.empty() ? none : value, static_cast<size_t>(one.width), one.row->left);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  // Narrower than the columns that are always there.
  if (width > 0 && display_width(line) > static_cast<size_t>(width)) {
    line = fit(line, static_cast<size_t>(width), true);
  }
  return line;
}

}  // namespace plumbline
