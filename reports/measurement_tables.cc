// The tables of measurements of one kind, each group of cells one table, with how to read its
// columns.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "reports/content.h"
#include "reports/kind_view.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr std::string_view kTime = "time";
constexpr const char* kForeign = "imported: the note below a table says which tool and statistic";

struct GroupText {
  std::string title;
  Table table;
  std::vector<std::string> notes;
};

bool is_imported(const ViewGroup& group) {
  return !group.rows.empty() && group.rows.front().any().imported();
}

// Only of columns that the tables have; what a time is differs from tool to tool.
std::string legend_of(const View& view, const KindView& shown,
                      const std::vector<GroupText>& groups) {
  bool own = false, foreign = false;
  for (const ViewGroup& group : view.groups) {
    if (group.kind == shown.kind) (is_imported(group) ? foreign : own) = true;
  }
  std::vector<std::string> parts;
  for (const ColumnLegend& row : shown.legends) {
    if (!own && row.column == kTime) continue;
    const auto has = [&](const GroupText& group) {
      return std::any_of(group.table.columns.begin(), group.table.columns.end(),
                         [&](const Column& column) { return column.name == row.column; });
    };
    if (std::any_of(groups.begin(), groups.end(), has)) parts.emplace_back(row.text);
  }
  if (foreign) parts.emplace_back(kForeign);
  return join(parts, "; ");
}

}  // namespace

void add_group_tables(const View& view, const KindView& shown, Document& document) {
  std::vector<GroupText> groups;
  for (const ViewGroup& group : view.groups) {
    if (group.kind != shown.kind) continue;
    GroupText& text = groups.emplace_back();
    text.title = title_of(group);
    text.table = group_table(group, text.notes);
  }
  if (groups.empty()) return;
  document.heading(1, shown.title);
  const std::string legend = legend_of(view, shown, groups);
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

}  // namespace plumbline
