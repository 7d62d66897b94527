// Ring orders: the slowest hop decides, then the latency.
#include "reports/link_rings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/link.h"

namespace plumbline {
namespace {

LinkValues full(int ranks, double value) {
  LinkValues values(static_cast<size_t>(ranks * ranks), value);
  for (int i = 0; i < ranks; ++i) values[pair_index(ranks, i, i)].reset();
  return values;
}

double& hop(LinkValues& values, int from, int to, int ranks) {
  return *values[pair_index(ranks, from, to)];
}

TEST(Rings, SlowestHopOfAnOrder) {
  LinkValues rates = full(4, 100);
  hop(rates, 1, 2, 4) = 10;
  const RingOrder ring = weigh_ring({0, 1, 2, 3}, rates, {}, 4);
  EXPECT_EQ(ring.slowest_Bps, 10);
  EXPECT_EQ(ring.from, 1);
  EXPECT_EQ(ring.to, 2);
  EXPECT_TRUE(ring.complete);
}

TEST(Rings, SuggestionAvoidsTheSlowLinkInItsDirection) {
  LinkValues rates = full(4, 100);
  hop(rates, 1, 2, 4) = 10;
  const RingOrder best = suggest_ring(rates, {}, 4);
  EXPECT_EQ(best.slowest_Bps, 100);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(best.ranks[i] == 1 && best.ranks[(i + 1) % 4] == 2);
  }
}

TEST(Rings, TwoAndThreeHostsHaveLittleChoice) {
  LinkValues two = full(2, 100);
  hop(two, 0, 1, 2) = 10;
  EXPECT_EQ(suggest_ring(two, {}, 2).slowest_Bps, 10);
  LinkValues three = full(3, 100);
  hop(three, 0, 1, 3) = 10;
  EXPECT_EQ(suggest_ring(three, {}, 3).ranks, (std::vector<int>{0, 2, 1}));
}

TEST(Rings, LatencyDecidesAmongEqualHops) {
  LinkValues rates = full(4, 100), latency = full(4, 1000);
  hop(rates, 0, 2, 4) = 103;  // within the threshold: no better
  hop(latency, 0, 1, 4) = hop(latency, 1, 3, 4) = hop(latency, 3, 2, 4) = hop(latency, 2, 0, 4) =
      10;
  EXPECT_EQ(suggest_ring(rates, latency, 4).ranks, (std::vector<int>{0, 1, 3, 2}));
}

TEST(Rings, MissingHopsAreAvoidedAndTold) {
  // A real ring 0 - 2 - 1 - 3 - 0: the diagonals were not measured.
  LinkValues rates(16);
  for (const auto& [a, b] : {std::pair{0, 2}, {2, 1}, {1, 3}, {3, 0}}) {
    rates[pair_index(4, a, b)] = rates[pair_index(4, b, a)] = 50;
  }
  EXPECT_FALSE(weigh_ring({0, 1, 2, 3}, rates, {}, 4).complete);
  const RingOrder best = suggest_ring(rates, {}, 4);
  EXPECT_TRUE(best.complete);
  EXPECT_EQ(best.slowest_Bps, 50);
  // A star has none.
  LinkValues star(16);
  for (int leaf = 1; leaf < 4; ++leaf)
    star[static_cast<size_t>(leaf)] = star[pair_index(4, leaf, 0)] = 50;
  EXPECT_FALSE(suggest_ring(star, {}, 4).complete);
}

// Against all orders of 7 hosts with random rates.
TEST(Rings, ExactIsTheBestOfAllOrders) {
  std::mt19937 random(20261120);
  std::uniform_real_distribution<double> any(1, 1000);
  for (int round = 0; round < 5; ++round) {
    LinkValues rates = full(7, 1);
    for (auto& value : rates) {
      if (value) value = any(random);
    }
    std::vector<int> order(7);
    std::iota(order.begin(), order.end(), 0);
    double best = 0;
    do {
      best = std::max(best, weigh_ring(order, rates, {}, 7).slowest_Bps);
    } while (std::next_permutation(order.begin() + 1, order.end()));
    EXPECT_GE(suggest_ring(rates, {}, 7).slowest_Bps, best / 1.06);
  }
}

// A hidden ring of fast links among 12 hosts, the rest slow: too many for all orders.
TEST(Rings, GreedyFindsAHiddenRingAndKeepsEveryRankOnce) {
  const std::vector<int> hidden = {0, 7, 3, 11, 5, 1, 9, 2, 8, 4, 10, 6};
  LinkValues rates = full(12, 10);
  for (size_t i = 0; i < hidden.size(); ++i) {
    hop(rates, hidden[i], hidden[(i + 1) % hidden.size()], 12) = 100;
  }
  const RingOrder best = suggest_ring(rates, {}, 12);
  EXPECT_EQ(best.ranks, hidden);
  EXPECT_EQ(best.slowest_Bps, 100);
}

TEST(Rings, ManyHostsEndSoon) {
  LinkValues rates = full(200, 100);
  std::vector<int> order = suggest_ring(rates, {}, 200).ranks;
  std::sort(order.begin(), order.end());
  EXPECT_EQ(std::unique(order.begin(), order.end()) - order.begin(), 200);
}

TEST(Rings, ListNamesRankOrderReverseAndSuggestion) {
  LinkValues rates = full(6, 100);
  hop(rates, 0, 1, 6) = hop(rates, 1, 0, 6) = 10;
  const auto rings = ring_orders(rates, {}, 6);
  ASSERT_EQ(rings.size(), 3u);
  EXPECT_EQ(rings[0].name, "rank order");
  EXPECT_EQ(rings[1].name, "reversed");
  EXPECT_EQ(rings[2].name, "suggested");
  EXPECT_EQ(ring_orders(rates, {}, 2).size(), 1u);
  EXPECT_EQ(ring_orders(full(4, 1), {}, 4).size(), 6u);  // all there are
  EXPECT_EQ(ring_orders(full(4, 1), {}, 4)[0].name, "rank order, suggested");
}

}  // namespace
}  // namespace plumbline
