// Steps and drifts: what must not be found in noise, and what must be found in spite of it.
#include "core/stats/trend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kSeries = 1000;

enum class Noise { kGauss, kLognormal, kOutliers };

std::vector<double> noise(uint64_t seed, size_t n, double share, Noise kind = Noise::kGauss) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) {
    const double z = gauss(random);
    double value = kind == Noise::kLognormal ? std::exp(share * z) : 1 + share * z;
    if (kind == Noise::kOutliers && uniform(random) < 0.05) value *= 5;
    out.push_back(100 * value);
  }
  return out;
}

std::vector<double> times(size_t n) {
  std::vector<double> out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<double>(i) / 12);  // hours, every 5 min
  return out;
}

TEST(Trend, NoiseHasNoSteps) {
  if (test::kSanitized) GTEST_SKIP() << test::kStatistics;
  for (const Noise kind : {Noise::kGauss, Noise::kLognormal, Noise::kOutliers}) {
    for (const size_t n : {12u, 30u, 96u}) {
      int fired = 0;
      for (int seed = 0; seed < kSeries; ++seed) {
        fired += find_steps(noise(seed + 1, n, 0.1, kind)).empty() ? 0 : 1;
      }
      EXPECT_LE(fired, kSeries / 100) << n << " rounds, kind " << static_cast<int>(kind);
    }
  }
}

// The test alone, without the bounds on the size that make the rule stricter still.
TEST(Trend, ThePermutationTestKeepsItsLevel) {
  if (test::kSanitized) GTEST_SKIP() << test::kStatistics;
  StepRule bare;
  bare.least_share = 0;
  bare.least_superiority = 0;
  int fired = 0;
  for (int seed = 0; seed < kSeries; ++seed) {
    fired += find_steps(noise(seed + 5000, 40, 0.1), bare).empty() ? 0 : 1;
  }
  // 0.5 % of 1000 = 5, standard deviation 2.2.
  EXPECT_LE(fired, 13);
  EXPECT_GE(fired, 1) << "it can fire at all";
}

TEST(Trend, ATwentyPercentStepIsFoundAtItsRound) {
  if (test::kSanitized) GTEST_SKIP() << test::kStatistics;
  constexpr size_t kAt = 40;
  constexpr int kStepped = 300;
  for (const double share : {0.2, -0.2}) {
    int found = 0, exact = 0, near = 0;
    for (int seed = 0; seed < kStepped; ++seed) {
      std::vector<double> values = noise(seed + 1, 96, 0.03);
      for (size_t i = kAt; i < values.size(); ++i) values[i] *= 1 + share;
      const std::vector<LevelStep> steps = find_steps(values);
      if (steps.size() != 1) continue;
      ++found;
      exact += steps[0].at == kAt ? 1 : 0;
      near += steps[0].at + 1 >= kAt && steps[0].at <= kAt + 1 ? 1 : 0;
      EXPECT_NEAR(steps[0].share(), share, 0.05);
    }
    EXPECT_GE(found, 297) << share;
    EXPECT_GE(exact, 294) << share;
    EXPECT_GE(near, 297) << share;
  }
}

// One value in twenty is five times as large, as on a machine with other work.
TEST(Trend, OutliersDoNotHideAStep) {
  int right = 0;
  constexpr int kStepped = 100;
  for (int seed = 0; seed < kStepped; ++seed) {
    std::vector<double> values = noise(seed + 1, 96, 0.03, Noise::kOutliers);
    for (size_t i = 40; i < values.size(); ++i) values[i] *= 1.2;
    const std::vector<LevelStep> steps = find_steps(values);
    right += steps.size() == 1 && steps[0].at >= 39 && steps[0].at <= 41 ? 1 : 0;
  }
  EXPECT_GE(right, 94);
}

TEST(Trend, AShortSeriesAndALateStep) {
  std::vector<double> values = noise(7, 20, 0.02);
  for (size_t i = 14; i < 20; ++i) values[i] *= 2;
  const std::vector<LevelStep> steps = find_steps(values);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].at, 14u);
  EXPECT_NEAR(steps[0].before, 100, 2);
  EXPECT_NEAR(steps[0].after, 200, 4);
  EXPECT_LE(steps[0].p, 0.005);
}

TEST(Trend, DownAndUpAgainAreTwoSteps) {
  std::vector<double> values = noise(3, 60, 0.02);
  for (size_t i = 25; i < 40; ++i) values[i] *= 0.6;
  std::vector<size_t> at;
  for (const LevelStep& step : find_steps(values)) at.push_back(step.at);
  EXPECT_THAT(at, ElementsAre(25, 40));
}

TEST(Trend, OneOrTwoOutliersAreNoStep) {
  std::vector<double> values(50, 100.0);
  values[20] = 1000;
  values[49] = 3;
  values[48] = 3;
  EXPECT_THAT(find_steps(values), IsEmpty());
}

TEST(Trend, NothingComesOfNothing) {
  EXPECT_THAT(find_steps({}), IsEmpty());
  EXPECT_THAT(find_steps(std::vector<double>(100, 5.0)), IsEmpty());
  EXPECT_THAT(find_steps(std::vector<double>{1, 1, 1, 9, 9, 9}), IsEmpty());  // too few
  EXPECT_FALSE(theil_sen({}, {}));
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  EXPECT_FALSE(theil_sen(six, six));
}

TEST(Trend, SmallerStepsThanTheRuleAreNotTold) {
  std::vector<double> values = noise(11, 96, 0.001);
  for (size_t i = 50; i < values.size(); ++i) values[i] *= 1.03;
  EXPECT_THAT(find_steps(values), IsEmpty());
}

TEST(Trend, TheilSenIsTheMedianOfAllSlopes) {
  // Slopes of the pairs of (0,0) (1,1) (2,2) ... are all 1; one outlier changes nothing.
  std::vector<double> x, y;
  for (int i = 0; i < 20; ++i) {
    x.push_back(i);
    y.push_back(i);
  }
  y[10] = 500;
  const auto slope = theil_sen(x, y);
  ASSERT_TRUE(slope);
  EXPECT_DOUBLE_EQ(slope->value, 1);
  EXPECT_FALSE(slope->includes_zero());
}

TEST(Trend, NoiseHasNoDriftAndTheIntervalHoldsTheTruth) {
  if (test::kSanitized) GTEST_SKIP() << test::kStatistics;
  int fired = 0, missed = 0;
  const std::vector<double> x = times(96);
  for (int seed = 0; seed < kSeries; ++seed) {
    std::vector<double> y = noise(seed + 1, 96, 0.05, Noise::kLognormal);
    const auto flat = theil_sen(x, y);
    ASSERT_TRUE(flat);
    fired += flat->includes_zero() ? 0 : 1;
    for (size_t i = 0; i < y.size(); ++i) y[i] += 4 * x[i];
    const auto tilted = theil_sen(x, y);
    missed += tilted->low <= 4 && 4 <= tilted->high ? 0 : 1;
    EXPECT_FALSE(tilted->includes_zero());
  }
  // 1 % of 1000 = 10, standard deviation 3.1.
  EXPECT_LE(fired, 20);
  EXPECT_LE(missed, 20);
}

TEST(Trend, AStepIsNoDrift) {
  const std::vector<double> x = times(60);
  std::vector<double> y = noise(5, 60, 0.02);
  for (size_t i = 30; i < y.size(); ++i) y[i] *= 1.5;
  EXPECT_FALSE(theil_sen(x, y)->includes_zero());
  const std::vector<size_t> steps = {30};
  EXPECT_TRUE(theil_sen(x, y, steps)->includes_zero());
}

TEST(Trend, ALongSeriesStaysBoundedAndKeepsItsShape) {
  BoundedSeries series;
  constexpr int64_t kRounds = 1'000'000;
  for (int64_t round = 1; round <= kRounds; ++round) {
    series.add(static_cast<double>(round), round, round < kRounds / 2 ? 100 : 150);
  }
  const std::vector<TrendPoint> points = series.points();
  EXPECT_EQ(series.added(), static_cast<size_t>(kRounds));
  EXPECT_LE(points.size(), BoundedSeries::kMostPoints + 1);
  EXPECT_GE(points.size(), BoundedSeries::kMostPoints / 4);
  EXPECT_EQ(points.front().first_round, 1);
  EXPECT_EQ(points.back().last_round, kRounds);
  for (size_t i = 1; i < points.size(); ++i) {
    EXPECT_EQ(points[i].first_round, points[i - 1].last_round + 1);
  }
  std::vector<double> y;
  for (const TrendPoint& point : points) y.push_back(point.y);
  const std::vector<LevelStep> steps = find_steps(y);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(static_cast<double>(points[steps[0].at].first_round), kRounds / 2.0, 2048);
}

TEST(Trend, ShortSeriesAreKeptAsTheyAre) {
  BoundedSeries series;
  for (int64_t round = 1; round <= 5; ++round)
    series.add(10.0 * static_cast<double>(round), round, 7.0 * static_cast<double>(round));
  const std::vector<TrendPoint> points = series.points();
  ASSERT_EQ(points.size(), 5u);
  EXPECT_DOUBLE_EQ(points[4].x, 50);
  EXPECT_DOUBLE_EQ(points[4].y, 35);
  EXPECT_EQ(points[4].first_round, 5);
  EXPECT_EQ(points[4].last_round, 5);
}

}  // namespace
}  // namespace plumbline
