// Where the time of operations goes, what moving their bytes took, what their schedules cost, and
// the roofs that they are held against.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/cell_run.h"
#include "collectives/measure.h"
#include "collectives/time_parts.h"
#include "tests/support/collective_case.h"
#include "tests/support/row_share.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

Cell split_cell(const std::string& kind, const std::string& sync, uint64_t bytes, int ranks) {
  Cell cell;
  cell.kind = *cell_kind_from(kind);
  cell.op = "allreduce";
  cell.algorithm = "ring";
  cell.sync = sync;
  cell.cache = "hot";
  cell.ranks = ranks;
  cell.bytes = bytes;
  cell.count = bytes / 4;
  return cell;
}

MeasureSettings few() {
  MeasureSettings settings;
  settings.fixed_iterations = 8;
  settings.fixed_warmup = 1;
  settings.throughput_time_ns = 20'000'000;
  return settings;
}

using Measure = Expected<Measurement> (*)(const Cell&, const MeasureSettings&,
                                          const MeasureContext&);

std::vector<Measurement> measured_apart(const Cell& cell, Measure run = measure,
                                        const MeasureSettings& settings = few()) {
  World world =
      make_memory_groups(cell.ranks, channel_options_for(kWireShapes[0]), {0, true}, 1 << 18);
  const OptionSet options;
  return measured_by_ranks(world, cell, settings, options, run);
}

void expect_whole(const TimeSplit& split, const std::string& name) {
  EXPECT_GT(split.operations, 0u) << name;
  EXPECT_GT(split.total, 0) << name;
  for (const double part : {split.queue, split.sync, split.network, split.reduce}) {
    EXPECT_GE(part, 0) << name;
  }
  EXPECT_NEAR(split.queue + split.sync + split.network + split.reduce, split.total,
              1e-6 * split.total)
      << name;
}

TEST(TimeSplits, PartsAddUpOnEveryRank) {
  for (const char* sync : {"barrier", "none", "window"}) {
    for (const uint64_t bytes : {uint64_t{8}, uint64_t{1} << 20}) {
      for (const int ranks : {2, 3}) {
        const std::string name = std::string(sync) + " " + std::to_string(bytes);
        for (const Measurement& m : measured_apart(split_cell("bandwidth", sync, bytes, ranks))) {
          if (std::string(sync) == "window" && m.iterations == 0) {
            EXPECT_FALSE(m.per_rank.front().split) << "on a busy machine all began late";
            continue;
          }
          ASSERT_TRUE(m.per_rank.front().split) << name;
          const TimeSplit& split = *m.per_rank.front().split;
          expect_whole(split, name);
          EXPECT_EQ(split.queue, 0) << name << ": there is one at a time";
          EXPECT_GT(split.reduce, 0) << name;
          // What is taken apart is verified like the rest: all where operations start together.
          EXPECT_EQ(m.verified, std::string(sync) != "none") << name;
          EXPECT_EQ(m.wrong, 0u) << name;
        }
      }
    }
  }
}

// Of four in flight, an operation waits for three older ones most of its time.
TEST(TimeSplits, SeveralInFlightQueue) {
  Cell cell = split_cell("throughput", "barrier", 1 << 16, 2);
  cell.outstanding = 4;
  for (const Measurement& m : measured_apart(cell)) {
    ASSERT_TRUE(m.per_rank.front().split);
    const TimeSplit& split = *m.per_rank.front().split;
    expect_whole(split, "throughput");
    EXPECT_GT(split.queue, 0);
  }
}

// A list is one operation: its parts do not queue behind one another, and what is packed is work.
TEST(TimeSplits, ListsAreTakenApartAsAWhole) {
  for (const int arrays : {8, 64}) {  // of 128 KiB, which lie alone, and of 16 KiB
    for (const int outstanding : {1, 3}) {
      const std::string name = std::to_string(arrays) + " x " + std::to_string(outstanding);
      Cell cell = split_cell(outstanding == 1 ? "bandwidth" : "throughput", "none", 1 << 20, 2);
      cell.arrays = arrays;
      cell.outstanding = outstanding;
      for (const Measurement& m : measured_apart(cell)) {
        ASSERT_TRUE(m.per_rank.front().split) << name;
        const TimeSplit& split = *m.per_rank.front().split;
        expect_whole(split, name);
        EXPECT_EQ(split.queue > 0, outstanding > 1) << name;
        EXPECT_GT(split.reduce, 0) << name;
        EXPECT_EQ(m.wrong, 0u) << name;
      }
    }
  }
}

// A rank whose peer begins late waits for a message of which nothing has come.
TEST(TimeSplits, ALatePeerIsSync) {
  constexpr int64_t kLateNs = 20'000'000;
  World world = make_memory_groups(2, channel_options_for(kWireShapes[0]), {0, true}, 1 << 18);
  TimeParts parts;
  on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    OperationSpec spec;
    spec.count = 1000;
    spec.algorithm = "ring";
    auto prepared = executor.prepare(spec);
    if (!prepared) return prepared.error().message();
    std::vector<float> in(spec.count, 1), out(spec.count);
    if (rank == 0) {
      Executor::time_parts(**prepared, &parts);
    } else {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kLateNs));
    }
    const Status done = executor.run(**prepared, in.data(), out.data(), Deadline::after_ms(20'000));
    Executor::time_parts(**prepared, nullptr);
    return done ? "" : done.error().message();
  });
  EXPECT_EQ(parts.operations, 1u);
  EXPECT_GT(parts.waits[static_cast<size_t>(Stall::kPeerLate)], kLateNs / 2);
  EXPECT_LE(parts.waits[static_cast<size_t>(Stall::kPeerLate)], parts.total_ns);
}

TEST(RankCounts, BytesReceivedAreThoseSentByTheOthers) {
  const std::vector<Measurement> all = measured_apart(split_cell("bandwidth", "none", 1 << 16, 2));
  uint64_t sent = 0, received = 0;
  for (const Measurement& m : all) {
    const PerRank& rank = m.per_rank.front();
    ASSERT_TRUE(rank.counters);
    sent += rank.wire_bytes;
    received += rank.counters->received_bytes;
    // Memory: no system calls, and a ring's bytes are reduced where they lie or copied.
    EXPECT_EQ(rank.counters->write_calls + rank.counters->read_calls, 0u);
    EXPECT_GT(rank.counters->in_place_bytes, 0u);
    EXPECT_LT(rank.counters->in_place_bytes, rank.counters->received_bytes);
    EXPECT_EQ(rank.send_buffer_bytes, uint64_t{1} << 18);
  }
  EXPECT_GT(received, 0u);
  // The ends of the timed part lie a barrier's message apart.
  EXPECT_NEAR(static_cast<double>(received), static_cast<double>(sent), 4096);
}

TEST(OperationCosts, AreThoseOfTheBusiestRank) {
  struct Case {
    const char *op, *algorithm;
    int ranks;
    uint64_t bytes;
    OperationCost cost;
  };
  constexpr double kMi = 1 << 20;
  for (const Case& c : {Case{"allreduce", "ring", 4, 1 << 20, {6, 1.5 * kMi, 0.75 * kMi, 0}},
                        Case{"broadcast", "binomial", 8, 1 << 20, {3, 3 * kMi, 0, kMi}},
                        Case{"pingpong", "direct", 2, 64, {2, 64, 0, 0}},
                        Case{"gather", "direct", 4, 1 << 20, {1, 0.75 * kMi, 0, 0.25 * kMi}}}) {
    Cell cell = split_cell("bandwidth", "none", c.bytes, c.ranks);
    cell.op = c.op;
    cell.algorithm = c.algorithm;
    cell.placement = "out";
    const auto cost = operation_cost_of(cell, OptionSet());
    ASSERT_TRUE(cost) << c.op;
    EXPECT_EQ(cost->depth, c.cost.depth) << c.op;
    EXPECT_EQ(cost->wire_bytes, c.cost.wire_bytes) << c.op;
    EXPECT_EQ(cost->reduce_bytes, c.cost.reduce_bytes) << c.op;
    EXPECT_EQ(cost->copy_bytes, c.cost.copy_bytes) << c.op;
    const auto record = measured_apart(cell);
    EXPECT_EQ(cost_in(record[0])->wire_bytes, c.cost.wire_bytes) << c.op;
  }
  Cell cell = split_cell("bandwidth", "none", 0, 4);
  EXPECT_FALSE(operation_cost_of(cell, OptionSet())) << "no data";
  cell = split_cell("bandwidth", "none", 64, 1);
  EXPECT_FALSE(operation_cost_of(cell, OptionSet())) << "nobody to send to";
  cell = split_cell("bandwidth", "none", 64, 4);
  cell.engine = "other";
  EXPECT_FALSE(operation_cost_of(cell, OptionSet())) << "nobody knows its schedule";
}

Cell roof_cell(const std::string& op, uint64_t bytes, const std::string& cache) {
  Cell cell;
  cell.kind = CellKind::kRoof;
  cell.op = op;
  cell.ranks = 2;
  cell.bytes = bytes;
  cell.cache = cache;
  return cell;
}

TEST(ArrayRoofs, AreMeasuredColdAndHotOfOddSizesToo) {
  MeasureSettings settings;
  settings.stop.max_time_ns = 5'000'000;
  test::RowShare share;
  for (const char* op : {"array_stream", "array_duplex", "memcpy", "reduce_kernel"}) {
    for (const char* cache : {"cold", "hot"}) {
      for (const uint64_t bytes : {uint64_t{8}, uint64_t{70'001} * 4, uint64_t{3} << 20}) {
        if (!share.runs(op)) continue;
        const Cell cell = roof_cell(op, bytes, cache);
        for (const Measurement& m : measured_apart(cell, measure_roof, settings)) {
          EXPECT_GT(m.iterations, 0u) << op << " " << cache << " " << bytes;
          EXPECT_GE(m.hist.min(), 0) << op;
        }
      }
    }
  }
}

TEST(ArrayRoofs, ColdOnesNeedTheMemoryOfAllTheirArrays) {
  const OptionSet options;
  const uint64_t bytes = 1 << 20;
  const uint64_t hot = *memory_of_roof(roof_cell("array_duplex", bytes, "hot"), false, options);
  const uint64_t cold = *memory_of_roof(roof_cell("array_duplex", bytes, "cold"), false, options);
  EXPECT_EQ(cold - hot, 2 * 63 * bytes);
}

TEST(ArrayRoofs, AReductionThatIsNoneIsAnError) {
  Cell cell = roof_cell("reduce_kernel", 4096, "hot");
  cell.redop = "none";
  World world = make_memory_groups(1, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16);
  const OptionSet options;
  Executor executor(*world[0], test_kernels());
  MeasureContext context;
  context.group = world[0].get();
  context.executor = &executor;
  context.kernels = &test_kernels();
  context.options = &options;
  EXPECT_FALSE(measure_roof(cell, {}, context));
  cell.op = "no_roof";
  EXPECT_FALSE(measure_roof(cell, {}, context));
}

}  // namespace
}  // namespace plumbline
