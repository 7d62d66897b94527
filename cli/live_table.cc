#include "cli/live_table.h"

#include <algorithm>

#include "core/units.h"
#include "reports/columns.h"
#include "reports/tables.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

std::string time_text(const Record& record) {
  return record.time_ns.p50 ? format_duration(*record.time_ns.p50) : "-";
}

std::string rate_text(const Record& record) {
  if (record.busbw_Bps) return format_rate(*record.busbw_Bps);
  std::optional<double> slowest;
  for (const LinkResult& link : record.measurement.links) {
    if (link.rate_Bps) slowest = std::min(slowest.value_or(*link.rate_Bps), *link.rate_Bps);
  }
  return slowest ? format_rate(*slowest) : "-";
}

std::string how_text(const Record& record) {
  const Cell& cell = record.cell;
  if (!cell.measure.empty()) return cell.measure;
  const std::string& chosen = record.measurement.resolved.algorithm;
  return chosen.empty() || chosen == cell.algorithm ? cell.algorithm
                                                    : cell.algorithm + ":" + chosen;
}

std::string type_text(const Record& record) {
  const Cell& cell = record.cell;
  return cell.redop == "none" || cell.redop.empty() ? cell.dtype : cell.dtype + " " + cell.redop;
}

struct ColumnRow {
  const char* name;
  int width, least;  // as columns_for() wants them
  bool left;
  int priority;
  std::string (*text)(const Record& record);
};
const ColumnRow kColumns[] = {
    {"kind", 10, 10, true, 4, [](const Record& r) { return std::string(to_string(r.cell.kind)); }},
    {"op", 14, 14, true, 0, [](const Record& r) { return r.cell.op; }},
    {"algorithm", 23, 12, true, 3, how_text},
    {"ranks", 5, 5, false, 2, [](const Record& r) { return std::to_string(r.cell.ranks); }},
    {"size", 8, 8, false, 0, [](const Record& r) { return format_bytes(r.cell.bytes); }},
    {"type", 9, 9, true, 6, type_text},
    {"place", 5, 5, true, 7, [](const Record& r) { return r.cell.placement; }},
    {"time", 8, 8, false, 0, time_text},
    {"busbw", 10, 10, false, 1, rate_text},
    {"verdict", 7, 7, true, 0,
     [](const Record& r) { return std::string(to_string(verdict_of(r))); }},
    {"noise", 30, 8, true, 5, [](const Record& r) { return join(r.noise.causes, ", "); }},
};
template <typename Text>
std::string line_of(int width, Text text) {
  return column_line(std::span<const ColumnRow>(kColumns), width, text);
}

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kClean:
    case Verdict::kSkipped:
      return Tone::kPlain;
    case Verdict::kNoisy:
      return Tone::kWarn;
    default:
      return Tone::kBad;
  }
}

}  // namespace

std::string live_header(int width) {
  return line_of(width, [](const ColumnRow& row) { return std::string(row.name); });
}

std::string live_row(const Record& record, int width, bool colour) {
  const std::string line =
      line_of(width, [&record](const ColumnRow& row) { return row.text(record); });
  return toned(line, tone_of(verdict_of(record)), colour);
}

}  // namespace plumbline
