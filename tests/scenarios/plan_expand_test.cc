// From blocks to cells: counts, collapsed axes, what is skipped or refused with the reason.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "scenarios/plan.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

Plan plan_text(const std::string& blocks, const PlanFilter& filter = {}) {
  return plan_of(parse(with_matrix(blocks, kNoRoofs)), filter);
}

TEST(PlanExpand, CrossProduct) {
  const Plan plan = plan_text(R"({"op": ["allreduce", "reduce_scatter"], "bytes": [64, 128, 256],
      "dtype": ["f32", "f64"], "redop": ["sum", "max"], "ranks": [2, 4], "placement": "both",
      "sync": ["none", "barrier"], "repeat": 2})");
  EXPECT_EQ(plan.cells.size(), 2u * 3 * 2 * 2 * 2 * 2 * 2 * 2);
  std::set<std::string> ids;
  for (const PlanCell& cell : plan.cells) {
    EXPECT_EQ(cell.id, cell_id(cell.cell));
    EXPECT_TRUE(ids.insert(cell.id).second);
    EXPECT_GT(cell.estimated_s, 0);
  }
}

// K, M and G are nccl-tests' letters here too.
TEST(PlanExpand, SizesWithBareLettersAreTheSameCells) {
  const auto ids = [](const std::string& blocks) {
    std::set<std::string> out;
    for (const PlanCell& cell : plan_text(blocks).cells) out.insert(cell.id);
    return out;
  };
  const auto with = ids(R"({"op": "allreduce", "bytes": ["64Ki", "64Mi"],
                            "config": {"chunk_bytes": "128Ki"}})");
  EXPECT_EQ(with.size(), 2u);
  EXPECT_EQ(ids(R"({"op": "allreduce", "bytes": ["64K", "64M"],
                    "config": {"chunk_bytes": "128K"}})"),
            with);
  EXPECT_EQ(ids(R"({"op": "allreduce", "bytes": {"from": "64k", "to": "64m", "factor": 1024},
                    "config": {"chunk_bytes": "128k"}})"),
            with);
}

// The hosts of the cells, in words, each once.
std::set<std::string> host_sets_of(const std::string& hosts, const std::string& axis) {
  const Plan plan = plan_of(parse(R"({"plumbline": 1, "roofs": false, "hosts": )" + hosts +
                                  R"(, "matrix": [{"op": "barrier", "hosts": )" + axis + "}]}"));
  std::set<std::string> out;
  for (const PlanCell& cell : plan.cells) {
    out.insert(fmt::format("{} {}{}", cell.cell.hosts, cell.cell.ranks,
                           cell.skip.empty() ? "" : " skipped"));
  }
  return out;
}

TEST(PlanExpand, HostsAreAnAxis) {
  using Sets = std::set<std::string>;
  const std::string three = R"({"local": 3})";
  EXPECT_EQ(host_sets_of(three, R"("all")"), (Sets{" 3"}));
  EXPECT_EQ(host_sets_of(three, R"("pairs")"),
            (Sets{"local0+local1 2", "local0+local2 2", "local1+local2 2"}));
  EXPECT_EQ(host_sets_of(three, R"({"from": 2})"), (Sets{"local0+local1 2", " 3"}));
  EXPECT_EQ(host_sets_of(three, "[1, 3]"), (Sets{"local0 1", " 3"}));
  // In the order of the hosts, whatever the order of the names; all hosts are all hosts.
  EXPECT_EQ(host_sets_of(three, R"([["local2", "local0"], ["local0", "local1", "local2"], "all"])"),
            (Sets{"local0+local2 2", " 3"}));
}

// On this machine alone; two ranks are the least that measures anything.
TEST(PlanExpand, MoreRanksThanCoresAreLeftOutWhereTheBlockSaysSo) {
  const auto ranks_of = [](const std::string& hosts, const std::string& oversubscribe, int cores) {
    PlanContext context;
    context.cores = cores;
    const auto plan = make_plan(parse(R"({"plumbline": 1, "roofs": false, "hosts": )" + hosts +
                                      R"(, "matrix": [{"op": "barrier", "ranks": [1, 2, 4, 8]}, )" +
                                      R"({"op": "allreduce", "bytes": 8, "ranks": [2, 4, 8], )" +
                                      R"("oversubscribe": )" + oversubscribe + "}]}"),
                                {}, 1, context);
    EXPECT_TRUE(plan);
    std::string out;
    if (!plan) return out;
    std::set<int> ranks;
    for (const PlanCell& cell : plan->cells) {
      if (cell.cell.op == "allreduce") ranks.insert(cell.cell.ranks);
    }
    for (const int n : ranks) out += fmt::format("{} ", n);
    return out + fmt::format("of {}, {} left out", plan->cells.size(), plan->crowded);
  };
  const std::string two = R"({"local": 2})";
  EXPECT_EQ(ranks_of(two, "true", 1), "2 4 8 of 7, 0 left out");
  EXPECT_EQ(ranks_of(two, "false", 1), "2 of 5, 2 left out");
  EXPECT_EQ(ranks_of(two, "false", 3), "2 of 5, 2 left out");
  EXPECT_EQ(ranks_of(two, "false", 4), "2 4 of 6, 1 left out");
  EXPECT_EQ(ranks_of(two, "false", 0), "2 4 8 of 7, 0 left out") << "not known";
  // Places on other machines are what their list says.
  EXPECT_EQ(ranks_of(R"([{"name": "a", "ssh": "a", "data": "10.0.0.1", "ranks": 8}])", "false", 1),
            "2 4 8 of 7, 0 left out");
}

TEST(PlanExpand, WhatHostsThatMayNotTalkCannotDoIsSkippedWithTheReason) {
  using Sets = std::set<std::string>;
  const std::string star = R"([{"name": "hub", "local": true, "group": ["a", "b"]},
      {"name": "left", "local": true, "group": "a"}, {"name": "right", "local": true, "group": "b"}])";
  EXPECT_EQ(host_sets_of(star, R"("all")"), (Sets{" 3"})) << "over the hub";
  EXPECT_EQ(host_sets_of(star, R"("pairs")"),
            (Sets{"hub+left 2", "hub+right 2", "left+right 2 skipped"}));
  EXPECT_EQ(host_sets_of(star, R"("groups")"), (Sets{"hub+left 2", "hub+right 2"}));
  const Plan plan = plan_of(parse(R"({"plumbline": 1, "hosts": )" + star +
                                  R"(, "roofs": false, "matrix": [{"op": "barrier"}, {"op": "link"},
          {"op": "allreduce", "bytes": 4096, "algorithm": ["auto", "exchange"]}]})"));
  EXPECT_EQ(std::count_if(plan.cells.begin(), plan.cells.end(),
                          [](const PlanCell& cell) { return !cell.skip.empty(); }),
            1);
  for (const PlanCell& cell : plan.cells) {
    EXPECT_EQ(cell.skip.empty(), cell.cell.algorithm != "exchange") << cell.cell.op;
    if (cell.skip.empty()) continue;
    EXPECT_NE(cell.skip.find("between ranks 1 and 2"), std::string::npos) << cell.skip;
    EXPECT_NE(cell.skip.find("left"), std::string::npos) << cell.skip;
    EXPECT_NE(cell.skip.find("\"groups\""), std::string::npos) << cell.skip;
  }
}

// Four hosts in a ring of cables a-c-b-d. As with other values, one that stands alone was meant.
TEST(PlanExpand, AnOrderWhoseNeighboursAreApartIsRefusedWhereItStandsAlone) {
  PlanContext real = context();
  real.vocabulary.algorithm_malformed = nullptr;  // the one of these tests knows no orders
  const auto planned = [&real](const std::string& algorithm, const std::string& more = "") {
    const auto scenario = parse_scenario(
        R"({"plumbline": 1, "roofs": false, "hosts": [
            {"name": "a", "local": true, "group": ["w", "x"]},
            {"name": "b", "local": true, "group": ["y", "z"]},
            {"name": "c", "local": true, "group": ["x", "y"]},
            {"name": "d", "local": true, "group": ["z", "w"]}],
          "matrix": [{"op": "allreduce", "bytes": 4096, "algorithm": )" +
            algorithm + more + "}]}",
        "test.json", real.vocabulary);
    EXPECT_TRUE(scenario) << all_lines(scenario.error());
    const auto plan = make_plan(*scenario, {}, 1, real);
    if (!plan) return plan.error().message();
    size_t skipped = 0;
    for (const PlanCell& cell : plan->cells) skipped += cell.skip.empty() ? 0 : 1;
    return fmt::format("{} of {} skipped", skipped, plan->cells.size());
  };
  EXPECT_EQ(planned(R"("ring:0-2-1-3")"), "0 of 1 skipped");
  const std::string refused = planned(R"("ring:0-1-2-3")");
  EXPECT_THAT(refused, testing::HasSubstr("$.matrix[0].algorithm: "));
  EXPECT_THAT(refused, testing::HasSubstr("between ranks 0 and 1, which are not connected"));
  EXPECT_THAT(refused, testing::HasSubstr("use ring:0-2-1-3"));
  EXPECT_EQ(planned(R"(["auto", "ring:0-1-2-3"])"), "1 of 2 skipped");
  EXPECT_EQ(planned(R"("ring:0-1-2-3")", R"(, "distribution": ["block", "cyclic"])"),
            "2 of 2 skipped");
  EXPECT_EQ(planned(R"("exchange")"), "1 of 1 skipped") << "with other hosts it goes";
}

TEST(PlanExpand, DistributionIsAnAxisAndNoneIsNotBlock) {
  const Plan plan = plan_of(parse(
      R"({"plumbline": 1, "hosts": {"local": 2}, "launch": {"ranks_per_host": 2}, "roofs": false,
          "matrix": [{"op": "barrier", "distribution": ["block", "cyclic"]}, {"op": "barrier"}]})"));
  std::set<std::string> ids, words;
  for (const PlanCell& cell : plan.cells) {
    EXPECT_EQ(cell.cell.ranks, 4);
    ids.insert(cell.id);
    words.insert(cell.cell.distribution);
  }
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(words, (std::set<std::string>{"", "block", "cyclic"}));
}

// Each world has roofs of its own: the path between other hosts is another path.
TEST(PlanExpand, EverySetOfHostsHasItsRoofs) {
  const Plan plan = plan_of(parse(R"({"plumbline": 1, "hosts": {"local": 3}, "matrix":
      [{"op": "allreduce", "bytes": 8, "hosts": "pairs", "config": {"chunk_bytes": "64Ki"}},
       {"op": "allreduce", "bytes": 8, "hosts": "pairs"}]})"));
  std::map<std::string, int> roofs;
  for (const PlanCell& cell : plan.cells)
    roofs[cell.cell.hosts] += cell.cell.kind == CellKind::kRoof ? 1 : 0;
  EXPECT_EQ(roofs.size(), 3u);
  for (const auto& [hosts, count] : roofs)
    EXPECT_EQ(count, 7) << hosts;  // three a world, and one of the reduction
}

TEST(PlanExpand, AxesThatMeanNothingCollapse) {
  const auto count = [](const char* op) {
    return plan_text(R"({"op": ")" + std::string(op) + R"(", "bytes": [64, 128], "dtype": ["f32",
        "f64"], "redop": ["sum", "max"], "ranks": [2, 4], "root": "all", "placement": "both"})")
        .cells.size();
  };
  EXPECT_EQ(count("barrier"), 2u);                      // ranks
  EXPECT_EQ(count("allgather"), 2u * 2 * 2 * 2);        // bytes dtype ranks placement
  EXPECT_EQ(count("allreduce"), 2u * 2 * 2 * 2 * 2);    // and redop
  EXPECT_EQ(count("broadcast"), 2u * 2 * 2 * (2 + 4));  // every root of each world
  EXPECT_EQ(count("reduce"), 2u * 2 * 2 * 2 * (2 + 4));
  const bool in_place = row(Op::kPingpong).has_in_place;
  EXPECT_EQ(count("pingpong"), (in_place ? 2u : 1u) * 2 * 2 * 2);
}

TEST(PlanExpand, CollapsedAxesHaveOneSpelling) {
  const Plan plan = plan_text(R"({"op": ["barrier", "allgather", "broadcast"], "bytes": 64,
      "dtype": "f64", "redop": "max", "root": 1})");
  for (const PlanCell& cell : plan.cells) {
    SCOPED_TRACE(cell.cell.op);
    EXPECT_EQ(cell.cell.redop, "none");
    EXPECT_EQ(cell.cell.root, cell.cell.op == "broadcast" ? 1 : -1);
    EXPECT_EQ(cell.cell.dtype, cell.cell.op == "barrier" ? "f32" : "f64");
    EXPECT_EQ(cell.cell.bytes, cell.cell.op == "barrier" ? 0u : 64u);
    EXPECT_EQ(cell.cell.ranks, 2);  // all places
  }
}

TEST(PlanExpand, SizesAreRoundedAndThenUnique) {
  // Over 4 ranks of f64 a size is a multiple of 32.
  const Plan plan = plan_text(
      R"({"op": "allgather", "bytes": [0, 31, 32, 33, 63, 64, 100], "dtype": "f64", "ranks": 4})");
  std::map<uint64_t, uint64_t> counts;
  for (const PlanCell& cell : plan.cells) counts[cell.cell.bytes] = cell.cell.count;
  EXPECT_EQ(counts, (std::map<uint64_t, uint64_t>{{0, 0}, {32, 1}, {64, 2}, {96, 3}}));
  EXPECT_EQ(plan.cells.size(), counts.size());
}

TEST(PlanExpand, TheSameCellInTwoBlocksIsMeasuredOnceWithTheFirstRule) {
  const Plan plan = plan_text(R"({"op": "reduce", "bytes": [8, 16], "stop": {"max_n": 77}},
                                 {"op": "reduce", "bytes": [16, 32]})");
  EXPECT_EQ(plan.cells.size(), 3u);
  for (const PlanCell& cell : plan.cells) {
    EXPECT_EQ(cell.stop.max_n, cell.cell.bytes == 32 ? 100'000u : 77u);
  }
}

TEST(PlanExpand, AllAlgorithmsAndWhatTheyCannotDo) {
  const Plan plan = plan_text(R"({"op": ["allreduce", "reduce"], "bytes": 8, "algorithm": "all",
                    "ranks": [2, 3, 4]})");
  std::map<std::string, int> run, skip;
  for (const PlanCell& cell : plan.cells) {
    ++(cell.skip.empty() ? run : skip)[cell.cell.op + " " + cell.cell.algorithm];
    if (cell.skip.empty()) continue;
    EXPECT_EQ(cell.cell.ranks, 3);
    EXPECT_EQ(cell.skip,
              "doubling of allreduce over 3 ranks: needs a power-of-two number of ranks");
    EXPECT_EQ(cell.estimated_s, 0);
  }
  EXPECT_EQ(run, (std::map<std::string, int>{{"allreduce exchange", 3},
                                             {"allreduce ring", 3},
                                             {"allreduce doubling", 2},
                                             {"reduce direct", 3}}));
  EXPECT_EQ(skip, (std::map<std::string, int>{{"allreduce doubling", 1}}));
}

TEST(PlanExpand, ListsMayHoldWhatDoesNotFitEverywhere) {
  const Plan plan = plan_text(
      R"({"op": ["allgather", "broadcast"], "bytes": [8, 100000], "algorithm": ["auto", "bruck"],
          "ranks": [1, 2], "root": [0, 1]},
         {"op": ["pingpong", "barrier"], "bytes": 8, "ranks": [1, 2]})");
  std::set<std::string> reasons;
  for (const PlanCell& cell : plan.cells) {
    if (!cell.skip.empty()) reasons.insert(cell.skip);
  }
  EXPECT_EQ(reasons, (std::set<std::string>{
                         "bruck of allgather over 1 ranks: takes small arrays only",
                         "bruck of allgather over 2 ranks: takes small arrays only",
                         "broadcast has no algorithm 'bruck'", "there is no rank 1 among 1 ranks",
                         "pingpong needs at least 2 ranks, not 1"}));
}

TEST(PlanExpand, AllWithoutATableIsRefused) {
  const Scenario s = parse(with_matrix(R"({"op": "reduce", "bytes": 8, "algorithm": "all"})"));
  const auto plan = make_plan(s, {}, 1);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kConfig);
}

}  // namespace
}  // namespace plumbline::scenario_test
