#include "reports/html/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/number.h"
#include "core/units.h"

namespace plumbline {
namespace {

constexpr size_t kMostItems = 200;  // of one list

std::string class_of(const Column& column) {
  if (column.name == "verdict") return "text verdict";
  return column.left ? "text" : "number";
}

// "1048576" in a column of sizes reads better as "1 MiB", and sorts as it was.
bool is_size(const Column& column) { return column.name == "size" && column.unit == "B"; }

void write_cell(const Column& column, const std::string& cell, bool first, HtmlWriter& html) {
  const auto bytes = parse_whole<uint64_t>(cell);
  const bool size = is_size(column) && bytes;
  const std::string text = size ? format_bytes(*bytes) : cell.empty() ? "-" : cell;
  constexpr size_t kWide = 60;
  const std::string look = cell.size() > kWide ? "wide" : class_of(column);
  if (first && size) {
    html.element("th", text, {{"scope", "row"}, {"class", look}, {"data-value", cell}});
  } else if (first) {
    html.element("th", text, {{"scope", "row"}, {"class", look}});
  } else if (size) {
    html.element("td", text, {{"class", look}, {"data-value", cell}});
  } else {
    html.element("td", text, {{"class", look}});
  }
}

std::string head_of(const Column& column, bool groups) {
  if (is_size(column)) return column.name;
  return header_of(column, groups);
}

void write_rows(const Table& table, size_t rows, HtmlWriter& html) {
  std::set<std::string> groups;
  for (const Column& column : table.columns) {
    if (!column.group.empty()) groups.insert(column.group);
  }
  // Of the two placements, one that stands alone need not be named on every column.
  const bool named =
      groups.size() > 1 ||
      (groups.size() == 1 && *groups.begin() != "out-of-place" && *groups.begin() != "in-place");
  {
    const auto head = html.in("thead");
    const auto row = html.in("tr");
    for (const Column& column : table.columns) {
      html.element("th", head_of(column, named), {{"scope", "col"}, {"class", class_of(column)}});
    }
  }
  const auto body = html.in("tbody");
  for (size_t i = 0; i < rows; ++i) {
    html.newline();
    const auto row = html.in("tr", {{"class", "row-" + tone_class(table.rows[i].tone)}});
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const bool there = c < table.rows[i].cells.size();
      write_cell(table.columns[c], there ? table.rows[i].cells[c] : std::string(), c == 0, html);
    }
  }
}

void write_list(const std::vector<std::string>& items, HtmlWriter& html) {
  const auto list = html.in("ul");
  for (size_t i = 0; i < std::min(items.size(), kMostItems); ++i) html.element("li", items[i]);
  if (items.size() > kMostItems) {
    html.element("li", fmt::format("... and {} more", items.size() - kMostItems));
  }
}

}  // namespace

void write_note(const std::string& text, HtmlWriter& html) {
  html.element("p", text, {{"class", "note"}});
}

std::string plural(size_t count, const std::string& word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string rows_text(size_t rows) { return fmt::format(" {} row{}", rows, rows == 1 ? "" : "s"); }

std::string tone_class(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "tone-good";
    case Tone::kWarn:
      return "tone-warn";
    case Tone::kBad:
      return "tone-bad";
    case Tone::kPlain:
    case Tone::kHeading:
      break;
  }
  return "plain";
}

void write_table(const Table& table, const std::string& caption, RowBudget& budget,
                 HtmlWriter& html) {
  if (table.rows.empty() || table.columns.empty()) return;
  const size_t rows = std::min({table.rows.size(), budget.one_table, budget.all});
  budget.all -= rows;
  if (rows > 0) {
    const auto box = html.in("div", {{"class", "scroll"},
                                     {"tabindex", "0"},
                                     {"role", "region"},
                                     {"aria-label", "Table: " + caption}});
    const auto element = html.in("table", {{"class", "sortable"}});
    html.element("caption", caption);
    write_rows(table, rows, html);
  }
  if (rows < table.rows.size()) {
    html.element("p",
                 fmt::format("{} of {} rows of \"{}\" are left out here; all are in records.csv "
                             "(plumbline report csv DIR)",
                             table.rows.size() - rows, table.rows.size(), caption),
                 {{"class", "note"}});
  }
}

void write_document(const Document& document, RowBudget& budget, HtmlWriter& html) {
  std::string heading;
  for (const DocumentBlock& block : document.blocks) {
    switch (block.kind) {
      case DocumentBlock::Kind::kHeading:
        heading = block.text;
        html.element(block.level <= 1 ? "h3" : "h4", block.text);
        break;
      case DocumentBlock::Kind::kParagraph:
        html.element("p", block.text, {{"class", tone_class(block.tone)}});
        break;
      case DocumentBlock::Kind::kList:
        write_list(block.items, html);
        break;
      case DocumentBlock::Kind::kTable:
        write_table(block.table, heading, budget, html);
        break;
      case DocumentBlock::Kind::kCommand:
        html.preformatted(block.text, block.text.size());
        break;
      case DocumentBlock::Kind::kPicture:
      case DocumentBlock::Kind::kLink:
        break;
    }
    html.newline();
  }
}

}  // namespace plumbline
