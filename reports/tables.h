// A table as data and its two renderings: aligned text that fits a terminal by leaving out the
// least important columns, and a Markdown table. A column's header has three parts as in
// nccl-tests: a group that spans neighbours ("out-of-place"), a name ("time"), a unit ("us"). Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace plumbline {

// Whether a column goes, and its value stands once beside the table, when all rows have the same.
enum class Lift { kNever, kWhenSame, kWhenSameOrEmpty };

struct Column {
  std::string group;      // neighbours with the same group share one heading; "" = none
  std::string name;       // "time"
  std::string unit;       // "us"; "" = none
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

}  // namespace plumbline
