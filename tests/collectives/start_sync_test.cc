// How operations start together: windows on a clock that the test turns, and whole measurements of
// ranks whose clocks differ.
#include "collectives/start_sync.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>

#include "collectives/measure.h"
#include "tests/support/collective_case.h"
#include "tests/support/row_share.h"
#include "tests/support/sanitized.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

constexpr int64_t kStartTimeoutMs = 10'000;

World starting_world(int ranks) {
  return make_memory_groups(ranks, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16);
}

// One rank, whose clock moves by 10 ns with every look, and leaps when told to.
struct Alone {
  int64_t now = 5 * kSecond;
  int leap_in = -1;  // looks from now
  int64_t leap_ns = 0;
  World world = starting_world(1);
  Executor executor{*world[0], test_kernels()};
  Exchange exchange{executor, kStartTimeoutMs};
  ClockSync clocks{*world[0], [this] {
                     if (leap_in-- == 0) now += leap_ns;
                     return now += 10;
                   }};
  std::unique_ptr<StartSync> start =
      make_start_sync("window", *world[0], exchange, clocks, kStartTimeoutMs);

  int64_t operation(int64_t takes_ns) {
    EXPECT_TRUE(start->begin());
    now += takes_ns;
    return start->end();
  }
};

TEST(StartSync, UnknownWordsAreNone) {
  Alone alone;
  for (const char* word : {"", "windows", "Barrier"}) {
    EXPECT_EQ(make_start_sync(word, *alone.world[0], alone.exchange, alone.clocks, 1), nullptr);
  }
  for (const auto& [word, apart] :
       std::map<const char*, bool>{{"none", false}, {"barrier", true}, {"window", true}}) {
    const auto sync = make_start_sync(word, *alone.world[0], alone.exchange, alone.clocks, 1);
    ASSERT_NE(sync, nullptr);
    EXPECT_EQ(sync->apart(), apart) << word;
  }
}

TEST(StartSync, AWindowsTimeRunsFromTheCommonStartToTheExit) {
  Alone alone;
  ASSERT_TRUE(alone.start->before_block());
  for (const int64_t takes : {1'000, 50'000, 2'000'000}) {
    // A few looks of 10 ns between the start and the operation.
    EXPECT_NEAR(static_cast<double>(alone.operation(takes)), static_cast<double>(takes), 60);
  }
}

TEST(StartSync, LateStartsAreDroppedFromTheSamplesAndCounted) {
  Alone alone;
  ASSERT_TRUE(alone.start->before_block());
  std::vector<int64_t> slowest;
  for (int i = 0; i < 7; ++i) {
    if (i == 2) alone.leap_in = 2;   // before the first look: it came too late
    if (i == 5) alone.leap_in = 20;  // in the middle of the wait: its core was taken away
    alone.leap_ns = 10 * kMillisecond;
    slowest.push_back(alone.operation(1000 * (i + 1)));
  }
  std::vector<int64_t> own = slowest;
  alone.start->mark_late(slowest);
  alone.start->drop_late(slowest, own);
  ASSERT_EQ(slowest.size(), 5u);
  EXPECT_EQ(slowest, own);
  const std::vector<double> expected = {1000, 2000, 4000, 5000, 7000};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(slowest[i]), expected[i], 60) << i;
  }
  Measurement result;
  ASSERT_TRUE(alone.start->describe(result));
  EXPECT_EQ(result.extra.at(kLateSamples), 2);
  EXPECT_EQ(result.extra.at(kClockError), 0);  // rank 0 is the reference itself
  EXPECT_EQ(result.extra.at(kClockBreaks), 0);
}

TEST(StartSync, AStartThatIsTooFarAwayIsNotWaitedFor) {
  for (const int looks : {1, 20}) {  // after the announcement; in the middle of the wait
    Alone alone;
    ASSERT_TRUE(alone.start->before_block());
    alone.leap_in = looks;
    alone.leap_ns = -3600 * kSecond;
    EXPECT_TRUE(alone.start->begin());
    EXPECT_LT(alone.now, -3000 * kSecond);
  }
}

TEST(StartSync, TheWindowWidensWhenMostAreLateButNotWithoutEnd) {
  Alone alone;
  ASSERT_TRUE(alone.start->before_block());
  double before = 0;
  std::vector<double> widths;
  for (int block = 0; block < 8; ++block) {
    for (int i = 0; i < 3; ++i) {
      alone.leap_in = block == 0 && i > 0 ? -1 : 3;  // one of three late in the first block
      alone.leap_ns = kSecond;
      alone.operation(1000);
    }
    ASSERT_TRUE(alone.start->before_block());
    Measurement result;
    ASSERT_TRUE(alone.start->describe(result));
    widths.push_back(result.extra.at(kWindow));
    before = widths.front();
  }
  EXPECT_EQ(widths[0], before);
  EXPECT_EQ(widths[1], 2 * before);
  EXPECT_EQ(widths[2], 4 * before);
  EXPECT_EQ(widths[7], 16 * before);
}

// Clocks of ranks in one process, apart by known offsets.
struct Clocks {
  static int64_t offset(int rank) { return rank * 1000 * kSecond - (rank == 2 ? 7777 : 0); }
};

Cell window_cell(int ranks) {
  Cell cell;
  cell.kind = CellKind::kLatency;
  cell.op = "allreduce";
  cell.ranks = ranks;
  cell.bytes = 4096;
  cell.count = 1024;
  cell.sync = "window";
  return cell;
}

struct WindowRun {
  std::vector<Measurement> of_rank;
  std::string error;
};

WindowRun measure_window(const Cell& cell, const MeasureSettings& settings,
                         const std::function<int64_t(int rank)>& clock) {
  World world = starting_world(cell.ranks);
  WindowRun run;
  run.of_rank.resize(world.size());
  const OptionSet options;
  run.error = first_of(on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    ClockSync clocks(group, [&clock, rank] { return clock(rank); });
    MeasureContext context;
    context.group = &group;
    context.executor = &executor;
    context.kernels = &test_kernels();
    context.options = &options;
    const auto engine = native_engine(context);
    context.engine = engine.get();
    context.clocks = &clocks;
    Expected<Measurement> measured = measure(cell, settings, context);
    if (!measured) return measured.error().message();
    run.of_rank[static_cast<size_t>(rank)] = std::move(*measured);
    return {};
  }));
  return run;
}

TEST(WindowTiming, RanksWithFarClocksAgreeOnTimesAndStateTheirError) {
  MeasureSettings settings;
  // A few samples suffice; on a crowded machine most come late, and need the time.
  settings.stop.min_n = 1;
  settings.stop.max_n = 20;
  settings.stop.max_time_ns = 20 * kSecond;
  const WindowRun run = measure_window(window_cell(3), settings, [](int rank) {
    const int64_t now = monotonic_ns() + Clocks::offset(rank);
    return rank == 1 ? now + now / 20'000 : now;  // 50 ppm
  });
  ASSERT_EQ(run.error, "");
  const Measurement& first = run.of_rank[0];
  EXPECT_EQ(first.outcome, Outcome::kPassed);
  EXPECT_TRUE(first.verified);
  ASSERT_GT(first.hist.n(), 0u);
  EXPECT_EQ(first.hist.n(), first.iterations);
  EXPECT_GT(first.hist.min(), 0);
  EXPECT_LT(first.hist.min(), kSecond);  // and not a thousand of them
  EXPECT_EQ(first.extra.at(kClockBreaks), 0);
  EXPECT_GT(first.extra.at(kWindow), 0);
  for (const Measurement& each : run.of_rank) {
    EXPECT_EQ(each.samples_ns, first.samples_ns);
    EXPECT_EQ(each.extra.at(kLateSamples), first.extra.at(kLateSamples));
    EXPECT_LE(*each.per_rank[0].clock_error_ns, 10e6);
  }
  EXPECT_EQ(first.per_rank[0].clock_offset_ns, 0.0);
  const PerRank& third = run.of_rank[2].per_rank[0];
  EXPECT_LE(std::abs(*third.clock_offset_ns + static_cast<double>(Clocks::offset(2))),
            *third.clock_error_ns);
}

TEST(WindowTiming, ARankThatIsAlwaysLateLeavesNoSamples) {
  std::atomic<int> looks = 0;
  MeasureSettings settings;
  settings.fixed_iterations = 2;
  settings.fixed_warmup = 0;
  const WindowRun run = measure_window(window_cell(2), settings, [&looks](int rank) {
    // Healthy while clocks are compared and announcements timed; then every look takes 60 ms.
    if (rank == 1 && ++looks > 4 * 24 + 1 + 9 * 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    return monotonic_ns();
  });
  ASSERT_EQ(run.error, "");
  const Measurement& first = run.of_rank[0];
  EXPECT_EQ(first.hist.n(), 0u);
  EXPECT_EQ(first.extra.at(kLateSamples), 6);  // three times as many as asked for, then it gives up
  EXPECT_EQ(first.stop_reason, "count");
}

TEST(WindowTiming, AJumpingClockIsCounted) {
  const int64_t began = monotonic_ns();
  std::atomic<int64_t> jump = 0;
  std::atomic<int> looks = 0;
  MeasureSettings settings;
  settings.fixed_iterations = 20;
  settings.fixed_warmup = 0;
  const WindowRun run = measure_window(window_cell(2), settings, [&](int rank) {
    // An hour, which nobody must wait for.
    if (rank == 1 && ++looks == 4 * 24 + 9 * 2 + 40) jump = -3600 * kSecond;
    return monotonic_ns() + (rank == 1 ? jump.load() : 0);
  });
  ASSERT_EQ(run.error, "");
  EXPECT_GE(run.of_rank[0].extra.at(kClockBreaks), 1);
  EXPECT_GT(run.of_rank[0].extra.at(kLateSamples), 0);
  EXPECT_LT(monotonic_ns() - began, 1800 * kSecond) << "half of what it jumped";
}

// It jumped between the look that found the start credible and the first one of the wait, which
// then lasted an hour. So: at every look of some operations.
TEST(WindowTiming, AClockThatJumpsAtAnyLookIsNotWaitedFor) {
  // A waiting rank looks often: these are those of the first operations. How many more there are
  // depends on how crowded the machine is.
  constexpr int kLooks = test::kSanitized ? 40 : 100;
  const int64_t began = monotonic_ns();
  size_t breaks = 0;
  test::RowShare share;
  for (int when = 0; when < kLooks; ++when) {
    if (!share.runs()) continue;
    std::atomic<int64_t> jump = 0;
    std::atomic<int> looks = 0;
    MeasureSettings settings;
    settings.fixed_iterations = 10;
    settings.fixed_warmup = 0;
    const WindowRun run = measure_window(window_cell(2), settings, [&](int rank) {
      if (rank == 1 && ++looks == 4 * 24 + 9 * 2 + 20 + when) jump = -3600 * kSecond;
      return monotonic_ns() + (rank == 1 ? jump.load() : 0);
    });
    ASSERT_EQ(run.error, "") << when;
    breaks += run.of_rank[0].extra.at(kClockBreaks) >= 1 ? 1 : 0;
  }
  EXPECT_GE(breaks, share.run() / 4);
  EXPECT_LT(monotonic_ns() - began, 1800 * kSecond) << "half of what it jumped";
}

TEST(WindowTiming, AnUnknownSyncIsRefused) {
  Cell cell = window_cell(1);
  cell.sync = "luck";
  EXPECT_NE(measure_window(cell, {}, [](int) { return monotonic_ns(); }).error.find("unknown sync"),
            std::string::npos);
}

}  // namespace
}  // namespace plumbline
