// A p99 needs 1000 samples. Where operations are so fast that these cost little, they are measured;
// where they are slow, as few as the median needs. No time is expected of this machine: either the
// samples are there, or they would have taken longer than their budget.
#include <gtest/gtest.h>

#include "collectives/measure.h"
#include "core/clock.h"
#include "core/stats/stats.h"
#include "tests/support/collective_case.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

Cell tail_cell(const std::string& kind, const std::string& sync) {
  Cell cell;
  cell.kind = *cell_kind_from(kind);
  cell.op = "allreduce";
  cell.algorithm = "direct";
  cell.dtype = "i32";
  cell.sync = sync;
  cell.cache = "hot";
  cell.ranks = 2;
  cell.bytes = 64;
  cell.count = 16;
  return cell;
}

Measurement measured(const Cell& cell, const MeasureSettings& settings) {
  World world = make_memory_groups(2, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16);
  const OptionSet options;
  const std::vector<Measurement> of_rank = measured_by_ranks(world, cell, settings, options);
  EXPECT_EQ(of_rank[0].iterations, of_rank[1].iterations);
  return of_rank[0];
}

// What 1000 samples would have taken, at the pace of those that there are.
double whole_ns(const Measurement& m) {
  return static_cast<double>(m.elapsed_ns) / static_cast<double>(m.iterations) * kTailSamples;
}

// The median is good enough at once, so that nothing else makes a cell go on.
MeasureSettings easily_content() {
  MeasureSettings settings;
  settings.stop.ci = 1e6;
  settings.stop.min_n = 10;
  settings.fixed_warmup = 5;
  return settings;
}

TEST(Tail, ALatencyCellHasEnoughForAP99WhereTheyAreFast) {
  for (const char* sync : {"barrier", "none"}) {
    const Measurement m = measured(tail_cell("latency", sync), easily_content());
    EXPECT_TRUE(m.iterations >= kTailSamples || whole_ns(m) > kTailTimeNs)
        << sync << ": " << m.iterations << " in " << m.elapsed_ns << " ns";
    EXPECT_EQ(summarize(m.hist).p99.has_value(), m.iterations >= kTailSamples);
    EXPECT_LT(m.iterations, 2 * kTailSamples);
  }
}

TEST(Tail, OtherCellsAndThoseThatMayNotStopAsBefore) {
  // Beside 256 ranks of another test each operation has taken a second: no time ends it.
  MeasureSettings patient = easily_content();
  patient.stop.max_time_ns = 120 * kSecond;
  const Measurement bandwidth = measured(tail_cell("bandwidth", "none"), patient);
  EXPECT_LT(bandwidth.iterations, 100u);
  EXPECT_EQ(bandwidth.stop_reason, "ci");
  MeasureSettings few = easily_content();
  few.stop.max_n = 50;
  EXPECT_LE(measured(tail_cell("latency", "none"), few).iterations, 50u);
  // No 1000 operations are done in a microsecond.
  MeasureSettings no_time = easily_content();
  no_time.stop.max_time_ns = 1000;
  EXPECT_LT(measured(tail_cell("latency", "none"), no_time).iterations, 100u);
}

TEST(Tail, AFixedNumberIsKeptUnlessMoreIsAskedFor) {
  MeasureSettings settings;
  settings.fixed_iterations = 20;
  settings.fixed_warmup = 1;
  EXPECT_EQ(measured(tail_cell("bandwidth", "none"), settings).iterations, 20u);
  settings.tail = true;
  const Measurement m = measured(tail_cell("bandwidth", "none"), settings);
  EXPECT_GE(m.iterations, 20u);
  EXPECT_LE(m.iterations, kTailSamples);
  EXPECT_TRUE(m.iterations == kTailSamples || whole_ns(m) > kTailTimeNs)
      << m.iterations << " in " << m.elapsed_ns << " ns";
  EXPECT_EQ(m.stop_reason, "count");
}

}  // namespace
}  // namespace plumbline
