// A table as data and its two renderings: aligned text that fits a terminal by leaving out the
// least important columns, and a Markdown table. A column's header has three parts as in
// nccl-tests: a group that spans neighbours ("out-of-place"), a name ("time"), a unit ("us"). Pure.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/text.h"

namespace plumbline {

// Whether a column goes, and its value stands once beside the table, when all rows have the same.
enum class Lift { kNever, kWhenSame, kWhenSameOrEmpty };

struct Column {
  std::string group;      // neighbours with the same group share one heading; "" = none
  std::string name;       // "time"
  std::string unit = {};  // "us"; "" = none
  bool left = false;      // text to the left, numbers to the right
  int priority = 0;       // 0 = always there; the highest number is left out first
  bool optional = false;  // dropped everywhere when no row has a value for it
  Lift lift = Lift::kNever;
  // Tells rows apart: stays, whatever its priority, while two rows would look alike without it.
  bool key = false;
  // A path: where there is no room it loses its beginning, not its end.
  bool path = false;
};

// The same column as one that tells rows apart.
inline Column key_column(Column column) {
  column.key = true;
  return column;
}

enum class Tone { kPlain, kGood, kWarn, kBad, kHeading };

struct TableRow {
  std::vector<std::string> cells;  // as many as columns; "" = no value, printed as "-"
  Tone tone = Tone::kPlain;
};

struct Table {
  std::vector<Column> columns;
  std::vector<TableRow> rows;
};

// "time (us)", with the group in front when asked for: "out-of-place time (us)".
std::string header_of(const Column& column, bool with_group);
// Without its optional columns that are empty in all rows.
Table without_empty_columns(const Table& table);
// With these columns only, in this order.
Table with_columns(const Table& table, const std::vector<size_t>& kept);

// Takes the columns out that say the same in every row, as their `lift` allows; returns the name
// and value of each, without those that have none.
std::vector<std::pair<std::string, std::string>> lift_constants(Table& table);

// Lines without newline, none wider than `width` columns (0 = unlimited). Columns that had no room
// are named in `left_out`. When even the columns of priority 0 are too wide, the widest text
// columns are cut, which shows in a "~" or, of a path, "...".
std::vector<std::string> to_text(const Table& table, int width, bool colour,
                                 std::vector<std::string>* left_out);
std::string to_markdown(const Table& table);

// `text` in the terminal colour of its tone, unchanged when `colour` is false.
std::string toned(const std::string& text, Tone tone, bool colour);
// Text made safe for a Markdown paragraph or table cell: cleaned, with characters that Markdown or
// HTML would read as markup escaped.
std::string markdown_escape(std::string_view text);

// Which columns of a table fit a width, and how wide they get: for tables that grow or change line
// by line, whose columns cannot follow their contents.

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
