// The one definition of "something is broken".
#include <gtest/gtest.h>

#include "core/diagnosis/finding.h"

namespace plumbline {
namespace {

Check check(const std::string& key, CheckOutcome outcome) {
  Check out;
  out.key = key;
  out.id = key.substr(0, key.find('/'));
  out.outcome = outcome;
  return out;
}

Finding finding(Severity severity, std::vector<std::string> explains) {
  Finding out;
  out.cause = "x.y";
  out.outcome = severity;
  out.explains = std::move(explains);
  return out;
}

// Four failed checks beside a warning that explains them were FAIL rows above "verdict: warn" and
// exit code 0.
TEST(Health, ACheckThatAWarningOrANoteExplainsStandsAsThat) {
  const Check failed = check("a/h", CheckOutcome::kFail),
              warned = check("a/h", CheckOutcome::kWarn);
  const struct {
    std::vector<Severity> behind;
    Standing failed, warned;
  } cases[] = {
      {{}, Standing::kFail, Standing::kWarn},
      {{Severity::kFail}, Standing::kFail, Standing::kWarn},
      {{Severity::kWarn}, Standing::kWarn, Standing::kWarn},
      {{Severity::kNote}, Standing::kNote, Standing::kNote},
      {{Severity::kNote, Severity::kWarn}, Standing::kWarn, Standing::kWarn},
      {{Severity::kNote, Severity::kFail}, Standing::kFail, Standing::kWarn},
      {{Severity::kFail, Severity::kNote}, Standing::kFail, Standing::kWarn},
  };
  for (const auto& one : cases) {
    std::vector<Finding> findings = {finding(Severity::kNote, {"another/h"})};
    for (const Severity severity : one.behind) findings.push_back(finding(severity, {"a/h"}));
    const Standings standings(findings);
    EXPECT_EQ(standings.of(failed), one.failed) << one.behind.size();
    EXPECT_EQ(standings.of(warned), one.warned) << one.behind.size();
    EXPECT_EQ(standings.explained(failed), !one.behind.empty());
  }
}

TEST(Health, WhatNobodySawIsNeverAVerdict) {
  const std::vector<Finding> findings = {finding(Severity::kWarn, {"a/h", "b/h", "c/h"})};
  const Standings standings(findings);
  EXPECT_EQ(standings.of(check("a/h", CheckOutcome::kPass)), Standing::kPass);
  EXPECT_EQ(standings.of(check("b/h", CheckOutcome::kSkipped)), Standing::kSkipped);
  EXPECT_EQ(standings.of(check("c/h", CheckOutcome::kUnknown)), Standing::kUnknown);
  EXPECT_EQ(health_of({check("a/h", CheckOutcome::kUnknown)}, {}), Health::kOk);
}

// Over all ways in which two checks can end and be explained: a check that stands as failed is
// there exactly when the verdict is "fail", but for a failing finding without a failed check.
TEST(Health, NothingStandsAsFailedWhereTheVerdictIsNotFail) {
  constexpr CheckOutcome kOutcomes[] = {CheckOutcome::kPass, CheckOutcome::kWarn,
                                        CheckOutcome::kFail, CheckOutcome::kSkipped,
                                        CheckOutcome::kUnknown};
  constexpr Severity kSeverities[] = {Severity::kFail, Severity::kWarn, Severity::kNote};
  for (const CheckOutcome first : kOutcomes) {
    for (const CheckOutcome second : kOutcomes) {
      for (const Severity severity : kSeverities) {
        for (const char* explained : {"a/h", "b/h", "c/h"}) {
          const std::vector<Check> checks = {check("a/h", first), check("b/h", second)};
          const std::vector<Finding> findings = {finding(severity, {explained})};
          const Standings standings(findings);
          bool failed = severity == Severity::kFail;
          for (const Check& one : checks) failed = failed || standings.of(one) == Standing::kFail;
          EXPECT_EQ(health_of(checks, findings) == Health::kFail, failed);
        }
      }
    }
  }
}

TEST(Health, FailuresThatNobodyExplainsAreNamed) {
  const std::vector<Check> checks = {
      check("a/h", CheckOutcome::kFail), check("b/h", CheckOutcome::kFail),
      check("c/h", CheckOutcome::kWarn), check("d/h", CheckOutcome::kUnknown)};
  const auto open = unexplained_failures(checks, {finding(Severity::kFail, {"a/h"})});
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0]->key, "b/h");
}

}  // namespace
}  // namespace plumbline
