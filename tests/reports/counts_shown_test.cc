// Every report says the same counts in the same words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/html/page.h"
#include "reports/report.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

ReportInput mixed() {
  ReportInput input;
  for (const uint64_t bytes : {64, 128, 256, 512}) {
    input.records.push_back(samples::record("latency", "allreduce", "ring", 2, bytes, 1000));
  }
  input.records[1].measurement.outcome = Outcome::kSkipped;
  input.records[2].measurement.outcome = Outcome::kError;
  input.records[3].noise.verdict = "noisy";
  for (const CheckOutcome outcome :
       {CheckOutcome::kPass, CheckOutcome::kPass, CheckOutcome::kWarn, CheckOutcome::kSkipped}) {
    Check check;
    check.id = "ip";
    check.key = "ip/h" + std::to_string(input.checks.size());
    check.outcome = outcome;
    input.checks.push_back(check);
  }
  RuleVerdict rule;
  rule.rule = "wrong: 0";
  rule.passed = true;
  input.rules = {rule, rule};
  input.rules[1].passed = false;
  return input;
}

std::string report_of_counts(const std::string& name, const ReportInput& input) {
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  const auto written = find_report(name)->write(input, target);
  EXPECT_TRUE(written) << written.error().message();
  return out.str();
}

TEST(CountsShown, TheSameWordsInEveryReport) {
  const ReportInput input = mixed();
  for (const char* name : {"console", "markdown", "html"}) {
    const std::string text = report_of_counts(name, input);
    EXPECT_THAT(text, HasSubstr("4 cells: 2 pass, 1 error, 1 skipped; 1 noisy")) << name;
    EXPECT_THAT(text, HasSubstr("2 rules: 1 pass, 1 fail")) << name;
    EXPECT_THAT(text, Not(HasSubstr(" 0 failed"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("passed,"))) << name;
  }
  for (const char* name : {"console", "markdown"}) {
    EXPECT_THAT(report_of_counts(name, input), HasSubstr("Probes: 2 pass, 1 warn, 1 skipped"))
        << name;
  }
}

TEST(CountsShown, TilesOfThePage) {
  const std::string page = report_of_counts("html", mixed());
  EXPECT_THAT(page, HasSubstr("<dt>Cells</dt><dd class=\"figure\">2 pass</dd>"));
  EXPECT_THAT(page, HasSubstr("1 error, 1 skipped</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Checks</dt><dd class=\"figure\">2 pass</dd>"));
  EXPECT_THAT(page, HasSubstr("1 warn, 1 skipped</dd>"));
}

}  // namespace
}  // namespace plumbline
