#include "scenarios/estimate.h"

#include <algorithm>
#include <cmath>

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

// One operation, with what starts it.
double operation_s(const Cell& cell) {
  if (row(cell.kind).timing == CellTiming::kBarePath)
    return kMessageSeconds + static_cast<double>(cell.bytes) / kRateBps;
  const auto op = op_from(cell.op);
  if (!op) return kMessageSeconds;
  const double rounds = std::ceil(std::log2(std::max(2, cell.ranks)));
  // With a window: a barrier, an announcement, and three times as long as one takes.
  const double barriers = cell.sync == "window" ? 6 : cell.sync == "barrier" ? 2 : 1;
  const auto wire =
      groups_of(cell) * static_cast<double>(ideal_wire_bytes(*op, group_ranks(cell), cell.bytes));
  return barriers * kMessageSeconds * rounds * std::max(1, cell.ranks / 2) + wire / kRateBps;
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
