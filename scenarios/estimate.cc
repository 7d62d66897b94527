#include "scenarios/estimate.h"

#include <algorithm>
#include <cmath>

#include "collectives/list_work.h"
#include "core/op.h"
#include "core/record/link.h"

namespace plumbline {
namespace {

// The model: a message costs kMessageSeconds, bytes on the wire flow at kRateBps in all. Both are
// middling values of loopback TCP on two cores; a factor of three either way is normal.
constexpr double kMessageSeconds = 30e-6;
constexpr double kRateBps = 2e9;
constexpr double kCellOverheadSeconds = 0.03;   // agreeing, allocating, recording
constexpr double kConnectSeconds = 0.02;        // per round of links: dialling, agreeing
constexpr double kPackBps = 5e9;                // copying arrays of a list, all ranks together
constexpr double kPackSeconds = 5e-9;           // each array more
constexpr double kFillBps = 2e9;                // writing test patterns, all ranks together
constexpr double kFilled = 64.0 * 1024 * 1024;  // bytes per rank, so that caches are cold
constexpr double kMostArrays = 64;              // of that many arrays at most
// The confidence interval of the median is usually narrow enough after so many samples.
constexpr double kUsualSamples = 2000;
constexpr double kFirstSamples = 30;  // before a stop rule is first asked
constexpr double kWarmupShare = 0.15, kWarmupOperations = 14;
constexpr double kChecks =
    2;  // operations whose result is verified, which costs three times as much
constexpr double kCheckFactor = 3;

// All messages of something that `together` ranks do together, in as many groups as there are.
double messages_s(const Cell& cell, int together) {
  const double rounds = std::ceil(std::log2(std::max(2, together)));
  return kMessageSeconds * rounds * std::max(1, cell.ranks / 2);
}

// What a cell of one array has once and none of: each operation that a list ends in has messages of
// its own, and arrays that are packed are copied there and back.
struct ListCost {
  double operations = 1, packing_s = 0;
};
ListCost list_cost(const Cell& cell) {
  const auto dtype = dtype_from(cell.dtype);
  if (cell.arrays == 1 || !dtype) return {};
  ListCost cost{0, 0};
  double packed = 0;  // bytes
  for (const ListShare& share : list_shares(*dtype, cell.count, cell.arrays)) {
    cost.operations += static_cast<double>(share.times);
    if (share.packed) packed += static_cast<double>(share.times * share.elements * size_of(*dtype));
  }
  if (packed > 0) {
    cost.packing_s = 2 * cell.ranks * (packed / kPackBps + cell.arrays * kPackSeconds);
  }
  return cost;
}

// One operation, with what starts it, for which all ranks meet.
double operation_s(const Cell& cell) {
  if (row(cell.kind).timing == CellTiming::kBarePath)
    return kMessageSeconds + static_cast<double>(cell.bytes) / kRateBps;
  const auto op = op_from(cell.op);
  if (!op) return kMessageSeconds;
  // With a window: a barrier, an announcement, and three times as long as one takes.
  const double barriers = cell.sync == "window" ? 3 : cell.sync == "barrier" ? 1 : 0;
  const double times = cell.sync == "window" ? 3 : 1;
  const ListCost list = list_cost(cell);
  const auto wire =
      groups_of(cell) * static_cast<double>(ideal_wire_bytes(*op, group_ranks(cell), cell.bytes));
  return barriers * messages_s(cell, cell.ranks) +
         times * list.operations * messages_s(cell, group_ranks(cell)) + list.packing_s +
         wire / kRateBps;
}

double link_s(const PlanCell& plan_cell) {
  const Cell& cell = plan_cell.cell;
  const LinkMeasureRow* measure = find_link_measure(cell.measure);
  if (measure == nullptr) return 0;
  const int circle = cell.ranks + cell.ranks % 2 - 1;  // rounds of a tournament
  int rounds = 1;
  if (measure->rounds == LinkRounds::kOneWay) rounds = 2 * circle;
  if (measure->rounds == LinkRounds::kBothWays) rounds = circle;
  if (measure->rounds == LinkRounds::kIncast) rounds = cell.ranks;
  const double once = static_cast<double>(plan_cell.throughput_time_ns) * 1e-9;
  return rounds * (once + kConnectSeconds);
}

double fill_s(const Cell& cell) {
  const auto bytes = static_cast<double>(cell.bytes);
  return cell.ranks * std::max(bytes, std::min(kMostArrays * bytes, kFilled)) / kFillBps;
}

}  // namespace

double estimate_cell_s(const PlanCell& plan_cell) {
  if (!plan_cell.skip.empty()) return 0;
  const Cell& cell = plan_cell.cell;
  const CellKindRow& kind = row(cell.kind);
  if (kind.timing == CellTiming::kPairs) return kCellOverheadSeconds + link_s(plan_cell);
  const double once = operation_s(cell);
  const double checks = kChecks * kCheckFactor * once;
  if (kind.timing == CellTiming::kNothing) return kCellOverheadSeconds + checks;
  if (kind.has("time")) {
    return kCellOverheadSeconds + checks +
           static_cast<double>(plan_cell.throughput_time_ns) * 1e-9 * (1 + kWarmupShare);
  }
  const StopRule& stop = plan_cell.stop;
  const double wanted = stop.ci > 0 ? std::max(kUsualSamples, static_cast<double>(stop.min_n))
                                    : static_cast<double>(stop.max_n);
  const double samples = std::min(wanted, static_cast<double>(stop.max_n));
  const double least = std::min(kFirstSamples, static_cast<double>(stop.max_n)) * once;
  const double timed =
      std::max(least, std::min(samples * once, static_cast<double>(stop.max_time_ns) * 1e-9));
  const double warmup = std::max(kWarmupOperations * once, kWarmupShare * timed);
  return kCellOverheadSeconds + checks + fill_s(cell) + warmup + timed;
}

double estimate_start_s(int ranks) { return 0.2 + 0.05 * ranks; }

}  // namespace plumbline
