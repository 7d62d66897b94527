#include "reports/tables.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>
#include <set>

#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kGap = 2;         // spaces between columns
constexpr size_t kLeastCut = 6;    // a column is never cut below this
constexpr size_t kLeastPath = 20;  // nor a path, while other columns can go

const std::string& shown(const std::string& cell) {
  static const std::string kNone = "-";
  return cell.empty() ? kNone : cell;
}

std::string unit_text(const Column& column) {
  return column.unit.empty() ? std::string() : "(" + column.unit + ")";
}

// The chosen columns of a table with their widths: what the text rendering works on.
struct Layout {
  std::vector<size_t> columns, widths;

  // Columns of one group stand together; the last of them makes room for the group's name.
  void widen_for_groups(const std::vector<Column>& all) {
    for (size_t i = 0; i < columns.size();) {
      const std::string& group = all[columns[i]].group;
      size_t span = widths[i++];
      while (i < columns.size() && all[columns[i]].group == group) span += kGap + widths[i++];
      const size_t needed = display_width(group);
      if (needed > span) widths[i - 1] += needed - span;
    }
  }

  size_t total() const {
    return std::accumulate(widths.begin(), widths.end(), size_t{0}) +
           (widths.empty() ? 0 : kGap * (widths.size() - 1));
  }
};

Layout full_layout(const Table& table) {
  Layout layout;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    size_t width = std::max(display_width(column.name), display_width(unit_text(column)));
    for (const TableRow& row : table.rows) {
      width = std::max(width, display_width(shown(row.cells[c])));
    }
    layout.columns.push_back(c);
    layout.widths.push_back(width);
  }
  return layout;
}

// Whether the rows that these columns tell apart still differ without this one of them.
bool tells_apart(const Table& table, const std::vector<size_t>& columns, size_t without) {
  std::set<std::vector<std::string>> all, fewer;
  for (const TableRow& row : table.rows) {
    std::vector<std::string> cells, rest;
    for (const size_t c : columns) {
      if (!table.columns[c].key) continue;
      cells.push_back(row.cells[c]);
      if (c != without) rest.push_back(row.cells[c]);
    }
    all.insert(std::move(cells));
    fewer.insert(std::move(rest));
  }
  return all.size() != fewer.size();
}

// The place in the layout of the column to leave out next; nullopt = none may go.
std::optional<size_t> next_to_go(const Table& table, const Layout& layout) {
  std::optional<size_t> victim;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    const Column& column = table.columns[layout.columns[i]];
    if (column.priority == 0) continue;
    if (victim && column.priority < table.columns[layout.columns[*victim]].priority) continue;
    if (column.key && tells_apart(table, layout.columns, layout.columns[i])) continue;
    victim = i;
  }
  return victim;
}

// Paths give way first, as far as they are of use, then the least important columns go.
void drop_columns(const Table& table, size_t width, Layout& layout,
                  std::vector<std::string>* left_out) {
  const auto cut_paths = [&](Layout& cut) {
    for (size_t i = 0; i < cut.columns.size(); ++i) {
      if (!table.columns[cut.columns[i]].path) continue;
      while (cut.total() > width && cut.widths[i] > kLeastPath) --cut.widths[i];
    }
  };
  for (;;) {
    Layout cut = layout;
    cut.widen_for_groups(table.columns);
    cut_paths(cut);
    const auto victim = cut.total() <= width ? std::nullopt : next_to_go(table, layout);
    if (!victim) break;
    if (left_out) {
      left_out->insert(left_out->begin(), header_of(table.columns[layout.columns[*victim]], true));
    }
    layout.columns.erase(layout.columns.begin() + static_cast<std::ptrdiff_t>(*victim));
    layout.widths.erase(layout.widths.begin() + static_cast<std::ptrdiff_t>(*victim));
  }
  cut_paths(layout);
}

// Cuts the widest text column letter by letter, numbers only when no text is left to cut.
void cut_columns(const Table& table, size_t width, Layout& layout) {
  for (const bool text : {true, false}) {
    while (layout.total() > width) {
      size_t* widest = nullptr;
      for (size_t i = 0; i < layout.columns.size(); ++i) {
        if (text && !table.columns[layout.columns[i]].left) continue;
        if (!widest || layout.widths[i] > *widest) widest = &layout.widths[i];
      }
      if (!widest || *widest <= kLeastCut) break;
      --*widest;
    }
  }
}

std::string right_trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Here every text of a table passes on its way to a terminal.
Table cleaned(Table table) {
  for (Column& column : table.columns) {
    for (std::string* text : {&column.group, &column.name, &column.unit}) *text = clean(*text);
  }
  for (TableRow& row : table.rows) {
    for (std::string& cell : row.cells) cell = clean(cell);
  }
  return table;
}

template <typename CellText>
std::string line_of(const Table& table, const Layout& layout, const CellText& text) {
  std::string line;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    if (i) line.append(kGap, ' ');
    const size_t c = layout.columns[i];
    const Column& column = table.columns[c];
    line += column.path ? fit_end(text(c), layout.widths[i])
                        : fit(text(c), layout.widths[i], column.left);
  }
  return right_trimmed(line);
}

// The line of group names, each centred over its columns; empty when there are no groups.
std::string group_line(const Table& table, const Layout& layout) {
  std::string line;
  for (size_t i = 0; i < layout.columns.size();) {
    const std::string& group = table.columns[layout.columns[i]].group;
    if (i) line.append(kGap, ' ');
    size_t span = layout.widths[i++];
    while (i < layout.columns.size() && table.columns[layout.columns[i]].group == group) {
      span += kGap + layout.widths[i++];
    }
    const size_t text = std::min(display_width(group), span);
    const std::string padded = std::string((span - text) / 2, ' ') + fit(group, text, true);
    line += fit(padded, span, true);
  }
  return right_trimmed(line);
}

}  // namespace

std::string header_of(const Column& column, bool with_group) {
  std::string out = with_group && !column.group.empty() ? column.group + " " : std::string();
  out += column.name;
  if (!column.unit.empty()) out += " " + unit_text(column);
  return out;
}

Table without_empty_columns(const Table& table) {
  std::vector<size_t> kept;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const bool empty = std::all_of(table.rows.begin(), table.rows.end(),
                                   [&](const TableRow& row) { return row.cells[c].empty(); });
    if (!(empty && table.columns[c].optional)) kept.push_back(c);
  }
  return with_columns(table, kept);
}

Table with_columns(const Table& table, const std::vector<size_t>& kept) {
  Table out;
  for (const size_t c : kept) out.columns.push_back(table.columns[c]);
  for (const TableRow& row : table.rows) {
    TableRow& copy = out.rows.emplace_back();
    copy.tone = row.tone;
    for (const size_t c : kept) copy.cells.push_back(row.cells[c]);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> lift_constants(Table& table) {
  std::vector<std::pair<std::string, std::string>> lifted;
  if (table.rows.empty()) return lifted;
  for (size_t c = 0; c < table.columns.size();) {
    const Column& column = table.columns[c];
    std::set<std::string> values;
    for (const TableRow& row : table.rows) values.insert(row.cells[c]);
    if (column.lift == Lift::kWhenSameOrEmpty && values.size() > 1) values.erase("");
    if (column.lift == Lift::kNever || values.size() != 1) {
      ++c;
      continue;
    }
    if (!values.begin()->empty()) lifted.emplace_back(column.name, *values.begin());
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(c));
    for (TableRow& row : table.rows) {
      row.cells.erase(row.cells.begin() + static_cast<std::ptrdiff_t>(c));
    }
  }
  return lifted;
}

std::vector<std::string> to_text(const Table& raw, int width, bool colour,
                                 std::vector<std::string>* left_out) {
  const Table table = cleaned(raw);
  Layout layout = full_layout(table);
  if (width > 0) {
    drop_columns(table, static_cast<size_t>(width), layout, left_out);
  }
  layout.widen_for_groups(table.columns);
  if (width > 0) cut_columns(table, static_cast<size_t>(width), layout);
  std::vector<std::string> lines;
  const auto add_header = [&](const std::string& line) {
    if (!line.empty()) lines.push_back(toned(line, Tone::kHeading, colour));
  };
  add_header(group_line(table, layout));
  add_header(line_of(table, layout, [&](size_t c) { return table.columns[c].name; }));
  add_header(line_of(table, layout, [&](size_t c) { return unit_text(table.columns[c]); }));
  for (const TableRow& row : table.rows) {
    const std::string line = line_of(table, layout, [&](size_t c) { return shown(row.cells[c]); });
    lines.push_back(toned(line, row.tone, colour));
  }
  return lines;
}

std::string to_markdown(const Table& table) {
  std::string out = "|";
  for (const Column& column : table.columns) {
    out += " " + markdown_escape(header_of(column, true)) + " |";
  }
  out += "\n|";
  for (const Column& column : table.columns) out += column.left ? " :--- |" : " ---: |";
  out += "\n";
  for (const TableRow& row : table.rows) {
    out += "|";
    for (const std::string& cell : row.cells) out += " " + markdown_escape(shown(cell)) + " |";
    out += "\n";
  }
  return out;
}

std::string toned(const std::string& text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain || text.empty()) return text;
  const char* code = tone == Tone::kHeading ? "1" : tone == Tone::kGood ? "32" : "33";
  if (tone == Tone::kBad) code = "31;1";
  return std::string("\033[") + code + "m" + text + "\033[0m";
}

std::string markdown_escape(std::string_view raw) {
  const std::string text = clean(raw);
  const auto is_word = [&](size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // An underscore inside a word is plain text in Markdown; elsewhere it may start emphasis.
    const bool inside_word = c == '_' && i > 0 && is_word(i - 1) && is_word(i + 1);
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      if (std::string_view("\\`*_[]|~").find(c) != std::string_view::npos && !inside_word) {
        out += '\\';
      }
      out += c;
    }
  }
  return out;
}

}  // namespace plumbline
