// The order in which pairs are measured: complete, without repetition, disjoint where it must be.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "collectives/links/link_measure.h"

namespace plumbline {
namespace {

bool everybody(int, int) { return true; }

std::multiset<std::pair<int, int>> all_pairs_of(const std::vector<LinkRound>& rounds) {
  std::multiset<std::pair<int, int>> out;
  for (const LinkRound& round : rounds) {
    for (const LinkPair& pair : round) out.insert({pair.from, pair.to});
  }
  return out;
}

std::multiset<std::pair<int, int>> every_ordered_pair(int ranks) {
  std::multiset<std::pair<int, int>> out;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to) out.insert({from, to});
    }
  }
  return out;
}

class LinkRoundsOf : public testing::TestWithParam<int> {};

TEST_P(LinkRoundsOf, EveryOrderedPairOnce) {
  const int ranks = GetParam();
  for (const LinkMeasureRow& row : link_measure_table()) {
    EXPECT_EQ(all_pairs_of(link_rounds(row.rounds, ranks, everybody)), every_ordered_pair(ranks))
        << row.name;
  }
}

TEST_P(LinkRoundsOf, OneWayRoundsAreDisjointAndFew) {
  const int ranks = GetParam();
  const auto rounds = link_rounds(LinkRounds::kOneWay, ranks, everybody);
  for (const LinkRound& round : rounds) {
    std::set<int> seen;
    for (const LinkPair& pair : round) {
      EXPECT_TRUE(seen.insert(pair.from).second) << ranks;
      EXPECT_TRUE(seen.insert(pair.to).second) << ranks;
    }
  }
  // n - 1 rounds each way for an even n, n for an odd one: fewer cannot hold all pairs.
  const size_t fewest =
      ranks < 2 ? 0 : static_cast<size_t>(2 * (ranks % 2 == 0 ? ranks - 1 : ranks));
  EXPECT_EQ(rounds.size(), fewest);
}

TEST_P(LinkRoundsOf, BothWaysRoundsHoldBothDirectionsOfDisjointPairs) {
  for (const LinkRound& round : link_rounds(LinkRounds::kBothWays, GetParam(), everybody)) {
    std::map<int, int> partner;
    for (const LinkPair& pair : round) {
      const LinkPair back{pair.to, pair.from};
      EXPECT_NE(std::find(round.begin(), round.end(), back), round.end());
      const auto [known, fresh] = partner.emplace(pair.from, pair.to);
      EXPECT_TRUE(fresh || known->second == pair.to) << "a rank with two partners in one round";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, LinkRoundsOf, testing::Range(1, 10));

TEST(LinkRounds, IncastHasOneReceiverARound) {
  const auto rounds = link_rounds(LinkRounds::kIncast, 5, everybody);
  ASSERT_EQ(rounds.size(), 5u);
  for (const LinkRound& round : rounds) {
    ASSERT_EQ(round.size(), 4u);
    for (const LinkPair& pair : round) EXPECT_EQ(pair.to, round.front().to);
  }
}

TEST(LinkRounds, AllPairsAreOneRound) {
  EXPECT_EQ(link_rounds(LinkRounds::kAllPairs, 4, everybody).size(), 1u);
}

TEST(LinkRounds, UnwantedPairsAreLeftOutAndEmptyRoundsToo) {
  // A star around rank 0.
  const auto star = [](int from, int to) { return from == 0 || to == 0; };
  for (const LinkMeasureRow& row : link_measure_table()) {
    const auto rounds = link_rounds(row.rounds, 4, star);
    EXPECT_EQ(all_pairs_of(rounds).size(), 6u) << row.name;
    for (const LinkRound& round : rounds) {
      EXPECT_FALSE(round.empty());
      for (const LinkPair& pair : round) EXPECT_TRUE(star(pair.from, pair.to)) << row.name;
    }
  }
  EXPECT_TRUE(link_rounds(LinkRounds::kOneWay, 4, [](int, int) { return false; }).empty());
}

}  // namespace
}  // namespace plumbline
