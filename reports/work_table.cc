// Where the time of an operation went (TimeSplit), and what it took to move its bytes
// (RankCounters): one row a record.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/units.h"
#include "reports/content.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

std::string share_text(uint64_t part, uint64_t whole) {
  if (whole == 0) return {};
  return percent_text(static_cast<double>(part) / static_cast<double>(whole));
}

std::string each_text(double value) { return fmt::format("{:.3g}", value); }

struct WorkRow {
  const Item* item;
  std::optional<TimeSplit> split;
  std::optional<RankCounters> counters;

  // Of all ranks for one operation.
  std::string each(uint64_t count) const {
    const auto operations =
        static_cast<double>(std::max<uint64_t>(1, measured_operations(item->record->measurement)));
    return each_text(static_cast<double>(count) / operations);
  }
};

struct WorkColumn {
  Column column;
  std::string (*cell)(const WorkRow& row);
};

const Cell& work_cell(const WorkRow& row) { return row.item->record->cell; }

template <double TimeSplit::*Part>
std::string part_text(const WorkRow& row) {
  return row.split ? us_text(*row.split.*Part) : std::string();
}
std::string queue_text(const WorkRow& row) {
  return row.split && row.split->queue > 0 ? us_text(row.split->queue) : std::string();
}
std::string algorithm_text(const WorkRow& row) {
  const std::string& ran = row.item->record->measurement.resolved.algorithm;
  return clean(ran.empty() ? work_cell(row).algorithm : ran);
}
std::string per_byte_text(const WorkRow& row) {
  const auto ns = cpu_ns_per_byte(row.item->record->measurement);
  return ns ? each_text(*ns) : std::string();
}
std::string calls_text(const WorkRow& row) {
  return row.counters ? row.each(row.counters->system_calls()) : std::string();
}
std::string stalls_text(const WorkRow& row) {
  return row.counters ? row.each(row.counters->stalls()) : std::string();
}
std::string place_text(const WorkRow& row) {
  return row.counters ? share_text(row.counters->in_place_bytes, row.counters->received_bytes) : "";
}
std::string copied_text(const WorkRow& row) {
  return row.counters ? share_text(row.counters->copied_bytes, row.counters->received_bytes) : "";
}

const WorkColumn kWorkColumns[] = {
    {{"", "operation", "", true}, [](const WorkRow& r) { return clean(work_cell(r).op); }},
    {{"", "algorithm", "", true}, algorithm_text},
    {{"", "ranks"}, [](const WorkRow& r) { return std::to_string(work_cell(r).ranks); }},
    {{"", "transport", "", true},
     [](const WorkRow& r) { return clean(transport_of(*r.item->record)); }},
    {{"", "size", "B"}, [](const WorkRow& r) { return std::to_string(work_cell(r).bytes); }},
    {{"", "type", "", true}, [](const WorkRow& r) { return clean(work_cell(r).dtype); }},
    {{"", "placement", "", true}, [](const WorkRow& r) { return clean(work_cell(r).placement); }},
    {{"", "variant", "", true, 0, true},
     [](const WorkRow& r) { return clean(join(variant_words(work_cell(r)), ", ")); }},
    {{"time of one operation", "queue", "us", false, 0, true}, queue_text},
    {{"time of one operation", "sync", "us", false, 0, true}, part_text<&TimeSplit::sync>},
    {{"time of one operation", "network", "us", false, 0, true}, part_text<&TimeSplit::network>},
    {{"time of one operation", "reduce", "us", false, 0, true}, part_text<&TimeSplit::reduce>},
    {{"all ranks", "CPU", "ns/B", false, 0, true}, per_byte_text},
    {{"all ranks", "system calls", "per op", false, 0, true}, calls_text},
    {{"all ranks", "stalls", "per op", false, 0, true}, stalls_text},
    {{"received bytes", "in place", "%", false, 0, true}, place_text},
    {{"received bytes", "copied", "%", false, 0, true}, copied_text},
};

}  // namespace

const char* const kWorkLegend =
    "The time of a few operations that were taken apart after the timed ones, mean of the ranks: "
    "queue: older ones were in flight; sync: waiting for a message of which nothing had come; "
    "reduce: arithmetic and copies; network: the rest. Counters are of the timed part: processor "
    "time for each byte sent or received; system calls and stalls of one operation; which share of "
    "the received bytes was used where it lay, and which was copied once more.";

Table work_table(const View& view) {
  Table table;
  for (const WorkColumn& column : kWorkColumns) table.columns.push_back(column.column);
  for (const ViewGroup& group : view.groups) {
    for (const Pair& pair : group.rows) {
      for (const Item* item : {pair.out, pair.in}) {
        if (item == nullptr || !item->valid()) continue;
        const Measurement& m = item->record->measurement;
        const WorkRow row{item, mean_split(m), sum_counters(m)};
        if (!row.split && !row.counters) continue;
        TableRow& shown = table.rows.emplace_back();
        for (const WorkColumn& column : kWorkColumns) shown.cells.push_back(column.cell(row));
      }
    }
  }
  return without_empty_columns(table);
}

}  // namespace plumbline
