// What `coll` asks to be measured, before anything runs.
#include "cli/coll_request.h"

#include <gtest/gtest.h>

#include "collectives/engine.h"

namespace plumbline {
namespace {

CollSweep sweep_of(Op op) {
  CollSweep sweep;
  sweep.op = op;
  sweep.min_bytes = 8;
  sweep.max_bytes = 14;
  sweep.step_bytes = 2;
  sweep.redops = {RedOp::kSum};
  sweep.dtypes = {DType::kF32, DType::kU8};
  sweep.roots = {-1};
  sweep.count.iterations = 7;
  return sweep;
}

std::vector<PlanCell> cells_of(const CollSweep& sweep, CollOutput output) {
  const auto cells = coll_cells(local_hosts(1), sweep, OptionSet(), output);
  EXPECT_TRUE(cells) << cells.error().front().message();
  return cells.value_or(std::vector<PlanCell>{});
}

// A size that is rounded to the one before it is a row of its own, as in nccl-tests.
TEST(CollRequest, RowsAreListedAsTheyArePrinted) {
  std::string seen;
  for (const PlanCell& planned : cells_of(sweep_of(Op::kAllreduce), CollOutput::kNccl)) {
    const Cell& cell = planned.cell;
    seen += cell.dtype + " " + std::to_string(cell.bytes) + " " + cell.placement + "\n";
    ASSERT_TRUE(planned.fixed);
    EXPECT_EQ(planned.fixed->iterations, 7);
    EXPECT_TRUE(planned.fixed->verified);
  }
  EXPECT_EQ(seen,
            "f32 8 out\nf32 8 in\nf32 8 out\nf32 8 in\nf32 12 out\nf32 12 in\nf32 12 out\n"
            "f32 12 in\nu8 8 out\nu8 8 in\nu8 10 out\nu8 10 in\nu8 12 out\nu8 12 in\nu8 14 out\n"
            "u8 14 in\n");
}

TEST(CollRequest, OnlyTheColumnsOfNcclTestsRepeatWhatHasNoInPlaceForm) {
  const std::vector<PlanCell> nccl = cells_of(sweep_of(Op::kAlltoall), CollOutput::kNccl);
  ASSERT_EQ(nccl.size(), 16u);
  EXPECT_EQ(nccl[0].cell, nccl[1].cell);
  EXPECT_TRUE(nccl[0].fixed->verified);
  EXPECT_FALSE(nccl[1].fixed->verified) << "it fills columns, and is not checked";
  EXPECT_EQ(cells_of(sweep_of(Op::kAlltoall), CollOutput::kTable).size(), 8u);
  EXPECT_EQ(cells_of(sweep_of(Op::kAlltoall), CollOutput::kRecords).size(), 8u);
}

TEST(CollRequest, MoreOperationsOnlyWhereNobodySaidHowMany) {
  CollSweep sweep = sweep_of(Op::kAllreduce);
  EXPECT_TRUE(cells_of(sweep, CollOutput::kTable).front().fixed->tail);
  EXPECT_FALSE(cells_of(sweep, CollOutput::kNccl).front().fixed->tail);
  sweep.iterations_given = true;
  EXPECT_FALSE(cells_of(sweep, CollOutput::kRecords).front().fixed->tail);
}

TEST(CollRequest, HostsWithoutPlacesAreRefusedInTheWordsOfTheFlag) {
  CollSweep sweep = sweep_of(Op::kAllreduce);
  std::vector<ScenarioHost> hosts = local_hosts(1);
  hosts.front().local = false;
  hosts.front().ssh = "elsewhere";
  sweep.ranks = 4;
  sweep.ranks_given = true;
  const auto flag = coll_cells(hosts, sweep, OptionSet(), CollOutput::kNccl);
  ASSERT_FALSE(flag);
  EXPECT_EQ(flag.error().front().what, "--ranks 4 but the hosts have 1 places");
  sweep.ranks_given = false;
  const auto none = coll_cells(hosts, sweep, OptionSet(), CollOutput::kNccl);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().what, "4 ranks are needed, and the hosts have 1 place");
}

// Four hosts in a ring of cables a-c-b-d.
TEST(CollRequest, ARingWhoseNeighboursAreApartIsRefusedWithOneThatWorks) {
  std::vector<ScenarioHost> hosts(4, local_hosts(1).front());
  const std::vector<std::vector<std::string>> cables = {
      {"w", "x"}, {"y", "z"}, {"x", "y"}, {"z", "w"}};
  for (size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].name = std::string(1, static_cast<char>('a' + i));
    hosts[i].group = cables[i];
  }
  CollSweep sweep = sweep_of(Op::kAllreduce);
  sweep.ranks = 4;
  const auto said = [&](const char* algorithm) {
    const OptionSet options = *OptionSet().with("algorithm", algorithm, "flag");
    const auto cells = coll_cells(hosts, sweep, options, CollOutput::kTable);
    return cells ? std::string() : cells.error().front().message();
  };
  EXPECT_EQ(said("ring:0-2-1-3"), "");
  EXPECT_EQ(said("ring:2:3-1-2-0"), "");
  const std::string refused = said("ring:0-1-2-3");
  EXPECT_NE(refused.find("between ranks 0 and 1, which are not connected"), std::string::npos)
      << refused;
  EXPECT_NE(refused.find("use ring:0-2-1-3"), std::string::npos) << refused;
}

TEST(CollRequest, CompressionIsPartOfTheCellsAndRefusedWhereItMeansNothing) {
  CollSweep sweep = sweep_of(Op::kAllreduce);
  sweep.dtypes = {DType::kF32};
  const auto cells_with = [&](const std::string& compression) {
    return coll_cells(local_hosts(1), sweep, *OptionSet().with("compression", compression, "test"),
                      CollOutput::kTable);
  };
  EXPECT_EQ(cells_with("none").value().front().cell.compression, "");
  EXPECT_EQ(cells_with("topk:0.02").value().front().cell.compression, "topk:0.02");
  const auto why = [&](const std::string& compression) {
    const auto cells = cells_with(compression);
    return cells ? "accepted" : cells.error().front().message();
  };
  EXPECT_NE(why("fp61").find("did you mean fp16?"), std::string::npos) << why("fp61");
  EXPECT_NE(why("topk:2").find("above 0 and at most 1"), std::string::npos) << why("topk:2");
  sweep.redops = {RedOp::kMin};
  EXPECT_NE(why("bf16").find("sum and avg"), std::string::npos) << why("bf16");
  sweep.dtypes = {DType::kI64};
  EXPECT_NE(why("bf16").find("use dtype f32"), std::string::npos) << why("bf16");
  sweep.op = Op::kBroadcast;
  EXPECT_NE(why("fp16").find("allreduce of f32"), std::string::npos) << why("fp16");
}

TEST(CollRequest, ListsOfArraysAreRowsBelowOneAnother) {
  CollSweep sweep = sweep_of(Op::kAllreduce);
  sweep.dtypes = {DType::kF32};
  sweep.min_bytes = 16;
  sweep.max_bytes = 32;
  sweep.step_bytes = 16;
  sweep.arrays = {4, 1, 3};
  std::string seen;
  for (const PlanCell& planned : cells_of(sweep, CollOutput::kNccl)) {
    const Cell& cell = planned.cell;
    if (cell.placement == "in") continue;
    seen += std::to_string(cell.arrays) + ": " + std::to_string(cell.bytes) + " " +
            std::to_string(cell.count) + "\n";
  }
  EXPECT_EQ(seen, "4: 16 4\n4: 32 8\n1: 16 4\n1: 32 8\n3: 16 4\n3: 32 8\n");
}

TEST(CollRequest, ListsThatCannotBeAreRefusedWithWhatWouldWork) {
  CollSweep sweep = sweep_of(Op::kAllreduce);
  sweep.dtypes = {DType::kF32};
  sweep.arrays = {2, 3};
  const auto why = [&](const OptionSet& options = {}) {
    const auto cells = coll_cells(local_hosts(1), sweep, options, CollOutput::kTable);
    return cells ? "accepted" : cells.error().front().message();
  };
  EXPECT_EQ(why(),
            "--arrays: 3 arrays of f32 need 12 bytes or more, not 8: each has at least one "
            "element; or leave out --arrays");
  sweep.arrays = {2};
  EXPECT_EQ(why(), "accepted");
  EXPECT_NE(why(*OptionSet().with("compression", "topk:0.5", "test")).find("compression none"),
            std::string::npos);
  sweep.op = Op::kReduceScatter;
  EXPECT_NE(why().find("not by reduce_scatter: use that, or arrays 1"), std::string::npos) << why();
}

TEST(CollRequest, GroupsAreThoseOfOneSizeAndSoAreTheNumbers) {
  CollSweep sweep = sweep_of(Op::kAllgather);
  sweep.dtypes = {DType::kF32};
  sweep.min_bytes = sweep.max_bytes = 64;
  sweep.ranks = 4;
  const auto why = [&](const char* split) {
    sweep.split = split;
    const auto cells = coll_cells(local_hosts(1), sweep, OptionSet(), CollOutput::kTable);
    if (!cells) return cells.error().front().message();
    return cells->front().cell.split + " " + std::to_string(cells->front().cell.count);
  };
  EXPECT_EQ(why(""), " 4");
  EXPECT_EQ(why("mod:2"), "mod:2 8");
  EXPECT_EQ(why("div:2"), "div:2 8");
  EXPECT_NE(why("mod:4").find("--split: mod:4"), std::string::npos) << why("mod:4");
  EXPECT_NE(why("div:3").find("use div:2, or none"), std::string::npos) << why("div:3");
  sweep.engine = "gloo";
  if (find_engine("gloo")) {
    EXPECT_NE(why("div:2").find("engine native only"), std::string::npos) << why("div:2");
  }
}

TEST(CollRequest, AnAverageOfBoolIsRefusedAloneAndLeftOutOfAll) {
  CollSweep sweep = sweep_of(Op::kReduceScatter);
  sweep.dtypes = {DType::kBool};
  sweep.redops = {RedOp::kAvg};
  const auto alone = coll_cells(local_hosts(1), sweep, OptionSet(), CollOutput::kTable);
  ASSERT_FALSE(alone);
  EXPECT_EQ(
      alone.error().front().what,
      "-d bool -o avg: avg of bool means nothing; use sum or max (logical or), product or min "
      "(logical and), or dtype u8");
  sweep.op = Op::kBroadcast;  // reduces nothing
  EXPECT_FALSE(cells_of(sweep, CollOutput::kTable).empty());
  sweep.op = Op::kReduceScatter;
  sweep.max_bytes = 8;
  sweep.dtypes = {DType::kF32, DType::kBool};
  sweep.redops = {RedOp::kSum, RedOp::kAvg};
  std::string seen;
  for (const PlanCell& planned : cells_of(sweep, CollOutput::kTable)) {
    if (planned.cell.placement == "out")
      seen += planned.cell.dtype + " " + planned.cell.redop + "\n";
  }
  EXPECT_EQ(seen, "f32 sum\nf32 avg\nbool sum\n");
}

TEST(CollRequest, BoolIsNotCompressed) {
  CollSweep sweep = sweep_of(Op::kAllreduce);
  sweep.dtypes = {DType::kBool};
  for (const char* codec : {"fp16", "bf16", "topk:0.1"}) {
    const auto cells = coll_cells(
        local_hosts(1), sweep, *OptionSet().with("compression", codec, "test"), CollOutput::kTable);
    ASSERT_FALSE(cells) << codec;
    EXPECT_NE(cells.error().front().what.find("compresses f32, not bool"), std::string::npos);
  }
}

}  // namespace
}  // namespace plumbline
