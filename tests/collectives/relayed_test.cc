// Collectives of ranks that are not all connected: what has no connection goes over the ranks
// between. Real sockets on loopback; the ends of a pair that is apart know no port of one another,
// so that a message for which there should be no way ends the world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "collectives/cell_run.h"
#include "collectives/predict.h"
#include "tests/support/collective_case.h"
#include "tests/support/row_share.h"
#include "tests/transport/tcp_world.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

// All pairs but these, lower first.
RankPairs all_but(int ranks, const std::set<std::pair<int, int>>& joined) {
  RankPairs apart;
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks; ++b) {
      if (joined.count({a, b}) == 0) apart.push_back({a, b});
    }
  }
  return apart;
}

RankPairs star(int ranks, int hub) {
  std::set<std::pair<int, int>> joined;
  for (int rank = 0; rank < ranks; ++rank) joined.insert(std::minmax(rank, hub));
  return all_but(ranks, joined);
}

RankPairs chain(int ranks) {
  std::set<std::pair<int, int>> joined;
  for (int rank = 1; rank < ranks; ++rank) joined.insert({rank - 1, rank});
  return all_but(ranks, joined);
}

RankPairs ring(int ranks) {
  RankPairs apart = chain(ranks);
  std::erase(apart, std::pair(0, ranks - 1));
  return apart;
}

// As a ring of cables is that somebody plugged in without looking at the numbers of the hosts.
RankPairs crossed_ring(int ranks) {
  std::vector<int> order;
  for (int rank = 0; rank < ranks; rank += 2) order.push_back(rank);
  for (int rank = 1; rank < ranks; rank += 2) order.push_back(rank);
  std::set<std::pair<int, int>> joined;
  for (size_t i = 0; i < order.size(); ++i) {
    joined.insert(std::minmax(order[i], order[(i + 1) % order.size()]));
  }
  return all_but(ranks, joined);
}

RankPairs some_tree(int ranks, uint32_t seed) {
  std::mt19937 random(seed);
  std::set<std::pair<int, int>> joined;
  for (int rank = 1; rank < ranks; ++rank) {
    joined.insert({static_cast<int>(random() % static_cast<uint32_t>(rank)), rank});
  }
  return all_but(ranks, joined);
}

bool is_collective(const OpRow& op) { return !op.point_to_point; }

// Every operation, with an empty, a short and a long array, and every root.
std::vector<OperationSpec> every_operation(int ranks) {
  std::vector<OperationSpec> all;
  for (const OpRow& op : op_table()) {
    if (!is_collective(op)) continue;
    // More than a segment, and than what is in flight at once.
    const uint64_t large = test::kSanitized ? 70'000 : 150'000;
    for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{1001}, large}) {
      for (int root = 0; root < (op.rooted && count == 1001 ? ranks : 1); ++root) {
        for (const bool in_place : {false, true}) {
          if (in_place && !allows_in_place(op.op)) continue;
          OperationSpec spec;
          spec.op = op.op;
          spec.root = op.rooted && count != 1001 ? ranks - 1 : root;
          spec.redop = count == 1001 && op.reduces ? RedOp::kAvg : RedOp::kSum;
          spec.count = op.op == Op::kBarrier ? 0 : count;
          spec.in_place = in_place;
          all.push_back(spec);
        }
      }
    }
  }
  return all;
}

TEST(Relayed, EveryOperationIsRightInEveryGraph) {
  size_t worlds = 0;
  test::RowShare share;
  for (const int ranks : {2, 3, 4, 6}) {
    if (test::kSanitized && ranks > 4) continue;
    for (const RankPairs& apart :
         {RankPairs{}, star(ranks, ranks / 2), star(ranks, 0), chain(ranks), ring(ranks),
          crossed_ring(ranks), some_tree(ranks, 7)}) {
      test::TcpWorld world(ranks);
      world.apart = apart;
      std::vector<OperationSpec> specs;
      for (OperationSpec spec : every_operation(ranks)) {
        for (const char* algorithm : {"auto", "tree"}) {
          spec.algorithm = algorithm;
          if (share.runs("world " + std::to_string(worlds))) specs.push_back(spec);
        }
      }
      world.run([&](Group& group) {
        Executor executor(group, test_kernels(), apart);
        uint32_t seed = 1;
        for (const OperationSpec& spec : specs) {
          ASSERT_EQ(run_verified(executor, spec, group.rank(), ranks, seed++), "")
              << spec.text(ranks, spec.algorithm.c_str()) << ", world " << worlds;
        }
      });
      ++worlds;
    }
  }
  EXPECT_EQ(worlds, test::kSanitized ? 21u : 28u);
}

std::string choice_of(Op op, int ranks, uint64_t count, const RankPairs& apart,
                      const std::string& name = "auto") {
  ScheduleRequest request;
  request.op = op;
  request.size = ranks;
  request.count = count;
  request.apart = &apart;
  const auto found = find_algorithm(name, request);
  return found ? full_name(**found, request) : found.error().message();
}

TEST(Relayed, AutoKeepsToTheConnectionsAndOthersSayWhatIsMissing) {
  constexpr uint64_t kLarge = 1 << 20;
  // Neighbours in a ring of cables are all that a ring needs, and both ways they carry data.
  EXPECT_EQ(choice_of(Op::kAllreduce, 4, kLarge, ring(4)), "ring:2");
  EXPECT_EQ(choice_of(Op::kAllgather, 4, kLarge, ring(4)), "ring:2");
  // Whatever the order of the cables.
  EXPECT_EQ(choice_of(Op::kAllreduce, 4, kLarge, crossed_ring(4)), "ring:2");
  EXPECT_EQ(choice_of(Op::kReduceScatter, 6, kLarge, crossed_ring(6)), "ring:2");
  EXPECT_EQ(choice_of(Op::kAllreduce, 6, kLarge, crossed_ring(6), "ring"), "ring");
  // Small ones have fewer hops in a tree.
  EXPECT_EQ(choice_of(Op::kAllreduce, 4, 8 << 10, ring(4)), "tree");
  // What it would take among all, halving_doubling, needs more than neighbours.
  EXPECT_EQ(choice_of(Op::kAllreduce, 4, 16 << 10, {}), "halving_doubling:2x2");
  EXPECT_EQ(choice_of(Op::kAllreduce, 4, 16 << 10, ring(4)), "ring:2");
  // Some miss nothing that their usual algorithm needs.
  EXPECT_EQ(choice_of(Op::kAllreduce, 4, 2, {{0, 3}}), "recursive_doubling");
  EXPECT_EQ(choice_of(Op::kAllreduce, 4, kLarge, star(4, 1)), "tree");
  EXPECT_EQ(choice_of(Op::kAllreduce, 4, 2, star(4, 1)), "tree");
  EXPECT_EQ(choice_of(Op::kAllreduce, 2, 2, {}), "direct");
  EXPECT_EQ(choice_of(Op::kBroadcast, 4, kLarge, chain(4)), "chain");
  EXPECT_EQ(choice_of(Op::kAlltoall, 4, 2, chain(4)), "tree");
  EXPECT_EQ(choice_of(Op::kBarrier, 4, 0, star(4, 3)), "tree");

  EXPECT_THAT(choice_of(Op::kAllreduce, 4, kLarge, star(4, 1), "ring"),
              HasSubstr("between ranks 0 and 3, which are not connected"));
  EXPECT_THAT(choice_of(Op::kAllreduce, 4, kLarge, star(4, 1), "ring"),
              HasSubstr("algorithm auto"));
  EXPECT_THAT(choice_of(Op::kAllreduce, 3, 2, {{0, 2}, {1, 2}}, "tree"),
              HasSubstr("needs a way from rank 0 to every other"));
  EXPECT_THAT(choice_of(Op::kPingpong, 3, 2, {{0, 1}}),
              HasSubstr("pingpong sends between ranks 0 and 1"));
}

// Only links of the tree, and on each no more than what is wanted behind it.
TEST(Relayed, NoLinkCarriesMoreThanItMust) {
  for (int ranks = 2; ranks <= 7; ++ranks) {
    for (const RankPairs& apart : {star(ranks, 1), chain(ranks), some_tree(ranks, 11)}) {
      for (const Op op : {Op::kAllgather, Op::kReduceScatter, Op::kAlltoall}) {
        ScheduleRequest q;
        q.op = op;
        q.size = ranks;
        q.count = 10;
        q.apart = &apart;
        const auto tree = find_algorithm("tree", q);
        ASSERT_TRUE(tree) << tree.error().message();
        std::map<std::pair<int, int>, uint64_t> sent;
        for (q.rank = 0; q.rank < ranks; ++q.rank) {
          for (const Step& step : build_schedule(**tree, q).steps) {
            if (step.kind == StepKind::kSend) sent[{q.rank, step.peer}] += step.source.count;
          }
        }
        EXPECT_EQ(sent.size(), 2 * static_cast<size_t>(ranks - 1)) << "the links of one tree";
        for (const auto& [link, elements] : sent) {
          // Near and far side have n ranks together; both directions tell how many each.
          const uint64_t back = sent[{link.second, link.first}];
          const auto all = static_cast<uint64_t>(ranks) * q.count;
          if (op != Op::kAlltoall) {
            EXPECT_EQ(elements + back, all) << to_string(op);
          } else {
            EXPECT_EQ(elements, back);
            EXPECT_EQ(elements % q.count, 0u);
            EXPECT_LE(elements, all * static_cast<uint64_t>(ranks) / 4) << "near times far ranks";
          }
        }
      }
    }
  }
}

TEST(Relayed, CellsAreMeasuredWithEverySync) {
  constexpr int kRanks = 4;
  test::RowShare share(3);
  for (const char* sync : {"none", "barrier", "window"}) {
    for (const char* op : {"allreduce", "alltoall", "broadcast"}) {
      if (!share.runs(sync)) continue;
      test::TcpWorld world(kRanks);
      world.apart = star(kRanks, 2);
      Cell cell;
      cell.kind = CellKind::kLatency;
      cell.op = op;
      cell.ranks = kRanks;
      cell.sync = sync;
      cell.bytes = 4096;
      cell.count = shape_of(*op_from(op), DType::kF32, kRanks, cell.bytes).count;
      MeasureSettings settings;
      settings.fixed_iterations = 20;
      std::vector<Measurement> parts(kRanks);
      world.run([&](Group& group) {
        Executor executor(group, test_kernels(), world.apart);
        MeasureContext context;
        context.group = &group;
        context.executor = &executor;
        context.kernels = &test_kernels();
        context.options = &world.options;
        const auto engine = native_engine(context);
        context.engine = engine.get();
        const Expected<Measurement> measured = run_cell(cell, settings, context);
        ASSERT_TRUE(measured) << sync << " " << op << ": " << measured.error().message();
        parts[static_cast<size_t>(group.rank())] = *measured;
      });
      const Measurement& seen = parts.front();
      EXPECT_EQ(seen.outcome, Outcome::kPassed) << seen.reason;
      EXPECT_GE(seen.extra.at(kVerifiedOperations), 1) << sync << " " << op;
      EXPECT_EQ(seen.wrong, 0u);
      EXPECT_EQ(seen.resolved.algorithm, "tree");
      // Windows that a rank was late for are dropped.
      if (std::string(sync) != "window") {
        EXPECT_EQ(seen.iterations, 20u);
      }
      // From leaf to leaf there are two messages, up and down.
      const bool both_ways = std::string(op) == "allreduce";
      EXPECT_EQ(seen.extra.at(kCostDepth), both_ways ? 4 : 2) << op;
    }
  }
}

// A star of all is nothing that a model should choose, or that is worth a measurement.
TEST(Relayed, TheTreeIsACandidateOnlyWhereItIsNeeded) {
  const auto has_tree = [](const RankPairs& apart) {
    ScheduleRequest q;
    q.size = 4;
    q.count = 1000;
    q.apart = &apart;
    const std::vector<std::string> names = candidates_for(q);
    return std::count(names.begin(), names.end(), "tree") != 0;
  };
  EXPECT_FALSE(has_tree({}));
  EXPECT_TRUE(has_tree(star(4, 1)));
}

// What a scenario or `coll` may ask for over hosts that are apart.
TEST(Relayed, WhatCannotBeRelayedSaysWhy) {
  const OptionSet options;
  const RankPairs leaves = star(3, 1);
  Cell cell;
  cell.kind = CellKind::kLatency;
  cell.op = "allreduce";
  cell.ranks = 3;
  cell.bytes = 4096;
  EXPECT_EQ(algorithm_between(cell, options, {}).value(), "auto");
  EXPECT_EQ(algorithm_between(cell, options, leaves).value(), "tree");
  cell.compression = "topk:0.1";
  EXPECT_EQ(algorithm_between(cell, options, leaves).value(), "auto") << "frames are moved";
  cell.compression = "fp16";
  EXPECT_EQ(algorithm_between(cell, options, leaves).value(), "tree");
  cell.compression = "none";
  cell.engine = "gloo";
  EXPECT_THAT(algorithm_between(cell, options, leaves).error().message(),
              HasSubstr("engine gloo connects all ranks"));
  cell.engine = kNativeEngine;
  cell.ranks = 2;
  EXPECT_THAT(algorithm_between(cell, options, {{0, 1}}).error().message(),
              HasSubstr("rank 1 has no way to rank 0"));
  cell.kind = CellKind::kRoof;
  cell.op = "raw_pingpong";
  EXPECT_TRUE(algorithm_between(cell, options, {{0, 1}})) << "it says so itself, next";
}

// With a ring, 4 hosts and a cable for each pair, `auto` had a third of what it has over all
// cables.
TEST(OwnCables, AutoUsesAllOfThem) {
  OptionSet options;
  Cell cell;
  cell.kind = CellKind::kBandwidth;
  cell.ranks = 4;
  cell.bytes = 1 << 20;
  const auto taken = [&](const std::string& op, bool own = true) {
    cell.op = op;
    return algorithm_between(cell, options, {}, own).value();
  };
  EXPECT_EQ(taken("allreduce"), "halving_doubling:4");
  EXPECT_EQ(taken("reduce_scatter"), "direct");
  EXPECT_EQ(taken("allgather"), "direct");
  EXPECT_EQ(taken("broadcast"), "scatter_allgather");
  EXPECT_EQ(taken("reduce"), "scatter_gather");
  EXPECT_EQ(taken("alltoall"), "direct");
  EXPECT_EQ(taken("allreduce", false), "auto") << "left to the ranks";
  cell.ranks = 3;
  EXPECT_EQ(taken("allreduce"), "halving_doubling:3");
  cell.ranks = 2;
  EXPECT_EQ(taken("allreduce"), "ring") << "one cable is one cable";
  cell.ranks = 4;
  // Two of them are not supposed to talk, whatever their addresses say.
  EXPECT_EQ(algorithm_between(cell, options, {{0, 1}}, true).value(), "ring:2");
  cell.bytes = 8;
  EXPECT_EQ(taken("allreduce"), "recursive_doubling");
  cell.bytes = 8 << 20;
  options = *options.with("small_msg_threshold", "16Mi", "test");
  EXPECT_EQ(taken("allreduce"), "recursive_doubling") << "the user's own limit";
  options = OptionSet();
  cell.algorithm = "ring";
  EXPECT_EQ(taken("allreduce"), "ring") << "what is named stays";
  cell.algorithm = "auto";
  EXPECT_EQ(taken("no operation of ours"), "auto");
  cell.engine = "gloo";
  EXPECT_EQ(taken("allreduce"), "auto");
}

TEST(Relayed, ARoofOfAPathThatIsNotThereIsSkippedOnAllRanks) {
  for (const auto& [op, hub, outcome] :
       std::vector<std::tuple<const char*, int, Outcome>>{{"raw_pingpong", 2, Outcome::kSkipped},
                                                          {"raw_pingpong", 1, Outcome::kPassed},
                                                          {"memcpy", 2, Outcome::kPassed}}) {
    test::TcpWorld world(3);
    world.apart = star(3, hub);
    Cell cell;
    cell.kind = CellKind::kRoof;
    cell.op = op;
    cell.ranks = 3;
    cell.bytes = 1024;
    MeasureSettings settings;
    settings.stop.max_time_ns = 20 * kMillisecond;
    std::vector<Measurement> parts(3);
    world.run([&](Group& group) {
      Executor executor(group, test_kernels(), world.apart);
      MeasureContext context;
      context.group = &group;
      context.executor = &executor;
      context.kernels = &test_kernels();
      context.options = &world.options;
      const Expected<Measurement> measured = measure_roof(cell, settings, context);
      ASSERT_TRUE(measured) << measured.error().message();
      parts[static_cast<size_t>(group.rank())] = *measured;
    });
    for (const Measurement& part : parts) {
      EXPECT_EQ(part.outcome, outcome) << op << " " << hub << " " << part.reason;
    }
  }
}

}  // namespace
}  // namespace plumbline
