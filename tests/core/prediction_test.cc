// The model by which a time is predicted: its terms, its largest one, and what makes it say
// nothing.
#include "core/stats/prediction.h"

#include <gtest/gtest.h>

#include <limits>

namespace plumbline {
namespace {

constexpr OperationCost kCost{4, 2e6, 1e6, 5e5};
constexpr Speeds kSpeeds{5e3, 1e9, 4e9, 1e10};

TEST(Prediction, IsTheSumOfItsTerms) {
  const auto prediction = predict(kCost, kSpeeds);
  ASSERT_TRUE(prediction);
  EXPECT_DOUBLE_EQ((*prediction)[Term::kLatency], 2e4);
  EXPECT_DOUBLE_EQ((*prediction)[Term::kBandwidth], 2e6);
  EXPECT_DOUBLE_EQ((*prediction)[Term::kReduce], 2.5e5);
  EXPECT_DOUBLE_EQ((*prediction)[Term::kMemory], 5e4);
  EXPECT_EQ((*prediction)[Term::kSync], 0);
  EXPECT_DOUBLE_EQ(prediction->total_ns(), 2e4 + 2e6 + 2.5e5 + 5e4);
}

TEST(Prediction, NamesTheTermThatDominates) {
  const auto dominating = [](const OperationCost& cost, const Speeds& speeds = kSpeeds) {
    return std::string(to_string(predict(cost, speeds)->dominating()));
  };
  EXPECT_EQ(dominating(kCost), "bandwidth");
  EXPECT_EQ(dominating({400, 2e6, 1e6, 5e5}), "latency") << "of equal ones the first";
  EXPECT_EQ(dominating({401, 2e6, 1e6, 5e5}), "latency");
  EXPECT_EQ(dominating({4, 2e3, 1e6, 5e5}), "reduce");
  EXPECT_EQ(dominating({4, 2e3, 0, 5e5}), "memory");
  Prediction waits = *predict(kCost, kSpeeds);
  waits[Term::kSync] = 2.1e6;
  EXPECT_STREQ(to_string(waits.dominating()), "sync");
}

TEST(Prediction, WhatCostsNothingNeedsNoSpeed) {
  EXPECT_TRUE(predict({4, 0, 0, 0}, {5e3, {}, {}, {}}));
  EXPECT_TRUE(predict({4, 10, 0, 0}, {5e3, 1e9, {}, {}}));
  EXPECT_FALSE(predict({4, 10, 1, 0}, {5e3, 1e9, {}, 1e10})) << "the kernel was not measured";
  EXPECT_FALSE(predict({0, 0, 0, 0}, kSpeeds)) << "an operation that does nothing";
}

TEST(Prediction, NoNumberThatCannotBe) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, kNan}) {
    EXPECT_FALSE(predict(kCost, {5e3, bad, 4e9, 1e10})) << bad;
    EXPECT_FALSE(predict(kCost, {5e3, 1e9, bad, 1e10})) << bad;
  }
  for (const double bad : {-1.0, kNan, kInf, 1e308}) {
    EXPECT_FALSE(predict(kCost, {bad, 1e9, 4e9, 1e10})) << bad;
    EXPECT_FALSE(predict({4, 2e6, bad == 1e308 ? kInf : bad, 0}, kSpeeds)) << bad;
  }
  EXPECT_FALSE(predict(kCost, {5e3, 5e-324, 4e9, 1e10})) << "a speed that makes it infinite";
}

}  // namespace
}  // namespace plumbline
