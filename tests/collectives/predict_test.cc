// The model's times of schedules, the candidates, and what `auto` makes of them.
#include "collectives/predict.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "collectives/schedule.h"

namespace plumbline {
namespace {

constexpr double kAlpha = 10'000, kBeta = 1e9, kGamma = 5e9;

// All alike, and nothing but the link limits it.
Topology even_topology(int ranks) {
  Topology topology;
  topology.host_of.assign(static_cast<size_t>(ranks), 0);
  topology.links.assign(topology.host_of.size() * topology.host_of.size(), {kAlpha, kBeta});
  topology.message_ns = 1;
  topology.port_bytes_per_s = topology.rank_bytes_per_s = 1e12;
  topology.reduce_bytes_per_s = kGamma;
  return topology;
}

ScheduleRequest asked(Op op, int size, uint64_t count) {
  ScheduleRequest request;
  request.op = op;
  request.size = size;
  request.count = count;
  return request;
}

double time_of(const std::string& name, ScheduleRequest request, const Topology& topology) {
  request.topology = &topology;
  const auto row = find_algorithm(name, request);
  EXPECT_TRUE(row) << name;
  return row ? predict_ns(**row, request).value_or(-1) : -1;
}

TEST(Predict, AMessageTakesAlphaAndItsBytes) {
  const Topology two = even_topology(2);
  const double bytes_ns = 4.0 * 250'000 / kBeta * 1e9;
  EXPECT_NEAR(time_of("direct", asked(Op::kPingpong, 2, 0), two), 2 * kAlpha, 10);
  // Its end is handed over by the piece.
  EXPECT_NEAR(time_of("direct", asked(Op::kPingpong, 2, 250'000), two), 2 * (kAlpha + bytes_ns),
              500);
}

TEST(Predict, OfARingItIsTheClosedForm) {
  for (int size = 2; size <= 9; ++size) {
    const Topology topology = even_topology(size);
    ScheduleRequest request = asked(Op::kAllreduce, size, 5040 * 1000);
    const auto ring = find_algorithm("ring", request);
    ASSERT_TRUE(ring);
    const ScheduleCost cost = cost_of(**ring, request);
    const double closed = kAlpha * cost.depth + static_cast<double>(cost.send_bytes) / kBeta * 1e9;
    EXPECT_NEAR(time_of("ring", request, topology) / closed, 1, 0.1) << size;
  }
}

// Each rank hands on what has come: five hops last little longer than one.
TEST(Predict, WhatStreamsOverlaps) {
  const ScheduleRequest request = asked(Op::kBroadcast, 6, 4 << 20);
  const double one_transfer = 4.0 * (4 << 20) / kBeta * 1e9;
  EXPECT_LT(time_of("chain", request, even_topology(6)), 1.1 * one_transfer);
  EXPECT_GT(time_of("chain", request, even_topology(6)), one_transfer);
}

TEST(Predict, ReductionsCountWhereTheyAreSlow) {
  Topology topology = even_topology(2);
  const ScheduleRequest request = asked(Op::kReduceScatter, 2, 1 << 20);
  const double fast = time_of("direct", request, topology);
  topology.reduce_bytes_per_s = kBeta / 10;
  const double reduced_ns = 4.0 * (1 << 20) / topology.reduce_bytes_per_s * 1e9;
  EXPECT_GT(time_of("direct", request, topology), reduced_ns);
  EXPECT_LT(fast, reduced_ns / 5);
}

// A rank whose links share a port sends to three as fast as to one; with links of their own it is
// three times as fast.
TEST(Predict, LinksOfTheirOwnWorkAtOnce) {
  Topology mesh = even_topology(4), one_port = mesh;
  one_port.port_bytes_per_s = kBeta;
  const ScheduleRequest request = asked(Op::kAlltoall, 4, 1 << 20);
  EXPECT_NEAR(time_of("direct", request, one_port) / time_of("direct", request, mesh), 3, 0.2);
}

TEST(Predict, EveryRowOfTheTableHasATimeAtEverySize) {
  for (const OpRow& op : op_table()) {
    for (int size = op.min_ranks; size <= 9; ++size) {
      const Topology topology = even_topology(size);
      for (const std::string& name : candidates_for(asked(op.op, size, 1))) {
        double before = 0;
        for (const uint64_t count : {1, 7, 1000, 100'000}) {
          ScheduleRequest request = asked(op.op, size, count);
          const auto row = find_algorithm(name, request);
          ASSERT_TRUE(row) << op.name << " " << name;
          const double time = time_of(name, request, topology);
          const uint32_t depth = cost_of(**row, request).depth;
          EXPECT_GE(time, 0.999 * kAlpha * depth) << op.name << " " << name << " " << size;
          EXPECT_GE(time, before) << op.name << " " << name << " " << size;
          before = time;
        }
      }
    }
  }
}

TEST(Predict, WithoutRatesOrOverAHoleThereIsNone) {
  ScheduleRequest request = asked(Op::kAllreduce, 3, 100);
  Topology topology = even_topology(3);
  topology.apart = {{0, 2}};
  const auto ring = find_algorithm("ring", request);
  ASSERT_TRUE(ring);
  request.topology = &topology;
  EXPECT_FALSE(predict_ns(**ring, request));
  EXPECT_FALSE(find_algorithm("ring", request)) << "nobody is asked to run it either";
  EXPECT_GT(time_of("tree", request, topology), 0);
  EXPECT_GT(time_of("gather_reduce", asked(Op::kAllreduce, 2, 100), even_topology(2)), 0);
  EXPECT_EQ(time_of("ring", request, even_topology(4)), -1);
  topology.apart.clear();
  topology.links.clear();
  EXPECT_EQ(time_of("ring", request, topology), -1);
}

TEST(Predict, CandidatesAreWhatTheTableCanDoEachOnce) {
  for (const OpRow& op : op_table()) {
    for (int size = op.min_ranks; size <= 9; ++size) {
      const std::vector<std::string> names = candidates_for(asked(op.op, size, 1));
      EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
      for (const std::string& name : names) {
        ScheduleRequest request = asked(op.op, size, 1);
        EXPECT_TRUE(find_algorithm(name, request)) << op.name << " " << name << " " << size;
      }
      EXPECT_FALSE(names.empty()) << op.name << " " << size;
    }
  }
  EXPECT_THAT(candidates_for(asked(Op::kAllreduce, 8, 1)),
              testing::IsSupersetOf({"ring", "ring:2", "exchange:2x2x2", "exchange:8",
                                     "halving_doubling:4x2", "halving_doubling:2x4"}));
}

// ---- auto ----

std::string chosen(ScheduleRequest request, uint64_t small = 0) {
  const auto row = find_algorithm("auto", request, small);
  return row ? full_name(**row, request) : row.error().message();
}

TEST(Predict, AutoTakesWhatIsTunedAndOnlyThere) {
  const std::vector<TunedRange> tuned = {{Op::kAllreduce, 100, 4000, "ring:2"},
                                         {Op::kAllreduce, 4001, 8000, "no_such"}};
  ScheduleRequest request = asked(Op::kAllreduce, 4, 1000);
  const std::string usual = chosen(request);
  ASSERT_NE(usual, "ring:2");
  request.tuned = &tuned;
  EXPECT_EQ(chosen(request), "ring:2");
  request.count = 25;  // 100 bytes
  EXPECT_EQ(chosen(request), "ring:2");
  request.count = 24;
  EXPECT_EQ(chosen(request), usual);
  request.count = 1001;  // what is unknown is passed over
  EXPECT_EQ(chosen(request), usual);
  request.count = 1000;
  EXPECT_EQ(chosen(request, 1 << 20), usual) << "a threshold of the user's own";
  request.op = Op::kBroadcast;
  EXPECT_NE(chosen(request), "ring:2");
}

TEST(Predict, AutoTakesWhatTheModelPromisesToBeClearlyFaster) {
  // Latency is all: what has fewest steps wins far beyond the usual threshold.
  Topology far = even_topology(4);
  for (LinkModel& link : far.links) link.alpha_ns = 1e8;
  ScheduleRequest request = asked(Op::kAllreduce, 4, 1 << 18);
  EXPECT_EQ(chosen(request), "ring");
  request.topology = &far;
  const std::string name = chosen(request);
  EXPECT_EQ(name, "exchange:4");
  // All ranks choose alike.
  for (request.rank = 0; request.rank < 4; ++request.rank) EXPECT_EQ(chosen(request), name);
  // What is tuned comes first; without rates the usual choice stays.
  const std::vector<TunedRange> tuned = {{Op::kAllreduce, 0, UINT64_MAX, "double_tree"}};
  request.tuned = &tuned;
  EXPECT_EQ(chosen(request), "double_tree");
  request.tuned = nullptr;
  far.links.clear();
  EXPECT_EQ(chosen(request), "ring");
}

// A star: only rank 0 reaches all.
TEST(Predict, AutoTakesWhatTheConnectionsAllow) {
  Topology star = even_topology(4);
  star.apart = {{1, 2}, {1, 3}, {2, 3}};
  ScheduleRequest request = asked(Op::kAllreduce, 4, 1 << 20);
  request.topology = &star;
  EXPECT_EQ(chosen(request), "gather_reduce");
}

}  // namespace
}  // namespace plumbline
