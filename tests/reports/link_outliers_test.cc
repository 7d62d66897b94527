// The outlier rule: what must be named and, as important, what must not.
#include "reports/links/link_outliers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "core/record/link.h"

namespace plumbline {
namespace {

const LinkRule kRate{true, 1.5, 0};
const LinkRule kLatency{false, 3, 100'000};

// All links 100 within +-2 %, and these others.
LinkValues grid(int ranks, const std::map<std::pair<int, int>, double>& others = {}) {
  LinkValues values(static_cast<size_t>(ranks * ranks));
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const auto other = others.find({from, to});
      values[pair_index(ranks, from, to)] =
          other != others.end() ? other->second : 98 + (from * 3 + to * 5) % 5;
    }
  }
  return values;
}

std::vector<std::pair<int, int>> pairs_of(const LinkOutliers& found) {
  std::vector<std::pair<int, int>> out;
  for (const LinkOutlier& pair : found.pairs) out.emplace_back(pair.from, pair.to);
  return out;
}

using Pairs = std::vector<std::pair<int, int>>;

class OutliersOf : public testing::TestWithParam<int> {};

TEST_P(OutliersOf, EqualLinksHaveNone) {
  EXPECT_TRUE(find_outliers(grid(GetParam()), GetParam(), kRate).empty());
}

TEST_P(OutliersOf, OneSlowLinkIsNamedAloneWithItsFactor) {
  const int ranks = GetParam();
  const LinkOutliers found = find_outliers(grid(ranks, {{{1, 0}, 10}}), ranks, kRate);
  EXPECT_EQ(pairs_of(found), (Pairs{{1, 0}}));
  EXPECT_TRUE(found.senders.empty());
  EXPECT_TRUE(found.receivers.empty());
  EXPECT_NEAR(found.pairs.at(0).factor, 10, 0.3);
}

TEST_P(OutliersOf, AFifthSlowerIsANearMiss) {
  const int ranks = GetParam();
  EXPECT_TRUE(find_outliers(grid(ranks, {{{1, 0}, 80}}), ranks, kRate).empty());
}

TEST_P(OutliersOf, FasterIsNoFault) {
  const int ranks = GetParam();
  if (ranks == 2) return;  // then the other direction is the slower one of two
  EXPECT_TRUE(find_outliers(grid(ranks, {{{1, 0}, 1000}}), ranks, kRate).empty());
}

TEST_P(OutliersOf, FewValuesSayThatOnlyTheFactorCounted) {
  const int ranks = GetParam();
  EXPECT_EQ(find_outliers(grid(ranks), ranks, kRate).factor_only, ranks == 2);
}

INSTANTIATE_TEST_SUITE_P(Hosts, OutliersOf, testing::Values(2, 3, 4, 8));

TEST(Outliers, SlowSenderIsNamedInsteadOfItsPairs) {
  for (const int ranks : {3, 4, 8}) {
    std::map<std::pair<int, int>, double> slow;
    for (int to = 0; to < ranks; ++to) {
      if (to != 1) slow[{1, to}] = 10;
    }
    const LinkOutliers found = find_outliers(grid(ranks, slow), ranks, kRate);
    ASSERT_EQ(found.senders.size(), 1u) << ranks;
    EXPECT_EQ(found.senders[0].from, 1);
    EXPECT_NEAR(found.senders[0].factor, 10, 0.3);
    EXPECT_TRUE(found.pairs.empty()) << ranks;
    EXPECT_TRUE(found.receivers.empty()) << ranks;
  }
}

TEST(Outliers, SlowReceiverIsNamedInsteadOfItsPairs) {
  const LinkOutliers found =
      find_outliers(grid(4, {{{0, 2}, 10}, {{1, 2}, 9}, {{3, 2}, 11}}), 4, kRate);
  ASSERT_EQ(found.receivers.size(), 1u);
  EXPECT_EQ(found.receivers[0].to, 2);
  EXPECT_TRUE(found.pairs.empty());
}

TEST(Outliers, TwoSlowLinksOfOneSenderAmongSevenAreTwoPairs) {
  const LinkOutliers found = find_outliers(grid(8, {{{0, 2}, 10}, {{0, 5}, 20}}), 8, kRate);
  EXPECT_EQ(pairs_of(found), (Pairs{{0, 2}, {0, 5}}));  // worst first
  EXPECT_TRUE(found.senders.empty());
}

// One bad pair of three hosts is half of a row; that is not the host.
TEST(Outliers, OnePairOfThreeHostsIsNoSender) {
  const LinkOutliers found = find_outliers(grid(3, {{{0, 1}, 10}, {{1, 0}, 10}}), 3, kRate);
  EXPECT_EQ(pairs_of(found).size(), 2u);
  EXPECT_TRUE(found.senders.empty());
  EXPECT_TRUE(found.receivers.empty());
}

// Values that scatter by a factor of two anyway: twice below is nothing special among them.
TEST(Outliers, WideScatterNeedsMore) {
  LinkValues values = grid(4);
  const double scatter[] = {50, 60, 75, 100, 130, 160, 200};
  size_t next = 0;
  for (auto& value : values) {
    if (value) value = scatter[next++ % 7];
  }
  EXPECT_TRUE(find_outliers(values, 4, kRate).empty());
}

TEST(Outliers, LatencyNeedsTheFactorAndTheDifference) {
  LinkValues values = grid(4);
  for (auto& value : values) {
    if (value) *value *= 200;  // about 20 us
  }
  values[1] = 80'000.0;  // four times, but only 60 us more: a busy host
  EXPECT_TRUE(find_outliers(values, 4, kLatency).empty());
  values[1] = 400'000.0;
  EXPECT_EQ(pairs_of(find_outliers(values, 4, kLatency)), (Pairs{{0, 1}}));
}

TEST(Outliers, MissingAndSenselessValuesDoNotCount) {
  LinkValues values = grid(4, {{{1, 0}, 10}});
  values[2].reset();
  values[3] = 0.0;
  values[6] = std::numeric_limits<double>::quiet_NaN();
  values[7] = -5.0;
  const LinkOutliers found = find_outliers(values, 4, kRate);
  EXPECT_EQ(pairs_of(found), (Pairs{{1, 0}}));
  EXPECT_EQ(found.values, 8u);
  EXPECT_TRUE(find_outliers(LinkValues(16), 4, kRate).empty());
  EXPECT_TRUE(find_outliers({}, 4, kRate).empty());
}

TEST(Asymmetry, NamesTheWorseDirectionWorstFirst) {
  const LinkValues values = grid(4, {{{0, 1}, 50}, {{3, 2}, 10}, {{1, 3}, 70}});
  const auto found = find_asymmetries(values, 4, kRate);
  ASSERT_EQ(found.size(), 2u);  // 70 against about 100 is a near miss
  EXPECT_EQ(found[0].from, 3);
  EXPECT_EQ(found[0].to, 2);
  EXPECT_EQ(found[1].from, 0);
  EXPECT_NEAR(found[1].factor, 2, 0.1);
}

}  // namespace
}  // namespace plumbline
