// Rings in an order that was asked for (`ring:0-2-1-3`): how it is read, that it is right for every
// operation, and that a model of unlike links offers one, and only then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "collectives/predict.h"
#include "collectives/suggested_order.h"
#include "core/stats/ring_orders.h"
#include "tests/support/collective_case.h"
#include "tests/support/sanitized.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Order = std::vector<int>;

constexpr uint32_t kOrderSeed = 20261126;

std::vector<const AlgorithmRow*> ring_rows() {
  std::vector<const AlgorithmRow*> rows;
  for (const AlgorithmRow& row : algorithm_table()) {
    if (row.parameter.takes_order) rows.push_back(&row);
  }
  return rows;
}

// As a person would write it: it may begin with any rank.
Order random_order(int ranks, std::mt19937& random) {
  Order order = rank_order(ranks);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

ScheduleRequest ring_request(int ranks, uint64_t count = 12) {
  ScheduleRequest q;
  q.size = ranks;
  q.count = count;
  return q;
}

std::string read_as(const std::string& name, int ranks, const RankPairs& apart = {}) {
  ScheduleRequest q = ring_request(ranks);
  q.apart = &apart;
  const auto found = find_algorithm(name, q);
  return found ? full_name(**found, q) : found.error().message();
}

TEST(RingOrder, IsReadAndBeginsWithRankZero) {
  EXPECT_EQ(read_as("ring:0-2-1-3", 4), "ring:0-2-1-3");
  EXPECT_EQ(read_as("ring:1-3-0-2", 4), "ring:0-2-1-3") << "the same ring";
  EXPECT_EQ(read_as("ring:2:0-2-1-3", 4), "ring:2:0-2-1-3");
  EXPECT_EQ(read_as("ring:1:0-2-1-3", 4), "ring:0-2-1-3");
  EXPECT_EQ(read_as("ring:00-002-1", 3), "ring:0-2-1");
  EXPECT_EQ(read_as("ring:1-0", 2), "ring:0-1");
  EXPECT_EQ(read_as("ring:0-1-2", 3), "ring:0-1-2") << "an order that was asked for stays";
  EXPECT_EQ(read_as("ring:2", 3), "ring:2");
  EXPECT_EQ(read_as("ring:" + std::string(1 << 20, '0') + "-1", 2), "ring:0-1");
  Order many = rank_order(64);
  std::reverse(many.begin() + 1, many.end());
  EXPECT_EQ(read_as("ring:" + order_text(many), 64), "ring:" + order_text(many));
  EXPECT_LE(("2:" + order_text(many)).size(), 192u) << "kPublishedAlgorithm";
}

TEST(RingOrder, WhatIsNoneIsRefusedWithWhatWouldBe) {
  struct Refusal {
    std::string name;
    int ranks;
    const char* words[2];
  };
  const char* kOne = "is no order of ranks";
  const char* kWrite = "write every rank once, such as ring:0-2-1-3";
  const Refusal refusals[] = {
      {"ring:0-1-1", 3, {"has not every rank from 0 to 2 once", kWrite}},
      {"ring:0-1-3", 3, {"has not every rank from 0 to 2 once", kWrite}},
      {"ring:1-2-3", 3, {"has not every rank from 0 to 2 once", kWrite}},
      {"ring:0-2147483647", 2, {"has not every rank from 0 to 1 once", kWrite}},
      {"ring:0-2147483648", 2, {kOne, kWrite}},
      {"ring:0-99999999999999999999999", 2, {kOne, kWrite}},
      {"ring:-", 2, {kOne, kWrite}},
      {"ring:-1", 2, {kOne, kWrite}},
      {"ring:0-", 2, {kOne, kWrite}},
      {"ring:0--1", 2, {kOne, kWrite}},
      {"ring:0 - 1", 2, {kOne, kWrite}},
      {"ring: 0-1", 2, {kOne, kWrite}},
      {"ring:0-1 ", 2, {kOne, kWrite}},
      {"ring:+0-1", 2, {kOne, kWrite}},
      {"ring:0-0x1", 2, {kOne, kWrite}},
      {"ring:0-1.0", 2, {kOne, kWrite}},
      {std::string("ring:0-1\0-2", 11), 3, {kOne, kWrite}},
      {"ring:0-1\n", 2, {kOne, kWrite}},
      {"ring:2:", 2, {kOne, kWrite}},
      {"ring:2:0", 1, {kOne, kWrite}},
      {"ring:2:0-1:", 2, {kOne, kWrite}},
      {"ring:2:2:0-1", 2, {kOne, kWrite}},
      {"ring::0-1", 2, {"'' is no number from 1 to 2", "use ring:2:0-1"}},
      {"ring:3:1-0", 2, {"'3' is no number from 1 to 2", "use ring:2:0-1"}},
      {"ring:", 2, {"'' is no number from 1 to 2", "use ring:2"}},
      {"ring:0", 1, {"'0' is no number from 1 to 2", "use ring:2"}},
      {"ring:0-1-2", 4, {"needs an order of all ranks, such as 0-1-2-3", "this world has 4"}},
      {"ring:2:0-1-2-3-4", 4, {"needs an order of all ranks, such as 0-1-2-3", "has 4"}},
      {"ring:0-1", 1, {"needs no order: name the algorithm alone", "this world has 1"}},
      {"ring:0-1", 64, {"needs an order of all ranks from 0 to 63", "this world has 64"}},
      {"ring:" + order_text(rank_order(65)), 65, {"more than 64 ranks", kWrite}},
      {"ring:" + std::string(1 << 20, '-'), 2, {kOne, kWrite}},
      {"pairwise:0-1", 2, {"unknown algorithm", "use one of"}},
      {"exchange:0-1", 2, {"is no list of radices", "exchange:4x2"}},
  };
  for (const Refusal& refusal : refusals) {
    const std::string said = read_as(refusal.name, refusal.ranks);
    for (const char* words : refusal.words) EXPECT_THAT(said, HasSubstr(words)) << said;
    EXPECT_THAT(said, Not(HasSubstr("\n")));
    EXPECT_LT(said.size(), 400u);
  }
}

// Texts made of what names are made of: refused, or an order that is written and read as itself.
TEST(RingOrder, AnyTextIsRefusedOrReadAsWhatItIs) {
  std::mt19937 random(kOrderSeed);
  const std::string letters = "0123-:--0123";
  int read = 0;
  for (int i = 0; i < (test::kSanitized ? 60'000 : 200'000); ++i) {
    std::string name = "ring:";
    for (size_t left = 1 + random() % 9; left > 0; --left) {
      name += letters[random() % letters.size()];
    }
    for (const int ranks : {2, 3, 4}) {
      ScheduleRequest q = ring_request(ranks);
      const auto found = find_algorithm(name, q);
      if (!found) continue;
      const Order& order = q.parameter.order;
      Order sorted = order;
      std::sort(sorted.begin(), sorted.end());
      ASSERT_TRUE(order.empty() || sorted == rank_order(ranks)) << name;
      ASSERT_EQ(read_as(full_name(**found, q), ranks), full_name(**found, q)) << name;
      read += order.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(read, 100);
}

TEST(RingOrder, NeighboursThatAreApartAreRefusedWithAnOrderThatWorks) {
  const RankPairs cables = {{0, 1}, {2, 3}};  // the ring 0-2-1-3 is whole
  EXPECT_EQ(read_as("ring:2:0-2-1-3", 4, cables), "ring:2:0-2-1-3");
  EXPECT_EQ(read_as("ring:0-3-1-2", 4, cables), "ring:0-3-1-2");
  EXPECT_THAT(read_as("ring:0-1-2-3", 4, cables),
              testing::AllOf(HasSubstr("ring:0-1-2-3 of allreduce sends between ranks 0 and 1"),
                             HasSubstr("not connected"), HasSubstr("use ring:0-2-1-3, algorithm")));
  EXPECT_THAT(read_as("ring:0-2-1", 4, cables), HasSubstr("such as 0-2-1-3"));
  // A star has no ring at all.
  EXPECT_THAT(read_as("ring:0-1-2-3", 4, {{0, 2}, {0, 3}, {2, 3}}),
              testing::AllOf(HasSubstr("not connected"), HasSubstr("use algorithm auto")));
}

TEST(RingOrder, EveryOrderIsRightAndKeepsToItsNeighbours) {
  std::mt19937 random(kOrderSeed);
  ASSERT_EQ(ring_rows().size(), 3u) << "allreduce, reduce_scatter, allgather";
  int checked = 0;
  for (const AlgorithmRow* algorithm : ring_rows()) {
    for (int n = 2; n <= 9; n += test::kSanitized && n >= 4 ? 2 : 1) {
      for (int i = 0; i < 12; ++i) {
        const Order order = random_order(n, random);
        ScheduleRequest q = ring_request(n, random() % 40);
        q.op = algorithm->op;
        q.in_place = i % 2 == 0;
        if (row(q.op).reduces && i % 3 == 0) q.redop = RedOp::kAvg;
        if (q.op == Op::kAllreduce && i % 4 == 0) q.codec.kind = CodecKind::kFp16;
        const std::string name = std::string(i % 2 == 0 ? "ring:" : "ring:2:") + order_text(order);
        ASSERT_TRUE(find_algorithm(name, q)) << name;
        ASSERT_EQ(check_schedule(*algorithm, q), "") << to_string(q.op) << " " << name;
        for (q.rank = 0; q.rank < n; ++q.rank) {
          const auto at = std::find(order.begin(), order.end(), q.rank) - order.begin();
          const int next = order[static_cast<size_t>((at + 1) % n)];
          const int before = order[static_cast<size_t>((at + n - 1) % n)];
          for (const Step& step : build_schedule(*algorithm, q).steps) {
            if (step.kind == StepKind::kLocal) continue;
            const bool down = step.peer == (step.kind == StepKind::kSend ? next : before);
            ASSERT_TRUE(down || (i % 2 == 1 && (step.peer == next || step.peer == before)))
                << name << " rank " << q.rank << " peer " << step.peer;
          }
        }
        ++checked;
      }
    }
  }
  EXPECT_GE(checked, test::kSanitized ? 150 : 288);
}

std::vector<OperationSpec> specs_of(int ranks, std::mt19937& random) {
  std::vector<OperationSpec> specs;
  for (const AlgorithmRow* algorithm : ring_rows()) {
    for (const uint64_t count : {1, 1003, 70'001}) {
      OperationSpec spec;
      spec.op = algorithm->op;
      spec.algorithm = std::string(specs.size() % 2 == 0 ? "ring:" : "ring:2:") +
                       order_text(random_order(ranks, random));
      spec.count = count;
      spec.in_place = specs.size() % 3 == 0;
      specs.push_back(spec);
    }
  }
  return specs;
}

// Over sockets: tcp_test.cc.
TEST(RingOrder, GivesRightResultsAndTheSameOnAllRanks) {
  std::mt19937 random(kOrderSeed);
  for (const int ranks : {2, 3, 4, 7}) {
    World memory = make_memory_groups(ranks, channel_options_for(kWireShapes[0]), {0, true},
                                      kWireShapes[0].buffer_bytes, nullptr);
    EXPECT_EQ(run_all_verified(memory, specs_of(ranks, random), kOrderSeed), "") << ranks;
  }
}

// ---- what links suggest ----

Topology links_of(int ranks, double bytes_per_s = 1e8) {
  Topology topology;
  topology.host_of = rank_order(ranks);
  const int links = ranks * ranks;
  topology.links.assign(static_cast<size_t>(links), {20e3, bytes_per_s});
  topology.message_ns = 2e3;
  topology.port_bytes_per_s = 1e10;
  topology.rank_bytes_per_s = 1e10;
  topology.reduce_bytes_per_s = 1e10;
  return topology;
}

void set_rate(Topology& topology, int a, int b, double bytes_per_s) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    const int link = from * topology.ranks() + to;
    topology.links[static_cast<size_t>(link)].bytes_per_s = bytes_per_s;
  }
}

std::vector<std::string> offered(const Topology& topology, Op op = Op::kAllreduce) {
  ScheduleRequest q = ring_request(topology.ranks(), 1 << 20);
  q.op = op;
  q.topology = &topology;
  return candidates_for(q);
}

TEST(RingOrder, UnlikeLinksSuggestOneThatTheModelTakes) {
  Topology topology = links_of(4);
  set_rate(topology, 0, 1, 1e7);
  set_rate(topology, 2, 3, 1e7);
  suggest_order(topology);
  ASSERT_EQ(topology.ring, (Order{0, 2, 1, 3}));
  for (const AlgorithmRow* algorithm : ring_rows()) {
    const std::vector<std::string> names = offered(topology, algorithm->op);
    EXPECT_THAT(names, Contains("ring:0-2-1-3")) << to_string(algorithm->op);
    EXPECT_THAT(names, Contains("ring:2:0-2-1-3"));
    EXPECT_THAT(names, Contains("ring"));
  }
  ScheduleRequest q = ring_request(4, 4 << 20);
  q.topology = &topology;
  const auto chosen = find_algorithm("auto", q);
  ASSERT_TRUE(chosen);
  EXPECT_THAT(full_name(**chosen, q), HasSubstr("0-2-1-3"));
  q.count = 13;
  EXPECT_EQ(check_schedule(**chosen, q), "");
  // Of a world of other ranks nothing is known.
  ScheduleRequest other = ring_request(3);
  other.topology = &topology;
  EXPECT_THAT(candidates_for(other), Not(Contains(HasSubstr("-"))));
}

TEST(RingOrder, LinksThatAreAlikeSuggestNone) {
  const auto suggested = [](Topology topology) {
    suggest_order(topology);
    if (topology.ring.empty()) {
      EXPECT_THAT(offered(topology), Not(Contains(HasSubstr("-"))));
    }
    return topology.ring;
  };
  for (const int ranks : {2, 3, 4, 8, 12}) EXPECT_EQ(suggested(links_of(ranks)), Order{}) << ranks;
  Topology topology = links_of(4);
  set_rate(topology, 0, 1, 1e8 / 1.04);
  EXPECT_EQ(suggested(topology), Order{}) << "4 % are no reason";
  set_rate(topology, 0, 1, 1e8 / 1.06);
  EXPECT_EQ(suggested(topology).size(), 4u);
  // What every ring goes over no order avoids.
  for (int other = 0; other < 3; ++other) set_rate(topology, other, 3, 1e7);
  EXPECT_EQ(suggested(topology), Order{});
  topology = links_of(4);
  topology.links.clear();
  EXPECT_EQ(suggested(topology), Order{}) << "no rates";
  // Nor does a suggestion go where there is no connection.
  topology = links_of(4);
  set_rate(topology, 0, 1, 1e7);
  topology.apart = {{0, 2}};
  suggest_order(topology);
  EXPECT_EQ(topology.ring, Order{}) << "without 0-2 every ring has 0-1";
}

}  // namespace
}  // namespace plumbline
