// What a result should have taken by the roofs of its own run, and what it was spent on. Formulas
// and sources: core/stats/prediction.h, docs/measuring.md.
#include "core/stats/prediction.h"

#include <algorithm>
#include <cmath>

#include "core/op.h"
#include "reports/view.h"

namespace plumbline {
namespace {

// Up to this size a message takes no longer than an empty one.
constexpr uint64_t kSmallMessage = 1024;

std::optional<double> time_of_smallest(const std::vector<const Item*>& roofs) {
  const Item* best = nullptr;
  for (const Item* roof : roofs) {
    const uint64_t bytes = roof->record->cell.bytes;
    if (bytes > kSmallMessage || !(roof->time.p50.value_or(0) > 0)) continue;
    if (best == nullptr || bytes < best->record->cell.bytes) best = roof;
  }
  return best == nullptr ? std::nullopt : best->time.p50;
}

// One small message: a swap where ranks send and receive at once, else half a round trip.
std::optional<double> alpha_ns(const View& view, const Record& record) {
  if (is_two_way(record.cell.op)) {
    const auto swap = time_of_smallest(roofs_for(view, record, "raw_exchange"));
    if (swap) return swap;
  }
  const auto trip = time_of_smallest(roofs_for(view, record, "raw_pingpong"));
  return trip ? std::optional(*trip / 2) : std::nullopt;
}

// The kernel of its type and reduction, over arrays as near to its size as was measured.
std::optional<double> gamma_Bps(const View& view, const Record& record) {
  std::optional<double> rate;
  double least = 0;
  for (const Item* roof : roofs_for(view, record, "reduce_kernel")) {
    const Cell &theirs = roof->record->cell, &ours = record.cell;
    if (theirs.dtype != ours.dtype || theirs.redop != ours.redop || theirs.cache != ours.cache ||
        theirs.bytes == 0 || ours.bytes == 0) {
      continue;
    }
    const double apart =
        std::abs(std::log(static_cast<double>(theirs.bytes) / static_cast<double>(ours.bytes)));
    if (rate && apart >= least) continue;
    if (const auto one = roof_rate_Bps(*roof)) {
      rate = one;
      least = apart;
    }
  }
  return rate;
}

std::optional<double> memory_Bps(const View& view, const Record& record) {
  std::optional<double> best;
  for (const Item* roof : roofs_for(view, record, "memcpy")) {
    if (const auto rate = roof_rate_Bps(*roof)) best = std::max(best.value_or(0), *rate);
  }
  return best;
}

bool known_time(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

Speeds speeds_for(const View& view, const Record& record) {
  Speeds speeds;
  speeds.alpha_ns = alpha_ns(view, record);
  if (const Item* roof = bandwidth_roof(view, record)) speeds.beta_Bps = roof_rate_Bps(*roof);
  speeds.gamma_Bps = gamma_Bps(view, record);
  speeds.memory_Bps = memory_Bps(view, record);
  return speeds;
}

void foresee(const View& view, Item& item) {
  const Record& record = *item.record;
  const std::optional<OperationCost> cost = cost_in(record.measurement);
  const bool one_by_one = row(record.cell.kind).timing == CellTiming::kEach;
  if (!item.valid() || !one_by_one || !cost || !item.time.p50) return;
  std::optional<Prediction> prediction = predict(*cost, speeds_for(view, record));
  if (!prediction) return;
  item.predicted_ns = prediction->total_ns();
  // The share that went with waiting, of the time that was measured without looking at the clock
  // in between; what a message needs to come is the path's, and nobody's lateness.
  if (const std::optional<TimeSplit> split = mean_split(record.measurement)) {
    const double waited = *item.time.p50 * split->sync / split->total;
    if (known_time(waited)) {
      (*prediction)[Term::kSync] = std::max(0.0, waited - (*prediction)[Term::kLatency]);
    }
  }
  item.limit = prediction->dominating();
}

std::optional<TimeSplit> mean_split(const Measurement& measurement) {
  TimeSplit mean;
  double ranks = 0;
  for (const PerRank& rank : measurement.per_rank) {
    if (!rank.split || !(rank.split->total > 0)) continue;
    ++ranks;
    mean.operations = rank.split->operations;
    for (double TimeSplit::*const part : {&TimeSplit::total, &TimeSplit::queue, &TimeSplit::sync,
                                          &TimeSplit::network, &TimeSplit::reduce}) {
      mean.*part += (*rank.split.*part - mean.*part) / ranks;
    }
  }
  return ranks > 0 && known_time(mean.total) ? std::optional(mean) : std::nullopt;
}

std::optional<RankCounters> sum_counters(const Measurement& measurement) {
  std::optional<RankCounters> sum;
  for (const PerRank& rank : measurement.per_rank) {
    if (!rank.counters) return std::nullopt;
    if (!sum) sum.emplace();
    *sum += *rank.counters;
  }
  return sum;
}

std::optional<double> cpu_ns_per_byte(const Measurement& measurement) {
  double cpu = 0, bytes = 0;
  for (const PerRank& rank : measurement.per_rank) {
    if (!rank.counters || rank.cpu_ns < 0) return std::nullopt;
    cpu += static_cast<double>(rank.cpu_ns);
    bytes +=
        static_cast<double>(rank.wire_bytes) + static_cast<double>(rank.counters->received_bytes);
  }
  return bytes > 0 ? std::optional(cpu / bytes) : std::nullopt;
}

std::optional<double> mean_ns(const Item& item) {
  const Histogram& hist = item.record->measurement.hist;
  if (item.launches > 1 || hist.n() == 0) return std::nullopt;
  return static_cast<double>(hist.sum()) / static_cast<double>(hist.n());
}

std::optional<double> peak_Bps(const Item& item) {
  const Cell& cell = item.record->cell;
  const std::optional<Op> op = op_from(cell.op);
  const double least = item.time.min.value_or(0);
  if (!op || !(least > 0) || cell.bytes == 0 || *op == Op::kBarrier) return std::nullopt;
  return algbw_Bps(*op, cell.bytes, least);
}

}  // namespace plumbline
