#include "reports/view.h"

#include <gtest/gtest.h>

#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::record;

TEST(View, EmptyInput) {
  const View view = make_view({});
  EXPECT_TRUE(view.items.empty());
  EXPECT_TRUE(view.groups.empty());
  EXPECT_EQ(view.counts.total(), 0U);
}

TEST(View, PairsPlacementsOfTheSameCell) {
  Record out = record("latency", "allreduce", "ring", 2, 64, 1000);
  Record in = out;
  in.cell.placement = "in";
  Record other = in;
  other.cell.dtype = "f64";
  const std::vector<Record> records = {in, other, out};
  const View view = make_view(records);
  ASSERT_EQ(view.groups.size(), 1U);
  ASSERT_EQ(view.groups[0].rows.size(), 2U);
  EXPECT_EQ(view.groups[0].rows[0].out->record, &records[2]);
  EXPECT_EQ(view.groups[0].rows[0].in->record, &records[0]);
  EXPECT_EQ(view.groups[0].rows[1].out, nullptr);
  EXPECT_EQ(view.groups[0].rows[1].in->record, &records[1]);
}

TEST(View, SameCellOfTwoRunsGetsTwoRows) {
  Record first = record("latency", "allreduce", "ring", 2, 64, 1000);
  Record second = first;
  second.run_id = "run2";
  const std::vector<Record> records = {first, second};
  const View view = make_view(records);
  ASSERT_EQ(view.groups.size(), 1U);
  EXPECT_EQ(view.groups[0].rows.size(), 2U);
  EXPECT_EQ(view.superseded, 0U);
}

TEST(View, LaunchesOfOneCellAreOneRow) {
  std::vector<Record> records;
  for (int i = 1; i <= 7; ++i) {
    records.push_back(record("bandwidth", "allreduce", "ring", 2, 1 << 20, 1000.0 * i, 100));
    records.back().launch = LaunchMark{i, 1, ""};
  }
  records[2].noise = {"noisy", {"load"}};
  const View view = make_view(records);
  ASSERT_EQ(view.items.size(), 1U);
  EXPECT_EQ(view.superseded, 0U);
  const Item& item = view.items[0];
  EXPECT_EQ(item.launches, 7U);
  EXPECT_EQ(item.verdict, Verdict::kNoisy);
  EXPECT_EQ(item.record, &records[2]);
  EXPECT_EQ(item.time.n, 700U);
  EXPECT_NEAR(*item.time.p50, 4000, 20);  // of the medians of 1000, 2000 ... 7000
  ASSERT_TRUE(item.time.p50_ci95);        // of the launches: far wider than that of 700 samples
  EXPECT_NEAR(item.time.p50_ci95->first, 1000, 20);
  EXPECT_NEAR(item.time.p50_ci95->second, 7000, 40);
  EXPECT_NEAR(*item.algbw_Bps, (1 << 20) / 4000e-9, 0.01 * (1 << 20) / 4000e-9);
  // The same launch measured again after --resume replaces the earlier one.
  records.push_back(records.back());
  EXPECT_EQ(make_view(records).superseded, 1U);
}

TEST(View, LaterRecordOfTheSameRunWins) {
  Record first = record("latency", "allreduce", "ring", 2, 64, 1000);
  Record second = record("latency", "allreduce", "ring", 2, 64, 2000);
  const std::vector<Record> records = {first, second};
  const View view = make_view(records);
  ASSERT_EQ(view.items.size(), 1U);
  EXPECT_EQ(view.items[0].record, &records[1]);
  EXPECT_EQ(view.superseded, 1U);
  EXPECT_EQ(view.counts.total(), 1U);
}

TEST(View, AnErrorThatWasRetriedByAResumedRunDoesNotCount) {
  Record failed = record("latency", "allreduce", "ring", 2, 64, 1, 0);
  failed.measurement.outcome = Outcome::kError;
  Record again = record("latency", "allreduce", "ring", 2, 64, 2000);
  again.run_id = "run2";
  const std::vector<Record> records = {failed, again};
  const View view = make_view(records);
  EXPECT_EQ(view.counts.errors, 0U);
  EXPECT_EQ(view.counts.passed, 1U);
  // The other way round the error is the news.
  const std::vector<Record> reversed = {again, failed};
  EXPECT_EQ(make_view(reversed).counts.errors, 1U);
}

TEST(View, VerdictsAndTheWorseOfTwo) {
  Record clean = record("latency", "allreduce", "ring", 2, 64, 1000);
  Record wrong = clean;
  wrong.cell.placement = "in";
  wrong.measurement.wrong = 1;
  wrong.measurement.outcome = Outcome::kFailed;
  const std::vector<Record> records = {clean, wrong};
  const View view = make_view(records);
  EXPECT_EQ(view.items[0].verdict, Verdict::kClean);
  EXPECT_EQ(view.items[1].verdict, Verdict::kInvalid);
  EXPECT_FALSE(view.items[1].valid());
  EXPECT_EQ(view.groups[0].rows[0].verdict(), Verdict::kInvalid);
  EXPECT_EQ(view.counts.wrong, 1U);
  EXPECT_EQ(view.counts.failed, 1U);
}

TEST(View, WrongDataIsInvalidEvenWhenTheWriterCalledItPassed) {
  Record wrong = record("latency", "allreduce", "ring", 2, 64, 1000);
  wrong.measurement.wrong = 5;
  const std::vector<Record> records = {wrong};
  EXPECT_EQ(make_view(records).items[0].verdict, Verdict::kInvalid);
}

TEST(View, DerivedValuesComeFromTheSamplesNotFromTheFile) {
  Record lying = record("bandwidth", "allreduce", "ring", 2, 4'000'000, 1'000'000);
  lying.time_ns.p50 = 1;
  lying.busbw_Bps = 1e15;
  const std::vector<Record> records = {lying};
  const View view = make_view(records);
  EXPECT_NEAR(*view.items[0].time.p50, 1'000'000, 20'000);
  EXPECT_NEAR(*view.items[0].busbw_Bps, 4e9, 1e8);
}

TEST(View, FractionOfRoofs) {
  std::vector<Record> records = samples::roofs();
  records.push_back(record("latency", "allreduce", "ring", 2, 32'768, 49'000));
  records.push_back(record("latency", "allreduce", "ring", 2, 65'536, 49'000));
  records.push_back(record("latency", "allreduce", "ring", 2, 4, 49'000));
  records.push_back(record("bandwidth", "allreduce", "ring", 2, 1 << 20, 1'000'000));
  records.push_back(record("bandwidth", "broadcast", "tree", 2, 1 << 20, 1'000'000));
  records.push_back(record("bandwidth", "barrier", "x", 2, 0, 1'000'000));
  const View view = make_view(records);
  EXPECT_FALSE(view.items[5].of_latency) << "its size was not measured";
  EXPECT_NEAR(*view.items[6].of_latency, 20'500.0 / 49'000, 0.01);  // 64 KiB
  EXPECT_FALSE(view.items[7].of_latency && view.items[7].record->cell.bytes > 8);
  EXPECT_NEAR(*view.items[8].of_bandwidth, 1.048576e9 / 3.226e9, 0.02);  // both ways
  EXPECT_NEAR(*view.items[9].of_bandwidth, 1.048576e9 / 5.63e9, 0.02);   // one way
  EXPECT_FALSE(view.items[10].of_bandwidth);
  EXPECT_FALSE(view.items[8].of_latency);
}

TEST(View, RoofsOfAnotherPathOrPlanAreNotUsed) {
  std::vector<Record> records = samples::roofs();
  Record memory = record("bandwidth", "allreduce", "ring", 2, 1 << 20, 1'000'000);
  memory.measurement.resolved.transport = "memory";
  Record other_run = record("bandwidth", "allreduce", "ring", 2, 1 << 20, 1'000'000);
  other_run.run_id = "run9";
  other_run.plan_hash = "other";
  Record resumed = record("bandwidth", "allreduce", "ring", 2, 1 << 20, 1'000'000);
  resumed.run_id = "run8";
  records.insert(records.end(), {memory, other_run, resumed});
  const View view = make_view(records);
  EXPECT_FALSE(view.items[5].of_bandwidth);
  EXPECT_FALSE(view.items[6].of_bandwidth);
  EXPECT_TRUE(view.items[7].of_bandwidth);  // same plan: the run that was resumed has the roofs
}

TEST(View, RoofsOfTheSameWorldComeFirst) {
  std::vector<Record> records = samples::roofs();
  records.push_back(record("roof", "raw_duplex", "auto", 4, 4 << 20, 2'600'000));  // slower
  records.push_back(record("bandwidth", "allreduce", "ring", 4, 1 << 20, 1'000'000));
  records.push_back(record("bandwidth", "allreduce", "ring", 8, 1 << 20, 1'000'000));
  const View view = make_view(records);
  EXPECT_EQ(bandwidth_roof(view, *view.items[6].record)->record, &records[5]);
  EXPECT_EQ(bandwidth_roof(view, *view.items[7].record)->record, &records[3]);
}

// The second part of a run measured what the first had left: four ranks with their roof, and a cell
// of two ranks whose roof the first part has.
TEST(View, ARowOfAResumedRunTakesTheRoofOfItsOwnRanks) {
  std::vector<Record> records = samples::roofs();
  Record slower = record("roof", "raw_duplex", "auto", 4, 4 << 20, 2'600'000);
  Record left = record("bandwidth", "allreduce", "ring", 2, 1 << 20, 1'000'000);
  slower.run_id = left.run_id = "run8";
  records.insert(records.end(), {slower, left});
  const View view = make_view(records);
  EXPECT_EQ(bandwidth_roof(view, *view.items[6].record)->record, &records[3]);
}

TEST(View, FailedRoofIsNoRoof) {
  std::vector<Record> records = samples::roofs();
  for (Record& roof : records) roof.measurement.outcome = Outcome::kError;
  records.push_back(record("bandwidth", "allreduce", "ring", 2, 1 << 20, 1'000'000));
  const View view = make_view(records);
  EXPECT_FALSE(view.items.back().of_bandwidth);
}

TEST(View, GroupsAreSortedAndUnknownOperationsSurvive) {
  std::vector<Record> records = {
      record("check", "allreduce", "ring", 2, 64, 1000),
      record("latency", "teleport", "ring", 2, 64, 1000),
      record("latency", "broadcast", "ring", 4, 64, 1000),
      record("latency", "broadcast", "ring", 2, 64, 1000),
      record("latency", "allreduce", "ring", 2, 64, 1000),
  };
  const View view = make_view(records);
  std::vector<std::string> titles;
  for (const ViewGroup& group : view.groups)
    titles.push_back(to_string(group.kind) + (": " + title_of(group)));
  EXPECT_EQ(titles,
            (std::vector<std::string>{
                "latency: allreduce ring, 2 ranks, tcp", "latency: broadcast ring, 2 ranks, tcp",
                "latency: broadcast ring, 4 ranks, tcp", "latency: teleport ring, 2 ranks, tcp",
                "check: allreduce ring, 2 ranks, tcp"}));
}

// As text, 8 would come after 64.
TEST(View, ListsOfArraysAreRowsInTheOrderOfTheirNumber) {
  std::vector<Record> records;
  for (const int arrays : {64, 8, 1}) {
    records.push_back(record("latency", "allreduce", "ring", 2, 4096, 1000));
    records.back().cell.arrays = arrays;
  }
  const View view = make_view(records);
  ASSERT_EQ(view.groups.size(), 1U);
  std::vector<int> order;
  for (const Pair& row : view.groups[0].rows) order.push_back(row.any().record->cell.arrays);
  EXPECT_EQ(order, (std::vector<int>{1, 8, 64}));
}

TEST(View, DescribeNamesEverythingThatTellsCellsApart) {
  Record r = record("latency", "reduce", "auto", 1, 65'536, 1000);
  r.cell.placement = "in";
  r.cell.repeat = 2;
  r.cell.outstanding = 4;
  r.cell.params["chunk_bytes"] = "1";
  EXPECT_EQ(describe(r),
            "reduce auto > ring, 1 rank, tcp, 64 KiB f32 sum, root 0, in place, 4 outstanding, "
            "repetition 2, chunk_bytes=1");
}

}  // namespace
}  // namespace plumbline
