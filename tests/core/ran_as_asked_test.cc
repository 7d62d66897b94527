#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/record/record.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

Status judged(const std::string& asked, const std::string& over, Outcome outcome,
              const std::string& option = "auto", const std::string& engine = kNativeEngine) {
  Cell cell;
  cell.engine = engine;
  cell.transport = asked;
  Measurement measurement;
  measurement.outcome = outcome;
  measurement.resolved.transport = over;
  return ran_as_asked(cell, measurement, option);
}

TEST(RanAsAsked, AnotherTransportIsAnError) {
  for (const Outcome outcome : {Outcome::kPassed, Outcome::kFailed}) {
    const Status memory = judged("memory", "tcp", outcome);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().cause, "config.mismatch");
    EXPECT_THAT(memory.error().message(),
                HasSubstr("transport memory was asked for, but the ranks used tcp"));
    EXPECT_FALSE(judged("tcp", "", outcome)) << "nobody says what ran";
    EXPECT_TRUE(judged("tcp", "tcp", outcome));
    EXPECT_TRUE(judged("auto", "tcp", outcome));
  }
  EXPECT_TRUE(judged("memory", "", Outcome::kSkipped));
  EXPECT_TRUE(judged("memory", "", Outcome::kError));
}

TEST(RanAsAsked, WhatTheOptionAsksForCountsWhereTheCellAsksForNone) {
  EXPECT_TRUE(judged("auto", "memory", Outcome::kPassed, "memory"));
  EXPECT_TRUE(judged("tcp", "tcp", Outcome::kPassed, "memory")) << "the cell is nearer";
  const Status other = judged("auto", "tcp", Outcome::kPassed, "memory");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("transport memory was asked for"));
}

TEST(RanAsAsked, TheOptionSaysNothingOfTheNetworkOfAnotherEngine) {
  EXPECT_TRUE(judged("auto", "tcp", Outcome::kPassed, "memory", "gloo"));
  EXPECT_FALSE(judged("memory", "tcp", Outcome::kPassed, "auto", "gloo"));
}

}  // namespace
}  // namespace plumbline
