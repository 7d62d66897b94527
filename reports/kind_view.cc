#include "reports/kind_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "reports/content.h"
#include "reports/endpoint_view.h"
#include "reports/links/link_view.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr ColumnLegend kPredictedLegend = {
    "predicted",
    "predicted: messages one behind the other at the bare path's latency, bytes at its rate, "
    "reductions and copies at those of memory and kernel"};
constexpr ColumnLegend kLimitLegend = {
    "limit",
    "limit: the largest of these (latency, bandwidth, reduce, memory), or sync where ranks waited "
    "longer for one another"};

constexpr ColumnLegend kLatencyLegends[] = {
    {"time", "time: median over iterations of the slowest rank"},
    {"of roof",
     "of roof: what the bare socket takes for the same messages (one way, there and back, or both "
     "ways at once) over the time"},
    kPredictedLegend,
    kLimitLegend,
};
constexpr ColumnLegend kBandwidthLegends[] = {
    {"time", "time: median over iterations of the slowest rank"},
    {"algbw", "algbw = size / time"},
    {"busbw", "busbw = algbw x the operation's factor"},
    {"of roof",
     "of roof: busbw over the bare socket's rate, both ways at once for operations that send and "
     "receive at once, one way for the others"},
    kPredictedLegend,
    kLimitLegend,
};
constexpr ColumnLegend kThroughputLegends[] = {
    {"rate",
     "rate: operations (ops) completed a second over a fixed time with so many outstanding at "
     "once"},
    {"p50", "p50: time from start to end of one operation"},
};

void add_link_tables(const View& view, const KindView& /*shown*/, Document& document) {
  add_links(view, document);
}

void add_check_table(const View& view, const KindView& shown, Document& document) {
  const Table table = check_table(view);
  if (table.rows.empty()) return;
  document.heading(1, shown.title);
  document.table(table);
  document.list(check_failures(view));
}

// Roofs stand in the introduction, and beside what is held against them.
constexpr KindView kViews[] = {
    {CellKind::kLink, "Links", add_link_tables, {}},
    {CellKind::kLatency, "Latency", add_group_tables, kLatencyLegends},
    {CellKind::kBandwidth, "Bandwidth", add_group_tables, kBandwidthLegends},
    {CellKind::kThroughput, "Throughput", add_group_tables, kThroughputLegends},
    {CellKind::kCheck, "Correctness", add_check_table, {}},
    {CellKind::kEndpoint, "Serving", add_endpoint_tables, {}},
};

constexpr std::string_view kTime = "time";
constexpr const char* kForeign = "imported: the note below a table says which tool and statistic";

struct GroupText {
  std::string title;
  Table table;
  std::vector<std::string> notes;
};

// Only of columns that the tables have; what a time is differs from tool to tool.
std::string legend_of(const View& view, const KindView& shown,
                      const std::vector<GroupText>& groups) {
  bool own = false, foreign = false;
  for (const ViewGroup& group : view.groups) {
    if (group.kind == shown.kind) (group.imported() ? foreign : own) = true;
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

std::span<const KindView> kind_view_table() { return kViews; }

void add_tables(const View& view, Document& document) {
  for (const KindView& shown : kViews) shown.add(view, shown, document);
}

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
  document.paragraph(legend_of(view, shown, groups));
  for (GroupText& group : groups) {
    document.heading(2, group.title);
    document.table(std::move(group.table));
    document.list(numbered(group.notes));
  }
}

}  // namespace plumbline
