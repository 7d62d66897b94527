// Two sides of synthetic launches: verdicts, families, what is left out, and hostile names.
#include "reports/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "tests/reports/compare_launches.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using samples::add_sides;
using samples::compared;
using samples::launch;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(Compare, TellsSlowerFasterAndTheSame) {
  const Comparison slower = compared(8, 1.10);
  ASSERT_THAT(slower.rows, SizeIs(1));
  EXPECT_EQ(slower.rows[0].change, Change::kRegress);
  EXPECT_NEAR(slower.rows[0].shift->ratio, 1.10, 0.01);
  EXPECT_EQ(slower.verdict(), Change::kRegress);
  EXPECT_EQ(compared(8, 0.90).rows[0].change, Change::kImprove);
  EXPECT_EQ(compared(8, 1.0).rows[0].change, Change::kSame);
  // Significant, and too small to matter.
  const Comparison little = compared(12, 1.01);
  EXPECT_LE(little.rows[0].p_corrected, 0.05);
  EXPECT_EQ(little.rows[0].change, Change::kSame);
}

TEST(Compare, FewLaunchesAreInconclusiveNotSame) {
  for (const int n : {1, 2, 3}) {
    const Comparison few = compared(n, 1.5);
    EXPECT_EQ(few.rows[0].change, Change::kInconclusive) << n;
    EXPECT_THAT(few.rows[0].why, HasSubstr("cannot tell"));
  }
  EXPECT_EQ(compared(4, 1.5).rows[0].change, Change::kRegress);
}

TEST(Compare, ANoisySideRaisesWhatCountsAsAChange) {
  CompareCollector collector({});
  add_sides(collector, 12, 1.04, "allreduce", 1024, 0.05);
  const Comparison comparison = collector.finish();
  EXPECT_GT(comparison.rows[0].threshold, 0.02);
  EXPECT_NE(comparison.rows[0].change, Change::kRegress);
  EXPECT_NE(comparison.rows[0].change, Change::kSame);
}

// Two sides that differ by up to a third must not be called the same, however noisy they are.
TEST(Compare, NoiseIsNoLicenceToCallThemTheSame) {
  CompareCollector collector({});
  add_sides(collector, 10, 1.0, "allreduce", 1024, 0.3);
  EXPECT_EQ(collector.finish().rows[0].change, Change::kInconclusive);
}

TEST(Compare, AllCellsTogetherAreOneQuestion) {
  // 5 launches reach p = 2/252 at best: enough for one cell, for seven it is not.
  CompareCollector many({});
  for (uint64_t bytes = 8; bytes < 8 << 7; bytes *= 2) add_sides(many, 5, 1.5, "allreduce", bytes);
  const Comparison comparison = many.finish();
  ASSERT_THAT(comparison.rows, SizeIs(7));
  EXPECT_EQ(comparison.count(Change::kInconclusive), 7u);
  EXPECT_EQ(comparison.launches_needed(), 6u);
  EXPECT_THAT(comparison.rows[0].why, HasSubstr("6 could"));
}

TEST(Compare, WithoutAChangeAlarmsStayBelowAlpha) {
  if (test::kSanitized) GTEST_SKIP() << test::kStatistics;
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> noise(0, 0.02);
  int alarms = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    CompareCollector collector({});
    for (int i = 1; i <= 8; ++i) {
      for (const uint64_t bytes : {8, 64, 512, 4096}) {
        collector.take(0, launch("ra", i, 10'000 * noise(random), "allreduce", bytes));
        collector.take(1, launch("rb", i, 10'000 * noise(random), "allreduce", bytes));
      }
    }
    const Comparison comparison = collector.finish();
    alarms += comparison.count(Change::kRegress) + comparison.count(Change::kImprove) > 0 ? 1 : 0;
  }
  EXPECT_LE(alarms, 15);  // binomial: 200 at 5 %, upper 5 % point
}

TEST(Compare, LaunchesAreWhatCountsNotRecords) {
  // The same launch with four repetitions is one value: the median of theirs.
  CompareCollector collector({});
  for (int i = 1; i <= 6; ++i) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      for (size_t side = 0; side < 2; ++side) {
        Record record = launch(side == 0 ? "ra" : "rb", i, 50'000 + 100.0 * repeat);
        record.cell.repeat = repeat;
        collector.take(side, record);
      }
    }
  }
  const Comparison comparison = collector.finish();
  ASSERT_THAT(comparison.rows, SizeIs(1));
  EXPECT_THAT(comparison.rows[0].a.launches, SizeIs(6));
  EXPECT_EQ(comparison.rows[0].a.records, 24u);
}

// Launches of one run of --interleave: the same run id and numbers on both sides.
TEST(Compare, TurnsArePairsAndSeeThroughADrift) {
  CompareCollector turns({}), apart({});
  for (int i = 1; i <= 10; ++i) {
    const double level = 50'000 * (1 + 0.1 * i);
    turns.take(0, launch("r", i, level));
    turns.take(1, launch("r", i, level * 1.05));
    apart.take(0, launch("ra", i, level));
    apart.take(1, launch("rb", i, level * 1.05));
  }
  turns.take(0, launch("r", 11, 90'000));  // its partner failed
  const Comparison paired = turns.finish();
  EXPECT_TRUE(paired.rows[0].paired);
  EXPECT_THAT(paired.rows[0].a.launches, SizeIs(10));
  EXPECT_EQ(paired.rows[0].change, Change::kRegress);
  EXPECT_FALSE(apart.finish().rows[0].paired);
  EXPECT_EQ(apart.finish().rows[0].change, Change::kInconclusive);
}

TEST(Compare, PairsNeedMoreLaunchesForManyCells) {
  CompareCollector collector({});
  for (int i = 1; i <= 6; ++i) {
    for (const uint64_t bytes : {8, 64}) {
      collector.take(0, launch("r", i, 50'000, "allreduce", bytes));
      collector.take(1, launch("r", i, 90'000, "allreduce", bytes));
    }
  }
  const Comparison comparison = collector.finish();  // 2 / 2^6 for each of two cells is too much
  EXPECT_EQ(comparison.rows[0].change, Change::kInconclusive);
  EXPECT_EQ(comparison.launches_needed(), 7u);
}

TEST(Compare, RunsWithoutALaunchMarkAreALaunchEach) {
  CompareCollector collector({});
  for (int run = 0; run < 5; ++run) {
    for (size_t side = 0; side < 2; ++side) {
      Record record = launch(std::to_string(side) + std::to_string(run), 1, 50'000 + 10.0 * run);
      record.launch.reset();
      collector.take(side, record);
    }
  }
  EXPECT_THAT(collector.finish().rows[0].b.launches, SizeIs(5));
}

TEST(Compare, BrokenCellsAreNamed) {
  CompareCollector collector({});
  add_sides(collector, 5, 1);
  Record error = launch("rb", 1, 1, "broadcast");
  error.measurement = {};
  error.measurement.outcome = Outcome::kError;
  error.measurement.reason = "rank 1 was lost";
  collector.take(0, launch("ra", 1, 9000, "broadcast"));
  collector.take(1, error);
  const Comparison comparison = collector.finish();
  EXPECT_EQ(comparison.rows[1].change, Change::kBroken);
  EXPECT_THAT(comparison.rows[1].why, HasSubstr("rank 1 was lost"));
  EXPECT_EQ(comparison.verdict(), Change::kBroken);
  EXPECT_FALSE(comparison.wrong_data());
}

TEST(Compare, WrongDataIsNeverAComparison) {
  CompareCollector collector({});
  add_sides(collector, 5, 0.5);  // much faster, because it is wrong
  Record wrong = launch("rb", 6, 20'000);
  wrong.measurement.wrong = 3;
  wrong.noise = {"invalid", {"wrong data"}};
  collector.take(1, wrong);
  const Comparison comparison = collector.finish();
  EXPECT_TRUE(comparison.wrong_data());
  EXPECT_EQ(comparison.rows[0].change, Change::kBroken);
}

TEST(Compare, ChecksCompareTheirOutcomes) {
  CompareCollector collector({});
  Record check = launch("ra", 1, 1000);
  check.cell.kind = CellKind::kCheck;
  collector.take(0, check);
  check.run_id = "rb";
  collector.take(1, check);
  EXPECT_EQ(collector.finish().rows[0].change, Change::kSame);
}

TEST(Compare, CellsOfOneSideOnlyAreUndecided) {
  CompareCollector collector({});
  add_sides(collector, 5, 1);
  collector.take(1, launch("rb", 1, 9000, "broadcast"));
  const Comparison comparison = collector.finish();
  EXPECT_EQ(comparison.rows[1].change, Change::kInconclusive);
  EXPECT_THAT(comparison.rows[1].why, HasSubstr("b only"));
}

std::string shown(const Comparison& comparison) {
  std::ostringstream out;
  render_text(compare_document(comparison), 0, false, out);
  return out.str();
}

// Three launches a side were "nothing got slower as far as these launches can tell".
TEST(Compare, WhereNothingIsDecidedTheFirstLineSaysSo) {
  const Comparison few = compared(3, 1.5);
  EXPECT_TRUE(few.undecided());
  const std::string text = shown(few);
  EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr("undecided"));
  EXPECT_THAT(text, Not(HasSubstr("nothing got slower")));
  EXPECT_THAT(text,
              HasSubstr("with 3 launches a side; 4 is the least that could find a difference"));
  // One decided row, and it is an answer.
  CompareCollector collector({});
  add_sides(collector, 8, 1);
  collector.take(1, launch("rb", 1, 9000, "broadcast"));
  const Comparison some = collector.finish();
  EXPECT_FALSE(some.undecided());
  EXPECT_THAT(shown(some).substr(0, 30), Not(HasSubstr("undecided")));
  EXPECT_FALSE(compared(8, 1.1).undecided());
}

TEST(Compare, LaunchesNeededAreTheFewestWhoseTestCanDecide) {
  for (const size_t cells : {1, 2, 25, 100}) {
    for (const double alpha : {0.05, 0.001}) {
      const size_t needed = launches_needed(cells, true, alpha);
      EXPECT_LE(smallest_p_of_pairs(needed) * static_cast<double>(cells), alpha);
      EXPECT_GT(smallest_p_of_pairs(needed - 1) * static_cast<double>(cells), alpha);
    }
  }
  EXPECT_EQ(launches_needed(1, true, 0.05), 6u);
  EXPECT_EQ(launches_needed(100, true, 0.05), 12u);
}

TEST(Compare, RoofsAreToldAndNotJudged) {
  CompareCollector collector({});
  for (int i = 1; i <= 6; ++i) {
    for (size_t side = 0; side < 2; ++side) {
      Record roof =
          launch(side == 0 ? "ra" : "rb", i, side == 0 ? 5000 + i : 9000 + i, "raw_pingpong", 8);
      roof.cell.kind = CellKind::kRoof;
      collector.take(side, roof);
    }
  }
  const Comparison comparison = collector.finish();
  ASSERT_THAT(comparison.rows, SizeIs(1));
  EXPECT_FALSE(comparison.rows[0].judged);
  EXPECT_EQ(comparison.rows[0].change, Change::kRegress);
  EXPECT_EQ(comparison.count(Change::kRegress), 0u);
  EXPECT_EQ(comparison.verdict(), Change::kSame);
}

TEST(Compare, RatesThatFallAreTimesThatGrow) {
  CompareCollector collector({});
  for (int i = 1; i <= 6; ++i) {
    for (size_t side = 0; side < 2; ++side) {
      Record record =
          samples::throughput("allreduce", "ring", 2, 1024, 4, (side == 0 ? 1000 : 800) + i);
      record.run_id = side == 0 ? "ra" : "rb";
      record.launch = LaunchMark{i, 1, ""};
      collector.take(side, record);
    }
  }
  const Comparison comparison = collector.finish();
  EXPECT_EQ(comparison.rows[0].unit, CompareUnit::kOperations);
  EXPECT_EQ(comparison.rows[0].change, Change::kRegress);
  EXPECT_NEAR(comparison.rows[0].shift->ratio, 1.25, 0.01);
}

TEST(Compare, LinksAreComparedDirectionByDirection) {
  CompareCollector collector({});
  for (int i = 1; i <= 6; ++i) {
    for (size_t side = 0; side < 2; ++side) {
      Record record = launch(side == 0 ? "ra" : "rb", i, 1, "link");
      record.cell.kind = CellKind::kLink;
      record.cell.measure = "tcp_stream";
      record.measurement.hist = {};
      record.measurement.samples_ns.clear();
      LinkResult there, back;
      there.to = back.from = 1;
      there.rate_Bps = side == 0 ? 1e9 + i : 5e8 + i;
      back.rate_Bps = 1e9 + i;
      record.measurement.links = {there, back};
      recompute(record);
      collector.take(side, record);
    }
  }
  const Comparison comparison = collector.finish();
  ASSERT_THAT(comparison.rows, SizeIs(2));
  EXPECT_EQ(comparison.rows[0].part, "rank 0 > 1 rate");
  EXPECT_EQ(comparison.rows[0].change, Change::kRegress);
  EXPECT_EQ(comparison.rows[1].change, Change::kSame);
}

TEST(Compare, IgnoredFieldsMayDiffer) {
  CompareCollector collector({0.02, 0.05, {"algorithm"}});
  for (int i = 1; i <= 6; ++i) {
    collector.take(0, launch("ra", i, 50'000 + i));
    Record other = launch("rb", i, 70'000 + i);
    other.cell.algorithm = "direct";
    collector.take(1, other);
  }
  const Comparison comparison = collector.finish();
  ASSERT_THAT(comparison.rows, SizeIs(1));
  EXPECT_EQ(comparison.rows[0].change, Change::kRegress);
  EXPECT_EQ(suspects(comparison, 0), std::set<std::string>{comparison.rows[0].id_a});
  EXPECT_NE(suspects(comparison, 0), suspects(comparison, 1));
  EXPECT_EQ(comparison.rows[0].cell.algorithm, "any");
}

// A suspect that is measured again is judged by the second series alone.
TEST(Compare, TheSecondSeriesDecides) {
  CompareCollector collector({});
  add_sides(collector, 8, 1.10);
  for (int i = 1; i <= 8; ++i) {
    for (size_t side = 0; side < 2; ++side) {
      Record again = launch(side == 0 ? "ra" : "rb", i, 50'000 + 10.0 * i);
      again.launch->series = 2;
      collector.take(side, again);
    }
  }
  const Comparison comparison = collector.finish();
  EXPECT_EQ(comparison.rows[0].series, 2);
  EXPECT_EQ(comparison.rows[0].change, Change::kSame);
}

// Whichever series it was seen in, and although the other one has numbers on both sides.
TEST(Compare, WrongDataInTheOtherSeriesIsBroken) {
  for (const int64_t series : {1, 2}) {
    CompareCollector collector({});
    for (int i = 1; i <= 8; ++i) {
      for (size_t side = 0; side < 2; ++side) {
        Record again = launch(side == 0 ? "ra" : "rb", i, 50'000 + 10.0 * i);
        again.launch->series = 3 - series;
        collector.take(side, again);
      }
    }
    Record wrong = launch("rb", 9, 50'000);
    wrong.launch->series = series;
    wrong.measurement.wrong = 3;
    wrong.noise = {"invalid", {"wrong data"}};
    collector.take(1, wrong);
    const Comparison comparison = collector.finish();
    ASSERT_THAT(comparison.rows, SizeIs(1));
    EXPECT_EQ(comparison.rows[0].change, Change::kBroken) << series;
    EXPECT_THAT(comparison.rows[0].why, HasSubstr("wrong data"));
  }
}

// What another tool printed is a number too, not a check that passed.
TEST(Compare, ImportedResultsAreComparedByWhatTheToolSaid) {
  for (const bool rate : {false, true}) {
    CompareCollector collector({});
    for (int i = 1; i <= 8; ++i) {
      for (size_t side = 0; side < 2; ++side) {
        const double ns = (50'000 + 10.0 * i) * (side == 0 ? 1 : 1.2);
        Record record = launch(side == 0 ? "ra" : "rb", i, ns);
        record.time_ns = {};
        record.measurement.reported.emplace();
        if (rate) {
          record.measurement.reported->algbw_Bps = 1e12 / ns;
        } else {
          record.measurement.reported->time_ns = ns;
        }
        collector.take(side, record);
      }
    }
    const Comparison comparison = collector.finish();
    ASSERT_THAT(comparison.rows, SizeIs(1));
    EXPECT_EQ(comparison.rows[0].change, Change::kRegress) << rate;
  }
}

// Twelve launches that agree, and a thirteenth that failed: not the same as a side without
// failures.
TEST(Compare, LaunchesThatFailBesideOthersAreToldAndNeverTheSame) {
  for (const size_t side : {0, 1}) {
    CompareCollector collector({});
    add_sides(collector, 12, 1);
    Record failed = launch(side == 0 ? "ra" : "rb", 13, 50'000);
    failed.measurement.outcome = Outcome::kError;
    failed.measurement.reason = "rank 1 is gone";
    collector.take(side, failed);
    const Comparison comparison = collector.finish();
    ASSERT_THAT(comparison.rows, SizeIs(1));
    EXPECT_EQ(comparison.rows[0].change, side == 1 ? Change::kInconclusive : Change::kSame);
    EXPECT_THAT(comparison.rows[0].why, HasSubstr("rank 1 is gone"));
  }
}

TEST(Compare, SaysWhatElseDiffers) {
  CompareCollector collector({});
  for (int i = 1; i <= 5; ++i) {
    Record a = launch("ra", i, 50'000 + i), b = launch("rb", i, 50'000 + i);
    a.time = "2026-11-20T10:00:00.000Z";
    b.time = "2026-11-20T11:00:00.000Z";
    a.environment.options["sndbuf"] = {"0", "default"};
    b.environment.options["sndbuf"] = {"65536", "flag"};
    collector.take(0, a);
    collector.take(1, b);
  }
  const Comparison comparison = collector.finish();
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("option sndbuf: 0 in a, 65536 in b")));
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("one after the other")));
  EXPECT_THAT(comparison.notes, Not(Contains(HasSubstr("auto took"))));
}

// The same cell, asked for as "auto" both times, over TCP then and over shared memory now.
TEST(Compare, SaysThatAutoTookAnotherTransport) {
  for (const char* asked : {"auto", "tcp"}) {
    CompareCollector collector({});
    for (int i = 1; i <= 5; ++i) {
      Record a = launch("ra", i, 50'000 + i), b = launch("rb", i, 10'000 + i);
      a.cell.transport = b.cell.transport = asked;
      a.measurement.resolved.transport = "tcp";
      b.measurement.resolved.transport = "shm";
      collector.take(0, a);
      collector.take(1, b);
    }
    const auto told = Contains(HasSubstr("transport that auto took: tcp in a, shm in b"));
    const std::vector<std::string> notes = collector.finish().notes;
    if (asked == std::string_view("auto")) {
      EXPECT_THAT(notes, told);
    } else {
      EXPECT_THAT(notes, Not(told));
    }
  }
}

TEST(Compare, WhatIsSkippedOrColdIsNoResult) {
  CompareCollector collector({});
  Record skipped = launch("ra", 1, 1000);
  skipped.measurement.outcome = Outcome::kSkipped;
  Record cold = launch("ra", 1, 1000);
  cold.soak = SoakMark{1, 0, 60'000'000'000, {}};
  collector.take(0, skipped);
  collector.take(0, cold);
  EXPECT_EQ(collector.records(0), 0u);
  const Comparison nothing = collector.finish();
  EXPECT_EQ(nothing.verdict(), Change::kInconclusive);
  std::ostringstream out;
  render_text(compare_document(nothing), 80, false, out);
  EXPECT_THAT(out.str(), HasSubstr("no cell that both sides measured"));
}

}  // namespace
}  // namespace plumbline
