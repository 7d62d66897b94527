#include "reports/kind_view.h"

#include "reports/content.h"
#include "reports/links/link_tables.h"

namespace plumbline {
namespace {

constexpr ColumnLegend kLatencyLegends[] = {
    {"time", "time: median over iterations of the slowest rank"},
    {"of roof",
     "of roof: what the bare socket takes for the same messages (one way, there and back, or both "
     "ways at once) over the time"},
};
constexpr ColumnLegend kBandwidthLegends[] = {
    {"time", "time: median over iterations of the slowest rank"},
    {"algbw", "algbw = size / time"},
    {"busbw", "busbw = algbw x the operation's factor"},
    {"of roof",
     "of roof: busbw over the bare socket's rate, both ways at once for operations that send and "
     "receive at once, one way for the others"},
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
};

}  // namespace

std::span<const KindView> kind_view_table() { return kViews; }

void add_tables(const View& view, Document& document) {
  for (const KindView& shown : kViews) shown.add(view, shown, document);
}

}  // namespace plumbline
