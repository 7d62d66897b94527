#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/op.h"
#include "core/stats/noise.h"
#include "core/units.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

// A machine that was busy for a while makes one bad roof of each size.
constexpr size_t kRoofsTold = 2;

bool has_time(const Item& item) { return item.time.p50 && *item.time.p50 > 0; }

// How many connections of one rank an operation can keep busy at once, each way.
int connections_of(const Record& record) {
  const Cell& cell = record.cell;
  const std::string& chosen = record.measurement.resolved.algorithm;
  const std::string& algorithm = chosen.empty() || chosen == "none" ? cell.algorithm : chosen;
  // Between ranks 0 and 1 only, or to one neighbour from the other.
  constexpr std::array kPairs = {"pingpong", "stream", "bidirectional", "sendrecv"};
  const bool pair = std::find(kPairs.begin(), kPairs.end(), cell.op) != kPairs.end();
  const int ranks = group_ranks(cell);
  return pair || algorithm == "ring" || ranks <= 2 ? 1 : ranks - 1;
}

std::string bad_moment(const std::string& roof) {
  return fmt::format(
      "the roof of {} is too low: results are above it by more than noise explains, so it was "
      "measured at a bad moment; measure again",
      roof);
}

// Those of arrays that are as cold or hot as the record's.
std::vector<const Item*> array_roofs(const View& view, const Record& record) {
  const char* wanted = is_two_way(record.cell.op) ? "array_duplex" : "array_stream";
  std::vector<const Item*> roofs = roofs_for(view, record, wanted);
  std::erase_if(roofs, [&](const Item* roof) {
    return roof->record->cell.cache != record.cell.cache || !roof_rate_Bps(*roof);
  });
  return roofs;
}

std::vector<const Item*> buffer_roofs(const View& view, const Record& record) {
  const char* wanted = is_two_way(record.cell.op) ? "raw_duplex" : "raw_stream";
  std::vector<const Item*> roofs = roofs_for(view, record, wanted);
  std::erase_if(roofs, [](const Item* roof) { return !roof_rate_Bps(*roof); });
  return roofs;
}

}  // namespace

std::vector<const Item*> roofs_for(const View& view, const Record& record, std::string_view op) {
  std::array<std::vector<const Item*>, 4> by_fit;  // best fit first
  for (const Item* roof : view.roofs) {
    if (roof->record->cell.op != op || !roof->valid()) continue;
    const std::string& a = transport_of(*roof->record);
    const std::string& b = transport_of(record);
    const bool same_path = a == b || a == "auto" || b == "auto";
    const bool same_run = roof->record->run_id == record.run_id;
    const bool same_plan = roof->record->plan_hash == record.plan_hash;
    const Cell &ours = record.cell, &theirs = roof->record->cell;
    const bool same_ranks = theirs.ranks == ours.ranks && theirs.hosts == ours.hosts &&
                            theirs.distribution == ours.distribution;
    if (!same_path) continue;
    if (same_run || same_plan)
      by_fit[(same_ranks ? 0U : 2U) + (same_run ? 0U : 1U)].push_back(roof);
  }
  for (const std::vector<const Item*>& roofs : by_fit) {
    if (!roofs.empty()) return roofs;
  }
  return {};
}

std::optional<double> roof_rate_Bps(const Item& roof) {
  if (has_time(roof) && roof.record->cell.bytes > 0) {
    return static_cast<double>(roof.record->cell.bytes) / *roof.time.p50 * 1e9;
  }
  const std::optional<double>& rate = roof.record->measurement.bytes_per_s;
  return rate && *rate > 0 ? rate : std::nullopt;
}

bool is_two_way(std::string_view name) {
  const std::optional<Op> op = op_from(name);
  return op && is_two_way(*op);
}

std::optional<double> latency_floor_ns(const View& view, const Record& record) {
  const std::optional<Floor> floor = floor_in(record.measurement);
  if (!floor) return std::nullopt;
  const FloorRow& manner = row(floor->manner);
  std::optional<double> best;
  for (const Item* roof : roofs_for(view, record, manner.roof)) {
    if (roof->record->cell.bytes != floor->bytes || !has_time(*roof)) continue;
    const double ns = *roof->time.p50 * manner.share;
    if (!best || ns < *best) best = ns;
  }
  return best;
}

std::vector<const Item*> bandwidth_roofs(const View& view, const Record& record) {
  if (!record.cell.compression.empty()) return {};  // what is on the wire is another size
  std::vector<const Item*> roofs = array_roofs(view, record);
  return roofs.empty() ? buffer_roofs(view, record) : roofs;
}

const Item* bandwidth_roof(const View& view, const Record& record) {
  std::vector<const Item*> roofs = array_roofs(view, record);
  std::erase_if(roofs,
                [&](const Item* roof) { return roof->record->cell.bytes != record.cell.bytes; });
  if (roofs.empty()) roofs = buffer_roofs(view, record);
  const Item* best = nullptr;
  for (const Item* roof : roofs) {
    if (!best || *roof_rate_Bps(*roof) > *roof_rate_Bps(*best)) best = roof;
  }
  return best;
}

std::optional<RoofShare> bandwidth_share(const View& view, const Item& item) {
  const Item* roof = bandwidth_roof(view, *item.record);
  if (roof == nullptr || !item.busbw_Bps) return std::nullopt;
  const double rate = *roof_rate_Bps(*roof);
  RoofShare of{*item.busbw_Bps / rate, ""};
  if (of.share > kMostOfRate * connections_of(*item.record))
    of.no_roof = bad_moment(format_rate(rate));
  return of;
}

std::optional<RoofShare> latency_share(const View& view, const Item& item) {
  const std::optional<double> floor_ns = latency_floor_ns(view, *item.record);
  if (!floor_ns || !has_time(item)) return std::nullopt;
  RoofShare of{*floor_ns / *item.time.p50, ""};
  if (item.record->cell.sync != "none" && of.share > kMostOfLatency) {
    const FloorRow& manner = row(floor_in(item.record->measurement)->manner);
    of.no_roof = bad_moment(fmt::format("{}, {},", format_duration(*floor_ns), manner.text));
  }
  return of;
}

std::vector<std::string> no_roof_notes(const View& view) {
  std::map<std::string, size_t> above;
  for (const Item& item : view.items) {
    if (!item.no_roof.empty()) ++above[item.no_roof];
  }
  std::vector<std::pair<std::string, size_t>> most(above.begin(), above.end());
  std::stable_sort(most.begin(), most.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> notes;
  size_t others = 0;  // results
  for (const auto& [text, count] : most) {
    // One left over is told as well: a line that counts it would be as long.
    if (notes.size() < kRoofsTold || most.size() == kRoofsTold + 1) {
      notes.push_back(fmt::format("{} ({} above it)", text, plural(count, "result")));
    } else {
      others += count;
    }
  }
  if (others > 0) {
    notes.push_back(fmt::format("{} more roofs are too low as well ({} above them)",
                                most.size() - notes.size(), plural(others, "result")));
  }
  return notes;
}

}  // namespace plumbline
