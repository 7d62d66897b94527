#include <gtest/gtest.h>

#include <limits>

#include "core/stats/stats.h"

namespace plumbline {
namespace {

std::vector<size_t> sizes(std::vector<double> rates) {
  std::vector<size_t> out;
  for (const RateGroup& group : rate_groups(std::move(rates))) out.push_back(group.members.size());
  return out;
}

using Sizes = std::vector<size_t>;

TEST(RateGroups, RatesThatAgreeAreOne) {
  EXPECT_EQ(sizes({100, 98, 102, 101}), (Sizes{4}));
  EXPECT_EQ(sizes({}), Sizes{});
  EXPECT_EQ(sizes({7}), (Sizes{1}));
}

TEST(RateGroups, HalfMayBeSlow) {
  const auto groups = rate_groups({100, 14, 99, 15, 101, 14, 15, 98});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_NEAR(groups[0].usual, 99.5, 0.1);
  EXPECT_EQ(groups[1].members, (std::vector<double>{15, 15, 14, 14}));
  EXPECT_EQ(best_group(groups, 2), &groups[0]);
  EXPECT_EQ(best_group(groups, 5), nullptr);
}

TEST(RateGroups, OneFastRateIsNoMeasure) {
  const auto groups = rate_groups({1000, 100, 99, 101});
  EXPECT_EQ(best_group(groups, 2), &groups[1]);
  EXPECT_EQ(best_group(groups, 1), &groups[0]);
}

TEST(RateGroups, AnEvenScatterHasNoGroups) {
  EXPECT_EQ(sizes({200, 200, 160, 160, 130, 130, 100, 100, 75, 75, 60, 50}), (Sizes{12}));
}

TEST(RateGroups, BelowNeedsTheFactorAndTheGap) {
  const RateGroup group = rate_groups({100, 100, 99}).at(0);
  EXPECT_TRUE(is_below(group, 60, 1.5));
  EXPECT_FALSE(is_below(group, 70, 1.5));
  EXPECT_FALSE(is_below(rate_groups({200, 160, 130, 100, 75}).at(0), 75, 1.5)) << "a member";
}

TEST(RateGroups, SenselessRatesDoNotCount) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sizes({kNan, kInfinity, 0, -3, 5}), (Sizes{1}));
}

}  // namespace
}  // namespace plumbline
