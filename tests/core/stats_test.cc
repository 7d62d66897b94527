#include "core/stats/stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/json.h"

namespace plumbline {
namespace {

std::vector<int64_t> iota(size_t n) {
  std::vector<int64_t> values(n);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(Quantiles, AbsentBelowTenSamplesBeyond) {
  EXPECT_FALSE(summarize(iota(999)).p99);
  EXPECT_TRUE(summarize(iota(1000)).p99);
  EXPECT_FALSE(summarize(iota(9999)).p999);
  EXPECT_TRUE(summarize(iota(10000)).p999);
  EXPECT_FALSE(summarize(iota(99)).p90);
  EXPECT_TRUE(summarize(iota(100)).p90);
}

// Off-by-one quantile, max that is not max: known sins of well-known tools.
TEST(Quantiles, NearestRankIsExact) {
  const TimeSummary summary = summarize(iota(1000));
  EXPECT_EQ(*summary.p50, 500.5);
  EXPECT_EQ(*summary.p90, 900);
  EXPECT_EQ(*summary.p95, 950);
  EXPECT_EQ(*summary.p99, 990);
  EXPECT_EQ(*summary.min, 1);
  EXPECT_EQ(*summary.max, 1000);
  EXPECT_EQ(quantile_sorted(iota(10), 1.0), 10);
  EXPECT_EQ(quantile_sorted(iota(10), 0.0), 1);
}

TEST(Summary, EmptyAndTinySamples) {
  const TimeSummary empty = summarize(std::vector<int64_t>());
  EXPECT_EQ(empty.n, 0u);
  EXPECT_FALSE(empty.p50 || empty.min || empty.cv || empty.p50_ci95);
  const TimeSummary one = summarize(std::vector<int64_t>{42});
  EXPECT_EQ(*one.p50, 42);
  EXPECT_EQ(*one.mad, 0);
  EXPECT_FALSE(one.cv || one.p50_ci95 || one.p99);
  EXPECT_FALSE(summarize(iota(5)).p50_ci95);
  EXPECT_TRUE(summarize(iota(6)).p50_ci95);
}

// Integer truncation of small spreads prints 0 in a well-known tool.
TEST(Summary, SpreadBelowAMicrosecondIsNotZero) {
  const TimeSummary summary = summarize(std::vector<int64_t>{100, 101, 102, 103, 104, 105});
  EXPECT_GT(*summary.cv, 0.01);
  EXPECT_EQ(*summary.mad, 1.5);
}

TEST(MedianCi, RanksOfTheLiterature) {
  // Le Boudec, Table A.1 gives (40, 61) for n = 100.
  EXPECT_EQ(median_ci_ranks(100), (std::pair<uint64_t, uint64_t>{40, 61}));
  EXPECT_EQ(median_ci_ranks(5), std::nullopt);
  const auto six = median_ci_ranks(6);
  EXPECT_EQ(six->first, 1u);
  EXPECT_EQ(six->second, 6u);
}

TEST(MedianCi, CoversTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(12345);
  std::exponential_distribution<double> exponential(1.0 / 1000);
  int covered = 0;
  constexpr int kTrials = 3000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<int64_t> samples(101);
    for (int64_t& sample : samples) sample = static_cast<int64_t>(exponential(random) * 1000);
    const auto ci = *summarize(samples).p50_ci95;
    const double truth = 1000 * 1000 * 0.6931471805599453;
    covered += ci.first <= truth && truth <= ci.second ? 1 : 0;
  }
  EXPECT_GT(covered, kTrials * 93 / 100);
  EXPECT_LT(covered, kTrials * 98 / 100);
}

TEST(StopRule, StopsByWidthTimeOrCount) {
  StopRule rule;
  rule.ci = 0.05;
  rule.min_n = 30;
  rule.max_n = 1000;
  rule.max_time_ns = 1'000'000;
  std::vector<int64_t> steady(40, 1000);
  EXPECT_EQ(stop_reason(rule, steady, 0), "ci");
  EXPECT_EQ(stop_reason(rule, std::vector<int64_t>(29, 1000), 0), "");
  EXPECT_EQ(stop_reason(rule, std::vector<int64_t>(29, 1000), 1'000'000), "time");
  EXPECT_EQ(stop_reason(rule, std::vector<int64_t>(1000, 1000), 0), "count");
  std::vector<int64_t> wild;
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) wild.push_back(1000 + static_cast<int64_t>(random() % 100000));
  EXPECT_EQ(stop_reason(rule, wild, 0), "");
  rule.ci = 0;
  EXPECT_EQ(stop_reason(rule, steady, 0), "");
}

TEST(StopRule, CorrelatedSamplesCountAsBlocks) {
  StopRule rule;
  rule.ci = 0.1;
  // Slow drift: 60 samples in order look precise, six block means do not.
  std::vector<int64_t> drift;
  for (int i = 0; i < 60; ++i) drift.push_back(1000 + 20 * i);
  EXPECT_GT(autocorrelation_lag1(drift), 0.9);
  EXPECT_EQ(stop_reason(rule, drift, 0), "");
}

TEST(Autocorrelation, KnownSeries) {
  EXPECT_EQ(autocorrelation_lag1(std::vector<int64_t>{1, 2}), 0);
  EXPECT_EQ(autocorrelation_lag1(std::vector<int64_t>(50, 7)), 0);
  std::vector<int64_t> alternating;
  for (int i = 0; i < 100; ++i) alternating.push_back(i % 2 == 0 ? 10 : 20);
  EXPECT_LT(autocorrelation_lag1(alternating), -0.9);
}

TEST(Histogram, BucketsAreMonotonicAndTight) {
  int64_t previous = -1;
  for (uint32_t bucket = 0; bucket < Histogram::bucket_count(); ++bucket) {
    const int64_t low = Histogram::bucket_low(bucket);
    ASSERT_GT(low, previous);
    previous = low;
    ASSERT_EQ(Histogram::bucket_of(low), bucket);
    const int64_t mid = Histogram::bucket_mid(bucket);
    ASSERT_EQ(Histogram::bucket_of(mid), bucket);
    ASSERT_LE(static_cast<double>(mid - low), 0.001 * static_cast<double>(low) + 0.5);
  }
}

TEST(Histogram, AgreesWithSamples) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> lognormal(10, 1.5);
  Histogram histogram;
  std::vector<int64_t> samples;
  for (int i = 0; i < 50'000; ++i) {
    samples.push_back(static_cast<int64_t>(lognormal(random)));
    histogram.add(samples.back());
  }
  const TimeSummary exact = summarize(samples);
  const TimeSummary bucketed = summarize(histogram);
  EXPECT_EQ(exact.n, bucketed.n);
  EXPECT_EQ(exact.min, bucketed.min);
  EXPECT_EQ(exact.max, bucketed.max);
  EXPECT_NEAR(*bucketed.p50 / *exact.p50, 1, 0.002);
  EXPECT_NEAR(*bucketed.p999 / *exact.p999, 1, 0.002);
  EXPECT_NEAR(*bucketed.cv / *exact.cv, 1, 0.01);
  EXPECT_NEAR(*bucketed.mad / *exact.mad, 1, 0.01);
}

TEST(Histogram, MergeEqualsAddingAll) {
  Histogram left, right, all;
  for (int64_t v = 0; v < 5000; v += 7) {
    (v % 2 == 0 ? left : right).add(v * v);
    all.add(v * v);
  }
  left.merge(right);
  left.merge(Histogram());
  EXPECT_EQ(left.sparse(), all.sparse());
  EXPECT_EQ(left.n(), all.n());
  EXPECT_EQ(left.min(), all.min());
  EXPECT_EQ(left.max(), all.max());
  EXPECT_EQ(left.sum(), all.sum());
}

TEST(Histogram, ExtremesStayExact) {
  Histogram histogram;
  histogram.add(-5);
  histogram.add(std::numeric_limits<int64_t>::max() / 2);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), std::numeric_limits<int64_t>::max() / 2);
  EXPECT_EQ(histogram.value_at_rank(1), 0);
}

TEST(Histogram, JsonRoundTripAndHostileJson) {
  Histogram histogram;
  for (int64_t v : {1, 5, 5000, 123456789}) histogram.add(v, 3);
  const nlohmann::json json = histogram;
  const auto back = json.get<Histogram>();
  EXPECT_EQ(back.sparse(), histogram.sparse());
  EXPECT_EQ(back.sum(), histogram.sum());
  nlohmann::json hostile = json;
  hostile["buckets"] = {{4000000000u, 1}, {3, 2}};
  EXPECT_EQ(hostile.get<Histogram>().n(), 2u);  // a bucket out of range does not allocate
  hostile["buckets"] = "x";
  EXPECT_THROW(hostile.get<Histogram>(), nlohmann::json::exception);
}

}  // namespace
}  // namespace plumbline
