// The tables of a report, one kind of matrix after the other, each kind with how to read its
// columns.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "reports/content.h"
#include "reports/links/link_tables.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// How to read a column of the tables of a kind; said where such a column is there.
struct LegendRow {
  const char* kind;
  std::string_view column;
  const char* text;
};
constexpr std::string_view kTime = "time";
constexpr LegendRow kLegends[] = {
    {"latency", kTime, "time: median over iterations of the slowest rank"},
    {"latency", "of roof",
     "of roof: what the bare socket takes for the same messages (one way, there and back, or both "
     "ways at once) over the time"},
    {"bandwidth", kTime, "time: median over iterations of the slowest rank"},
    {"bandwidth", "algbw", "algbw = size / time"},
    {"bandwidth", "busbw", "busbw = algbw x the operation's factor"},
    {"bandwidth", "of roof",
     "of roof: busbw over the bare socket's rate, both ways at once for operations that send and "
     "receive at once, one way for the others"},
    {"throughput", "rate",
     "rate: operations (ops) completed a second over a fixed time with so many outstanding at "
     "once"},
    {"throughput", "p50", "p50: time from start to end of one operation"},
};
constexpr const char* kForeign = "imported: the note below a table says which tool and statistic";

struct KindRow {
  const char* kind;
  const char* title;
};
constexpr KindRow kKinds[] = {
    {"latency", "Latency"},
    {"bandwidth", "Bandwidth"},
    {"throughput", "Throughput"},
};

struct GroupText {
  std::string title;
  Table table;
  std::vector<std::string> notes;
};

bool is_imported(const ViewGroup& group) {
  return !group.rows.empty() && group.rows.front().any().imported();
}

// Only of columns that the tables have; what a time is differs from tool to tool.
std::string legend_of(const View& view, const std::string& kind,
                      const std::vector<GroupText>& groups) {
  bool own = false, foreign = false;
  for (const ViewGroup& group : view.groups) {
    if (group.kind == kind) (is_imported(group) ? foreign : own) = true;
  }
  std::vector<std::string> parts;
  for (const LegendRow& row : kLegends) {
    if (row.kind != kind || (!own && row.column == kTime)) continue;
    const auto has = [&](const GroupText& group) {
      return std::any_of(group.table.columns.begin(), group.table.columns.end(),
                         [&](const Column& column) { return column.name == row.column; });
    };
    if (std::any_of(groups.begin(), groups.end(), has)) parts.emplace_back(row.text);
  }
  if (foreign) parts.emplace_back(kForeign);
  return join(parts, "; ");
}

void add_measurements(const View& view, const std::string& kind, const std::string& title,
                      Document& document) {
  std::vector<GroupText> groups;
  for (const ViewGroup& group : view.groups) {
    if (group.kind != kind) continue;
    GroupText& text = groups.emplace_back();
    text.title = title_of(group);
    text.table = group_table(group, text.notes);
  }
  if (groups.empty()) return;
  document.heading(1, title);
  const std::string legend = legend_of(view, kind, groups);
  if (!legend.empty()) document.paragraph(legend);
  for (GroupText& group : groups) {
    document.heading(2, group.title);
    document.table(std::move(group.table));
    std::vector<std::string> numbered;
    for (size_t i = 0; i < group.notes.size(); ++i) {
      numbered.push_back(fmt::format("[{}] {}", i + 1, group.notes[i]));
    }
    document.list(numbered);
  }
}

void add_check(const View& view, const std::string& kind, const std::string& title,
               Document& document) {
  const Table table = check_table(view, kind);
  if (table.rows.empty()) return;
  document.heading(1, title);
  document.table(table);
  document.list(check_failures(view, kind));
}

}  // namespace

void add_tables(const View& view, Document& document) {
  std::vector<std::string> shown = {"check", "probe", "link"};
  add_links(view, document);
  for (const KindRow& row : kKinds) {
    add_measurements(view, row.kind, row.title, document);
    shown.push_back(row.kind);
  }
  // A kind that this version does not know (a newer file) still gets its rows.
  for (const ViewGroup& group : view.groups) {
    if (std::find(shown.begin(), shown.end(), group.kind) != shown.end()) continue;
    add_measurements(view, group.kind, group.kind, document);
    shown.push_back(group.kind);
  }
  add_check(view, "check", "Correctness", document);
  add_check(view, "probe", "Probes", document);
}

}  // namespace plumbline
