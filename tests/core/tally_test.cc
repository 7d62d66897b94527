// Counts are said in one form: "15 pass, 1 warn, 30 skipped".
#include "core/record/tally.h"

#include <gtest/gtest.h>

#include "core/diagnosis/finding.h"
#include "core/record/expect.h"
#include "core/record/record.h"

namespace plumbline {
namespace {

TEST(Tally, SaysWhatThereIsInAFixedOrderAndNoZeros) {
  Tally tally;
  EXPECT_EQ(tally.text(), "none");
  tally.add(Standing::kSkipped, 30);
  tally.add(Standing::kWarn);
  tally.add(Standing::kPass, 15);
  tally.add(Standing::kFail, 0);
  EXPECT_EQ(tally.text(), "15 pass, 1 warn, 30 skipped");
  EXPECT_EQ(tally.total(), 46u);
  EXPECT_EQ(tally.without(Standing::kPass).text(), "1 warn, 30 skipped");
  for (const Standing standing : {Standing::kPass, Standing::kNote, Standing::kWarn,
                                  Standing::kFail, Standing::kSkipped, Standing::kUnknown}) {
    Tally one;
    one.add(standing, 2);
    EXPECT_EQ(one.text(), std::string("2 ") + to_string(standing));
    EXPECT_EQ(one.of(standing), 2u);
  }
}

TEST(Tally, TheTotalStandsInFrontWhereItIsWanted) {
  Tally tally;
  EXPECT_EQ(tally.text("check"), "0 checks");
  tally.add(Outcome::kPassed);
  EXPECT_EQ(tally.text("cell"), "1 cell: 1 pass");
  tally.add(Outcome::kFailed);
  tally.add(Outcome::kError, 2);
  tally.add(Outcome::kSkipped, 3);
  EXPECT_EQ(tally.text("cell"), "7 cells: 1 pass, 1 fail, 2 error, 3 skipped");
  Tally twice = tally;
  twice.add(tally);
  EXPECT_EQ(twice.text(), "2 pass, 2 fail, 4 error, 6 skipped");
}

TEST(Tally, ChecksCountAsTheyStandAndRulesAsTheyHold) {
  std::vector<Check> checks(3);
  checks[0].key = "a/h";
  checks[0].outcome = CheckOutcome::kFail;
  checks[1].key = "b/h";
  checks[1].outcome = CheckOutcome::kFail;
  checks[2].outcome = CheckOutcome::kUnknown;
  Finding finding;
  finding.outcome = Severity::kWarn;
  finding.explains = {"a/h"};
  EXPECT_EQ(tally_of(checks, {finding}).text(), "1 warn, 1 fail, 1 unknown");
  std::vector<RuleVerdict> rules(3);
  for (RuleVerdict& rule : rules) rule.passed = true;
  rules[1].passed = false;
  EXPECT_EQ(tally_of(rules).text("rule"), "3 rules: 2 pass, 1 fail");
}

}  // namespace
}  // namespace plumbline
