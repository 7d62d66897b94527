#include "reports/html/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <vector>

#include "core/json.h"
#include "core/number.h"
#include "core/units.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr const char* kCut = " ... (cut)";

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

// The first columns, in this order; of two placements the first one's time and bus bandwidth come
// before those of the second. All others follow as they were, but for the last one.
constexpr const char* kFirst[] = {"size", "outstanding", "rate", "time", "busbw"};
constexpr const char* kVerdict = "verdict";
constexpr const char* kLast = "count";  // follows from size and type

struct Shared {
  const char* column;
  const char* before;   // what its value is called in the caption
  const char* nothing;  // the value that says nothing
};
constexpr Shared kShared[] = {{"type", "", ""},
                              {"redop", "", "none"},
                              {"root", "root ", "-1"},
                              {"chosen", "chosen: ", ""},
                              {"placement", "placement: ", "out"},
                              {"variant", "", ""}};

const Shared* shared_of(const Table& table, size_t column) {
  const auto* found = std::find_if(std::begin(kShared), std::end(kShared), [&](const Shared& row) {
    return table.columns[column].name == row.column;
  });
  if (found == std::end(kShared)) return nullptr;
  const bool same = std::all_of(table.rows.begin(), table.rows.end(), [&](const TableRow& row) {
    return row.cells[column] == table.rows.front().cells[column];
  });
  return same ? found : nullptr;
}

// Smaller stands further left.
size_t place_of(const Table& table, size_t column) {
  const Column& one = table.columns[column];
  constexpr size_t kNames = std::size(kFirst);
  constexpr size_t kAfterAll = 100, kAtVerdict = 50;
  if (one.name == kVerdict) return kAtVerdict;
  if (one.name == kLast) return kAfterAll + 1;
  const auto* name = std::find(std::begin(kFirst), std::end(kFirst), one.name);
  if (name == std::end(kFirst)) return kAfterAll;
  const auto first_group = std::find_if(table.columns.begin(), table.columns.end(),
                                        [](const Column& each) { return !each.group.empty(); });
  const bool second = !one.group.empty() && one.group != first_group->group;
  return static_cast<size_t>(name - std::begin(kFirst)) + (second ? kNames : 0);
}

}  // namespace

std::string html_escape(std::string_view text, bool lines) {
  if (!lines) return escape_markup(text);
  std::string out;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find_first_of("\n\t", from), text.size());
    out += escape_markup(text.substr(from, end - from));
    if (end < text.size()) out += text[end];
    from = end + 1;
  }
  return out;
}

std::string script_json(const nlohmann::json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

HtmlWriter::Element::~Element() {
  writer_.out_ += "</";
  writer_.out_ += tag_;
  writer_.out_ += '>';
}

std::string HtmlWriter::cut(std::string_view text, bool lines) const {
  if (text.size() <= longest_text_) return html_escape(text, lines);
  size_t end = longest_text_;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return html_escape(text.substr(0, end), lines) + kCut;
}

void HtmlWriter::open(const char* tag, HtmlAttributes attributes) {
  out_ += '<';
  out_ += tag;
  for (const HtmlAttribute& attribute : attributes) {
    out_ += ' ';
    out_ += attribute.name;
    out_ += "=\"" + cut(attribute.value, false) + '"';
  }
  out_ += '>';
}

HtmlWriter::Element HtmlWriter::in(const char* tag, HtmlAttributes attributes) {
  open(tag, attributes);
  return {*this, tag};
}

void HtmlWriter::text(std::string_view text) { out_ += cut(text, false); }

void HtmlWriter::element(const char* tag, std::string_view content, HtmlAttributes attributes) {
  const Element here = in(tag, attributes);
  text(content);
}

void HtmlWriter::empty(const char* tag, HtmlAttributes attributes) { open(tag, attributes); }

void HtmlWriter::preformatted(std::string_view text, size_t most_bytes) {
  const bool whole = text.size() <= most_bytes;
  // Cut at a line's end where there is one.
  size_t end = whole ? text.size() : text.rfind('\n', most_bytes);
  if (end == std::string_view::npos) end = most_bytes;
  // Focusable, because it may be wider than the page and is then scrolled by itself.
  const Element pre = in("pre", {{"tabindex", "0"}});
  // HTML drops a newline right behind <pre>; ours is dropped instead of the text's own.
  out_ += '\n';
  out_ += html_escape(text.substr(0, end), true);
  if (!whole) out_ += "\n... (cut)";
}

void HtmlWriter::svg(const SafeSvg& svg) { out_ += svg.text(); }

void HtmlWriter::data(const char* id, const nlohmann::json& json) {
  const Element script = in("script", {{"type", "application/json"}, {"id", id}});
  out_ += script_json(json);
}

void HtmlWriter::own_style() {
  const Element style = in("style");
  out_ += page_css();
}

void HtmlWriter::own_script() {
  const Element script = in("script");
  out_ += page_js();
}

void HtmlWriter::own_shapes() { out_ += page_shapes(); }

void write_list(const std::vector<std::string>& items, size_t most, HtmlWriter& html,
                const std::string& where) {
  const auto list = html.in("ul");
  for (size_t i = 0; i < std::min(items.size(), most); ++i) html.element("li", items[i]);
  if (items.size() <= most) return;
  html.element("li", fmt::format("... and {} more{}", items.size() - most, where));
}

void write_note(const std::string& text, HtmlWriter& html) {
  html.element("p", text, {{"class", "note"}});
}

void write_summary(const std::string& title, size_t rows, HtmlWriter& html) {
  const auto summary = html.in("summary");
  html.text(title);
  html.element("span", " " + plural(rows, "row"));
}

std::string tone_class(Tone tone) {
  constexpr const char* kClasses[] = {"plain", "tone-good", "tone-warn", "tone-bad", "plain"};
  return kClasses[static_cast<size_t>(tone)];
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
    write_note(fmt::format("{} of {} rows of \"{}\" are left out here; all are in records.csv "
                           "(plumbline report csv DIR)",
                           table.rows.size() - rows, table.rows.size(), caption),
               html);
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
        write_list(block.items, kMostItems, html);
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

Table page_table(const Table& table, std::string& caption) {
  if (table.rows.empty()) return table;
  std::vector<size_t> kept;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    const Shared* shared = shared_of(table, column);
    if (shared == nullptr) {
      kept.push_back(column);
      continue;
    }
    const std::string& value = table.rows.front().cells[column];
    if (value != shared->nothing) caption += ", " + (shared->before + value);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [&](size_t a, size_t b) { return place_of(table, a) < place_of(table, b); });
  return with_columns(table, kept);
}

}  // namespace plumbline
