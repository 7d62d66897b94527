// Ring orders: the slowest hop decides, then the latency.
#include "core/stats/ring_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/record/link.h"
#include "tests/support/link_values.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using test::full;
using test::hop;

TEST(Rings, SlowestHopOfAnOrder) {
  LinkValues rates = full(4, 100);
  hop(rates, 1, 2, 4) = 10;
  const RingOrder ring = weigh_ring({0, 1, 2, 3}, rates, {}, 4);
  EXPECT_EQ(ring.slowest_Bps, 10);
  EXPECT_EQ(ring.from, 1);
  EXPECT_EQ(ring.to, 2);
  EXPECT_TRUE(ring.complete());
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
  EXPECT_FALSE(weigh_ring({0, 1, 2, 3}, rates, {}, 4).complete());
  const RingOrder best = suggest_ring(rates, {}, 4);
  EXPECT_TRUE(best.complete());
  EXPECT_EQ(best.slowest_Bps, 50);
  // A star has none.
  LinkValues star(16);
  for (int leaf = 1; leaf < 4; ++leaf)
    star[static_cast<size_t>(leaf)] = star[pair_index(4, leaf, 0)] = 50;
  EXPECT_FALSE(suggest_ring(star, {}, 4).complete());
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

// Random matrices of 3 to 16 hosts: any rates, a few rates only (ties), rates within some percent
// of one another, both directions alike or not, some links or round trips not measured, a planted
// ring.
struct Matrix {
  int ranks = 0;
  LinkValues rates, latency;
};

Matrix random_matrix(std::mt19937& random) {
  const auto below = [&](unsigned count) { return random() % count; };
  const auto share = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
  const unsigned rate_kind = below(3), missing_kind = below(4), latency_kind = below(3);
  const bool both_ways = below(2) == 0;
  Matrix m;
  m.ranks = static_cast<int>(3 + (below(4) == 0 ? below(14) : below(5)));
  const auto side = static_cast<size_t>(m.ranks), cells = side * side;
  m.rates.resize(cells);
  if (latency_kind > 0) m.latency.resize(cells);
  for (int from = 0; from < m.ranks; ++from) {
    for (int to = 0; to < m.ranks; ++to) {
      const size_t at = pair_index(m.ranks, from, to), back = pair_index(m.ranks, to, from);
      if (from == to) continue;
      const double rate = rate_kind == 0   ? 1 + 999 * share()
                          : rate_kind == 1 ? 100.0 * (1 + below(3))
                                           : 1000 + 80 * share();
      if (missing_kind == 0 || share() > 0.15 * missing_kind) m.rates[at] = rate;
      if (both_ways && to < from) m.rates[at] = m.rates[back];
      if (latency_kind > 0 && (latency_kind == 1 || share() > 0.2))
        m.latency[at] = 1 + 99 * share();
    }
  }
  return m;
}

size_t missing_hops(const RingOrder& ring, const Matrix& m) {
  size_t missing = 0;
  for (size_t i = 0; i < ring.ranks.size(); ++i) {
    missing +=
        !m.rates[pair_index(m.ranks, ring.ranks[i], ring.ranks[(i + 1) % ring.ranks.size()])];
  }
  return missing;
}

TEST(Rings, TheSuggestionNeverHasASlowerHopThanRankOrder) {
  std::mt19937 random(20261123);
  size_t kept = 0, faster = 0, more_measured = 0, incomplete = 0;
  for (int round = 0; round < (test::kSanitized ? 400 : 4000); ++round) {
    const Matrix m = random_matrix(random);
    std::vector<int> order(static_cast<size_t>(m.ranks));
    std::iota(order.begin(), order.end(), 0);
    const RingOrder rank_order = weigh_ring(order, m.rates, m.latency, m.ranks);
    const RingOrder best = suggest_ring(m.rates, m.latency, m.ranks);
    ASSERT_EQ(best.ranks.front(), 0);
    std::vector<int> sorted = best.ranks;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, order) << "every host once";
    const size_t missing = missing_hops(best, m), before = missing_hops(rank_order, m);
    ASSERT_LE(missing, before) << "round " << round;
    if (missing == before) {
      ASSERT_GE(best.slowest_Bps, rank_order.slowest_Bps) << "round " << round;
      ASSERT_GE(best.slowest_measured_Bps, rank_order.slowest_measured_Bps) << "round " << round;
    }
    if (best.ranks != order) {
      const bool measured = missing < before;
      const bool clearly = best.slowest_measured_Bps > 1.0499 * rank_order.slowest_measured_Bps;
      const bool nearer = best.latency_ns > 0 && (rank_order.latency_ns <= 0 ||
                                                  best.latency_ns < 0.951 * rank_order.latency_ns);
      ASSERT_TRUE(measured || clearly || nearer)
          << "round " << round << ": rank order is as good, and should have stayed";
      more_measured += measured;
      faster += clearly;
    } else {
      ++kept;
    }
    incomplete += missing > 0;
  }
  if (test::kSanitized) return;
  // Nothing of this was left out.
  EXPECT_GT(kept, 100U);
  EXPECT_GT(faster, 500U);
  EXPECT_GT(more_measured, 100U);
  EXPECT_GT(incomplete, 30U);
}

TEST(Rings, RankOrderStaysWhereItIsAsGood) {
  for (const int ranks : {3, 4, 9, 10, 16}) {
    std::vector<int> order(static_cast<size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    const LinkValues rates = full(ranks, 100), none(rates.size());
    EXPECT_EQ(suggest_ring(rates, full(ranks, 1000), ranks).ranks, order);
    EXPECT_EQ(suggest_ring(rates, {}, ranks).ranks, order);
    EXPECT_EQ(suggest_ring(none, {}, ranks).ranks, order) << "nothing was measured";
    // Rates and round trips that scatter as those of like links do are no reason to rewire.
    LinkValues scattered = rates, latency = full(ranks, 1000);
    for (size_t i = 0; i < scattered.size(); ++i) {
      if (scattered[i]) *scattered[i] += static_cast<double>(i * 7 % 5) / 2;
      if (latency[i]) *latency[i] += static_cast<double>(i * 11 % 13);
    }
    EXPECT_EQ(suggest_ring(scattered, latency, ranks).ranks, order);
  }
}

// Round trips of some hops only make no sum that could be compared.
TEST(Rings, APartOfTheRoundTripsIsNoSum) {
  const LinkValues rates = full(4, 100);
  LinkValues latency = full(4, 1000);
  latency[pair_index(4, 0, 2)].reset();
  EXPECT_EQ(weigh_ring({0, 1, 2, 3}, rates, latency, 4).latency_ns, 4000);
  EXPECT_EQ(weigh_ring({0, 2, 1, 3}, rates, latency, 4).latency_ns, 0);
  EXPECT_EQ(suggest_ring(rates, latency, 4).ranks, (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace plumbline
