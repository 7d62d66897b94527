// Every algorithm's schedule for many shapes, executed symbolically; and the checker itself, which
// must notice schedules that were spoiled on purpose.
#include "collectives/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/row_share.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

std::string describe(const AlgorithmRow& row, const ScheduleRequest& q) {
  return std::string(to_string(row.op)) + " " + full_name(row, q) + " n=" + std::to_string(q.size) +
         " count=" + std::to_string(q.count) + " root=" + std::to_string(q.root) +
         (q.in_place ? " in place" : "") + " " + to_string(q.redop) + " " + to_string(q.codec);
}

std::set<uint64_t> counts_for(int n) {
  const auto u = static_cast<uint64_t>(n);
  return {0, 1, 2, 3, 7, u - 1, u, u + 1, 17, 64};
}

// What an algorithm that takes a number may be asked for; radices have tests of their own.
std::vector<int> numbers_for(const AlgorithmRow& algorithm) {
  const ParameterRow& row = algorithm.parameter;
  if (row.form != ParameterForm::kNumber) return {0};
  std::set<int> numbers = {0, row.least, std::min(row.most, row.least + 1), row.most};
  return {numbers.begin(), numbers.end()};
}

// All shapes of one algorithm and world size; segments of 5 elements, so that there are several.
std::vector<ScheduleRequest> shapes(const AlgorithmRow& algorithm, int n,
                                    const RankPairs* apart = nullptr) {
  std::vector<ScheduleRequest> all;
  const OpRow& op = row(algorithm.op);
  for (uint64_t count : counts_for(n)) {
    for (int root = 0; root < (op.rooted ? n : 1); ++root) {
      for (bool in_place : {false, true}) {
        for (RedOp redop : {RedOp::kSum, RedOp::kAvg}) {
          if (redop == RedOp::kAvg && !op.reduces) continue;
          if (in_place && !allows_in_place(algorithm.op)) continue;
          ScheduleRequest q;
          q.op = algorithm.op;
          q.redop = redop;
          q.size = n;
          q.root = root;
          q.count = count;
          q.in_place = in_place;
          q.segment_bytes = 20;
          q.apart = apart;
          if (!algorithm.unsupported(q).empty() || n < op.min_ranks) continue;
          for (const int number : numbers_for(algorithm)) {
            q.parameter.number = number;
            q.codec = {};
            all.push_back(q);
            if (q.op != Op::kAllreduce) continue;
            q.codec.kind = CodecKind::kFp16;
            all.push_back(q);
          }
        }
      }
    }
  }
  return all;
}

// Every tree that breadth first search makes of random graphs, chains and stars, and every
// operation along it.
TEST(Schedule, TreesAreRightInEveryGraph) {
  std::mt19937 random(7);
  std::set<Op> operations;
  test::RowShare share;
  for (int n = 1; n <= 9; ++n) {
    const int graphs = test::kSanitized ? 2 : n < 5 ? 12 : 4;
    for (int graph = 0; graph < graphs; ++graph) {
      // A random tree is what stays connected; most other pairs are apart.
      std::set<std::pair<int, int>> joined;
      for (int rank = 1; rank < n; ++rank) joined.insert({static_cast<int>(random() % rank), rank});
      RankPairs apart;
      for (int a = 0; a < n; ++a) {
        for (int b = a + 1; b < n; ++b) {
          if (joined.count({a, b}) == 0 && random() % 4 != 0) apart.push_back({a, b});
        }
      }
      const Expected<std::vector<int>> tree = spanning_tree(n, apart);
      ASSERT_TRUE(tree) << tree.error().message();
      for (int rank = 1; rank < n; ++rank) {
        const std::pair<int, int> edge = std::minmax(rank, (*tree)[static_cast<size_t>(rank)]);
        EXPECT_EQ(std::count(apart.begin(), apart.end(), edge), 0) << "no such connection";
      }
      for (const AlgorithmRow& algorithm : algorithm_table()) {
        if (std::string(algorithm.name) != "tree") continue;
        operations.insert(algorithm.op);
        for (const ScheduleRequest& shape : shapes(algorithm, n, &apart)) {
          if (!share.runs(to_string(algorithm.op))) continue;
          ASSERT_EQ(check_schedule(algorithm, shape), "") << describe(algorithm, shape);
        }
      }
    }
  }
  EXPECT_GT(share.run(), test::kSanitized ? 300u : 1000u);
  for (const OpRow& op : op_table())
    EXPECT_EQ(operations.count(op.op), op.point_to_point ? 0u : 1u);
}

// Rings of cables that were plugged in any order, with some more cables: every ring algorithm goes
// round along connections only, and is right.
TEST(Schedule, RingsAreFoundInEveryOrderOfTheCables) {
  std::mt19937 random(15);
  test::RowShare share(8);
  int by_number = 0;
  for (int n = 3; n <= 9; ++n) {
    for (int graph = 0; graph < (test::kSanitized ? 2 : 6); ++graph) {
      std::vector<int> cabled(static_cast<size_t>(n));
      std::iota(cabled.begin(), cabled.end(), 0);
      std::shuffle(cabled.begin(), cabled.end(), random);
      std::set<std::pair<int, int>> joined;
      for (size_t i = 0; i < cabled.size(); ++i) {
        joined.insert(std::minmax(cabled[i], cabled[(i + 1) % cabled.size()]));
      }
      RankPairs apart;
      for (int a = 0; a < n; ++a) {
        for (int b = a + 1; b < n; ++b) {
          if (joined.count({a, b}) == 0 && (graph == 0 || random() % 4 != 0)) {
            apart.push_back({a, b});
          }
        }
      }
      const std::vector<int> order = ring_order(n, apart);
      by_number += std::is_sorted(order.begin(), order.end()) ? 1 : 0;
      for (const AlgorithmRow& algorithm : algorithm_table()) {
        if (std::string(algorithm.name) != "ring") continue;
        for (ScheduleRequest shape : shapes(algorithm, n, &apart)) {
          if (!share.runs(to_string(algorithm.op))) continue;
          const auto found = find_algorithm(shape.parameter.number == 2 ? "ring:2" : "ring", shape);
          ASSERT_TRUE(found) << found.error().message();
          ASSERT_EQ(check_schedule(algorithm, shape), "") << describe(algorithm, shape);
        }
      }
    }
  }
  EXPECT_GT(share.run(), test::kSanitized ? 40u : 300u);
  EXPECT_LT(by_number, 10) << "most orders are not that of the numbers";
}

TEST(Schedule, TheOrderOfARingIsThatOfTheNumbersWhereItCanBe) {
  using Order = std::vector<int>;
  EXPECT_EQ(ring_order(1, {}), Order{0});
  EXPECT_EQ(ring_order(4, {}), (Order{0, 1, 2, 3}));
  EXPECT_EQ(ring_order(4, {{0, 2}}), (Order{0, 1, 2, 3})) << "no neighbours";
  EXPECT_EQ(ring_order(4, {{0, 2}, {3, 5}}), (Order{0, 1, 2, 3})) << "not of this world";
  EXPECT_EQ(ring_order(4, {{0, 1}, {2, 3}}), (Order{0, 2, 1, 3}));
  // A star has none, and two clouds joined by one cable have none either, which a search among
  // many ranks must not take for ever to see.
  EXPECT_EQ(ring_order(4, {{0, 2}, {0, 3}, {2, 3}}), (Order{0, 1, 2, 3}));
  RankPairs clouds;
  for (int a = 0; a < 32; ++a) {
    for (int b = 32; b < 64; ++b) {
      if (a != 31 || b != 32) clouds.push_back({a, b});
    }
  }
  EXPECT_EQ(ring_order(64, clouds).at(63), 63);
}

TEST(Schedule, ARankWithoutAnyWayIsNamed) {
  const auto tree = spanning_tree(4, {{0, 3}, {1, 3}, {3, 2}});
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, ErrorCode::kUnreachable);
  EXPECT_NE(tree.error().message().find("rank 3"), std::string::npos) << tree.error().message();
  // The shortest ways: 2 over 1, not over 3.
  EXPECT_EQ(spanning_tree(4, {{0, 2}}).value(), (std::vector<int>{-1, 0, 1, 0}));
}

TEST(Schedule, EveryAlgorithmIsRightForEveryShape) {
  test::RowShare share(8);
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    for (int n = 1; n <= 9; ++n) {
      for (const ScheduleRequest& q : shapes(algorithm, n)) {
        if (!share.runs(std::string(to_string(algorithm.op)) + algorithm.name)) continue;
        ASSERT_EQ(check_schedule(algorithm, q), "") << describe(algorithm, q);
      }
    }
  }
  EXPECT_GT(share.run(), test::kSanitized ? 1000u : 3000u);
}

TEST(Schedule, LargerWorlds) {
  test::RowShare share;
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    for (int n : {16, 23, 32}) {
      ScheduleRequest q;
      q.op = algorithm.op;
      q.size = n;
      q.root = n / 3;
      q.count = n > 24 ? 2 : 5;
      if (!algorithm.unsupported(q).empty() || !share.runs()) continue;
      EXPECT_EQ(check_schedule(algorithm, q), "") << describe(algorithm, q);
    }
  }
}

TEST(Schedule, NamesAreUniqueAndEveryOpHasAnAlgorithm) {
  std::set<std::pair<Op, std::string>> names;
  std::set<Op> ops;
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    EXPECT_TRUE(names.emplace(algorithm.op, algorithm.name).second) << algorithm.name;
    EXPECT_NE(std::string(algorithm.name), "auto");
    EXPECT_GT(std::string(algorithm.help).size(), 10u) << algorithm.name;
    EXPECT_GT(std::string(algorithm.source).size(), 5u) << algorithm.name;
    ops.insert(algorithm.op);
  }
  EXPECT_EQ(ops.size(), op_table().size());
}

ScheduleRequest request_for(Op op, int size, uint64_t count) {
  ScheduleRequest q;
  q.op = op;
  q.size = size;
  q.count = count;
  return q;
}

TEST(FindAlgorithm, AutoFollowsSizeAndRanks) {
  const auto name = [](Op op, int size, uint64_t count, uint64_t small = 0) -> std::string {
    ScheduleRequest q = request_for(op, size, count);
    const auto found = find_algorithm("auto", q, small);
    return found ? full_name(**found, q) : found.error().message();
  };
  EXPECT_EQ(name(Op::kAllreduce, 2, 2), "direct");
  EXPECT_EQ(name(Op::kAllreduce, 2, 1 << 24), "ring");
  EXPECT_EQ(name(Op::kAllreduce, 5, 2), "recursive_doubling");
  EXPECT_EQ(name(Op::kAllreduce, 5, (64 << 10) / 4), "halving_doubling:5");
  EXPECT_EQ(name(Op::kAllreduce, 5, (256 << 10) / 4), "ring");
  EXPECT_EQ(name(Op::kAllreduce, 8, (256 << 10) / 4), "halving_doubling:2x2x2");
  EXPECT_EQ(name(Op::kAllreduce, 5, 1 << 24), "ring");
  EXPECT_EQ(name(Op::kAllreduce, 2, 2, 4), "ring");  // SMALL_MSG_THRESHOLD of 4 bytes
  EXPECT_EQ(name(Op::kAllreduce, 5, 1 << 20, 64 << 20), "recursive_doubling");
  EXPECT_EQ(name(Op::kAllgather, 4, 2), "recursive_doubling");
  EXPECT_EQ(name(Op::kAllgather, 6, 2), "bruck");
  EXPECT_EQ(name(Op::kReduceScatter, 7, 2), "direct");
  EXPECT_EQ(name(Op::kReduceScatter, 2, 2), "ring") << "the same message, without scratch";
  EXPECT_EQ(name(Op::kReduceScatter, 3, 2), "direct");
  EXPECT_EQ(name(Op::kReduceScatter, 8, (128 << 10) / 4 / 8), "recursive_halving:2x2x2");
  EXPECT_EQ(name(Op::kReduceScatter, 9, (128 << 10) / 4), "ring");
  EXPECT_EQ(name(Op::kScatter, 15, 2), "direct");
  EXPECT_EQ(name(Op::kScatter, 16, 2), "binomial");
  EXPECT_EQ(name(Op::kScatter, 16, 1 << 20), "direct");
  EXPECT_EQ(name(Op::kAlltoall, 11, 2), "direct");
  EXPECT_EQ(name(Op::kAlltoall, 12, 2), "bruck");
  EXPECT_EQ(name(Op::kAlltoall, 12, 1 << 20), "direct");
  // Every op gets something for every size it allows.
  for (const OpRow& op : op_table()) {
    for (int n = op.min_ranks; n <= 9; ++n) {
      for (uint64_t count : {0u, 1u, 1u << 24}) {
        ScheduleRequest q = request_for(op.op, n, count);
        const auto found = find_algorithm("auto", q);
        ASSERT_TRUE(found) << op.name << " " << n;
        EXPECT_EQ((*found)->op, op.op);
        EXPECT_EQ((*found)->unsupported(q), "");
      }
    }
  }
}

TEST(FindAlgorithm, ErrorsNameTheInputAndTheChoices) {
  const auto find = [](const std::string& name, Op op, int size) {
    ScheduleRequest q = request_for(op, size, 1);
    return find_algorithm(name, q);
  };
  const auto unknown = find("rnig", Op::kAllreduce, 4);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kConfig);
  EXPECT_NE(unknown.error().message().find("rnig"), std::string::npos);
  EXPECT_NE(unknown.error().message().find("ring"), std::string::npos);
  const auto elsewhere = find("dissemination", Op::kAllreduce, 4);
  EXPECT_FALSE(elsewhere);
  const auto odd = find("recursive_doubling", Op::kAllgather, 6);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(odd.error().message().find("power-of-two"), std::string::npos);
  EXPECT_FALSE(find("direct", Op::kAllreduce, 3));
  EXPECT_FALSE(find("auto", Op::kPingpong, 1));
}

TEST(Cost, RingSendsTheIdealBytes) {
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    if (std::string(algorithm.name) != "ring") continue;
    for (int n : {2, 3, 4, 8}) {
      ScheduleRequest q = request_for(algorithm.op, n, 24);
      const bool share = row(algorithm.op).per_rank_share;
      const uint64_t bytes = 24 * 4 * (share ? static_cast<uint64_t>(n) : 1);
      for (const int number : numbers_for(algorithm)) {
        q.parameter.number = number;
        uint64_t sent = 0;
        for (q.rank = 0; q.rank < n; ++q.rank) {
          sent += cost_of(algorithm.build(q), 4).send_bytes;
        }
        EXPECT_EQ(sent, ideal_wire_bytes(algorithm.op, n, bytes)) << describe(algorithm, q);
      }
    }
  }
}

TEST(Cost, DepthCountsMessagesAcrossRanks) {
  const auto depth = [](Op op, const char* name, int size) {
    ScheduleRequest q = request_for(op, size, 64);
    return cost_of(**find_algorithm(name, q), q).depth;
  };
  EXPECT_EQ(depth(Op::kAllreduce, "direct", 2), 1u);
  EXPECT_EQ(depth(Op::kAllreduce, "ring", 2), 2u);
  EXPECT_EQ(depth(Op::kAllreduce, "ring", 5), 8u);
  EXPECT_EQ(depth(Op::kAllreduce, "recursive_doubling", 8), 3u);
  EXPECT_EQ(depth(Op::kAllreduce, "recursive_doubling", 7), 4u);  // fold, 2 rounds, unfold
  // Only one pair is folded: its late start and its late end do not lie on one chain.
  EXPECT_EQ(depth(Op::kAllreduce, "recursive_doubling", 9), 4u);
  EXPECT_EQ(depth(Op::kAllreduce, "gather_reduce", 9), 2u);
  EXPECT_EQ(depth(Op::kBroadcast, "binomial", 8), 3u);
  EXPECT_EQ(depth(Op::kBroadcast, "chain", 8), 7u);
  EXPECT_EQ(depth(Op::kBarrier, "dissemination", 9), 4u);
  EXPECT_EQ(depth(Op::kPingpong, "direct", 2), 2u);
  EXPECT_EQ(depth(Op::kAllreduce, "ring", 1), 0u);
}

// Steps, and what the busiest rank sends, in arrays or parts, where everything divides evenly.
TEST(Cost, IsThatOfTheFormulas) {
  struct Row {
    Op op;
    const char* name;
    int ranks;
    uint32_t depth;
    double arguments;  // sent by the busiest rank, in sizes of one rank's argument
  };
  const Row rows[] = {
      {Op::kAllreduce, "ring:2", 8, 14, 14.0 / 8},
      {Op::kAllreduce, "serial_star", 8, 2, 7},
      {Op::kAllreduce, "double_tree", 8, 6, 2},
      {Op::kAllreduce, "double_tree", 32, 10, 2},
      {Op::kReduceScatter, "ring:2", 4, 3, 3},
      {Op::kReduceScatter, "recursive_halving", 8, 3, 7},
      {Op::kReduceScatter, "recursive_halving:7", 7, 1, 6},
      {Op::kReduceScatter, "recursive_halving:3x2", 6, 2, 5},
      {Op::kAllgather, "ring:2", 4, 3, 3},
      {Op::kAllgather, "direct", 9, 1, 8},
      {Op::kAllgather, "exchange", 9, 2, 8},
      {Op::kAllgather, "exchange:4x2", 8, 2, 7},
      {Op::kBroadcast, "scatter_allgather", 9, 2, 1},
      {Op::kBroadcast, "double_tree", 8, 3, 1},
      {Op::kReduce, "scatter_gather", 9, 2, 1},
      {Op::kReduce, "double_tree", 8, 3, 1},
      {Op::kGather, "binomial", 8, 3, 4},
      {Op::kScatter, "binomial", 8, 3, 7},
      {Op::kAlltoall, "pairwise:1", 8, 7, 7},
      {Op::kAlltoall, "pairwise:1024", 8, 1, 7},
      {Op::kAlltoall, "bruck", 8, 3, 12},
      {Op::kAlltoall, "bruck", 9, 3, 13},  // in the fourth round only what has not moved yet
  };
  for (const Row& row : rows) {
    ScheduleRequest q = request_for(row.op, row.ranks, 5040);
    const auto found = find_algorithm(row.name, q);
    ASSERT_TRUE(found) << row.name << ": " << found.error().message();
    ScheduleCost most;
    for (q.rank = 0; q.rank < q.size; ++q.rank) {
      const ScheduleCost cost = cost_of(**found, q);
      most.depth = std::max(most.depth, cost.depth);
      most.send_bytes = std::max(most.send_bytes, cost.send_bytes);
    }
    EXPECT_EQ(most.depth, row.depth) << describe(**found, q);
    EXPECT_EQ(static_cast<double>(most.send_bytes), row.arguments * 5040 * 4)
        << describe(**found, q);
  }
}

TEST(Cost, CountsReduceAndCopyBytes) {
  ScheduleRequest q = request_for(Op::kAllreduce, 2, 10);
  const ScheduleCost cost = cost_of(**find_algorithm("direct", q), q);
  EXPECT_EQ(cost.sends, 1u);
  EXPECT_EQ(cost.recvs, 1u);
  EXPECT_EQ(cost.send_bytes, 40u);
  EXPECT_EQ(cost.recv_bytes, 40u);
  EXPECT_EQ(cost.reduce_bytes, 40u);
  EXPECT_EQ(cost.copy_bytes, 0u);
}

}  // namespace
}  // namespace plumbline
