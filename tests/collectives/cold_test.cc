// The first operations behind idle time, timed apart from those that follow.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "collectives/measure.h"
#include "tests/support/collective_case.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

constexpr int kCold = 5;

Cell cold_cell(const std::string& kind) {
  Cell cell;
  cell.kind = *cell_kind_from(kind);
  cell.op = "allreduce";
  cell.ranks = 2;
  cell.bytes = 4096;
  cell.count = 1024;
  return cell;
}

// Measures on two ranks; the second begins `late` later.
std::vector<Measurement> measure_cold(const Cell& cell, int cold, std::chrono::milliseconds late) {
  World world = make_memory_groups(2, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16);
  std::vector<Measurement> of_rank(2);
  const OptionSet options;
  MeasureSettings settings;
  settings.stop.max_n = 50;
  settings.throughput_time_ns = 20'000'000;
  settings.cold_operations = cold;
  const std::string error =
      first_of(on_every_rank(world, [&](int rank, Group& group) -> std::string {
        Executor executor(group, test_kernels());
        MeasureContext context;
        context.group = &group;
        context.executor = &executor;
        context.kernels = &test_kernels();
        context.options = &options;
        const auto engine = native_engine(context);
        context.engine = engine.get();
        if (rank == 1) std::this_thread::sleep_for(late);
        Expected<Measurement> measured = measure(cell, settings, context);
        if (!measured) return measured.error().message();
        of_rank[static_cast<size_t>(rank)] = std::move(*measured);
        return {};
      }));
  EXPECT_EQ(error, "");
  return of_rank;
}

TEST(ColdOperations, AreTimedApartAndAreNoSamples) {
  for (const char* kind : {"latency", "throughput"}) {
    const std::vector<Measurement> of_rank =
        measure_cold(cold_cell(kind), kCold, std::chrono::milliseconds(0));
    const Measurement& first = of_rank[0];
    EXPECT_EQ(first.outcome, Outcome::kPassed) << kind;
    // Of a throughput only a random share is verified.
    EXPECT_EQ(first.verified, std::string(kind) == "latency") << kind;
    EXPECT_EQ(first.wrong, 0u) << kind;
    EXPECT_EQ(first.hist.n(), first.iterations);
    for (int number = 1; number <= kCold; ++number) {
      EXPECT_GT(first.extra.at(cold_op_key(number)), 0) << kind << " " << number;
    }
    EXPECT_EQ(first.extra.count(cold_op_key(kCold + 1)), 0u);
    EXPECT_GT(first.extra.at(kColdMeeting), 0);
    EXPECT_GT(first.extra.at(kWarmMeeting), 0);
    // The slowest rank's, the same everywhere.
    EXPECT_EQ(known_to_all(of_rank[1]), known_to_all(first));
    EXPECT_LE(static_cast<double>(first.first_op_ns), first.extra.at(cold_op_key(1)));
  }
}

// Ranks are told to begin at slightly different moments, over ssh by milliseconds.
TEST(ColdOperations, ARankThatBeginsLateDoesNotMakeTheMeetingLong) {
  const auto late = std::chrono::milliseconds(1500);  // far above what a busy machine adds
  const Measurement m = measure_cold(cold_cell("latency"), kCold, late)[0];
  EXPECT_LT(m.extra.at(kColdMeeting), 0.5 * 1500e6);
  EXPECT_LT(m.extra.at(cold_op_key(1)), 0.5 * 1500e6);
}

TEST(ColdOperations, OnlyWhereTheyAreAskedFor) {
  const Measurement m = measure_cold(cold_cell("latency"), 0, std::chrono::milliseconds(0))[0];
  EXPECT_EQ(m.extra.count(kColdMeeting) + m.extra.count(kWarmMeeting), 0u);
  EXPECT_EQ(m.extra.count(cold_op_key(1)), 0u);
}

}  // namespace
}  // namespace plumbline
