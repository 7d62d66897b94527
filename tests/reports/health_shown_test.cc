// One set of checks and findings, shown by everybody who shows them: what is FAIL on the screen
// makes the verdict, the page and JUnit fail, and nothing else does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "core/diagnosis/finding.h"
#include "reports/doctor.h"
#include "reports/html/page.h"
#include "tests/reports/samples.h"
#include "tests/support/row_share.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

Check check(const std::string& key, CheckOutcome outcome) {
  Check out;
  out.key = key;
  out.id = key.substr(0, key.find('/'));
  out.host = "h1";
  out.outcome = outcome;
  out.reason = "seen";
  return out;
}

Finding finding(Severity severity, std::vector<std::string> explains) {
  Finding out;
  out.cause = "rate.below_link";
  out.outcome = severity;
  out.host = "h1";
  out.remedy = "look at the cable";
  out.explains = std::move(explains);
  return out;
}

std::string report(const std::string& name, const ReportInput& input) {
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  const auto written = find_report(name)->write(input, target);
  EXPECT_TRUE(written) << written.error().message();
  return out.str();
}

struct Shown {
  std::string verdict, text, page, junit, console;
};
Shown shown(const ReportInput& input) {
  const DoctorReport doctor = {{"h1"}, input.checks, input.findings};
  return {doctor_verdict(doctor), doctor_text(doctor, 0, false), report("html", input),
          report("junit", input), report("console", input)};
}

ReportInput four_failed(const std::vector<Finding>& findings) {
  ReportInput input;
  input.records = {samples::record("latency", "allreduce", "ring", 2, 64, 1000)};
  for (const char* key : {"quality/h1>h2", "quality/h1>h3", "quality/h2>h1", "quality/h3>h1"}) {
    input.checks.push_back(check(key, CheckOutcome::kFail));
  }
  input.findings = findings;
  return input;
}

const std::vector<std::string> kAll = {"quality/h1>h2", "quality/h1>h3", "quality/h2>h1",
                                       "quality/h3>h1"};

// They were four rows of FAIL above "verdict: warn" and exit code 0.
TEST(HealthShown, ChecksThatAWarningExplainsFailNowhere) {
  const Shown now = shown(four_failed({finding(Severity::kWarn, kAll)}));
  EXPECT_EQ(now.verdict, "warn");
  EXPECT_THAT(now.text, Not(HasSubstr("FAIL")));
  EXPECT_THAT(now.text, HasSubstr("warn  quality/h1>h2"));
  EXPECT_THAT(now.text, HasSubstr("verdict: warn (4 checks: 4 warn)"));
  EXPECT_THAT(now.page, HasSubstr("Sound, with remarks"));
  EXPECT_THAT(now.page, Not(HasSubstr("Not sound")));
  EXPECT_THAT(now.page, HasSubstr("4 warn"));
  EXPECT_THAT(now.junit, Not(HasSubstr("<failure")));
  EXPECT_THAT(now.console, HasSubstr("Probes: 4 warn"));
}

TEST(HealthShown, ANoteMakesThemNotes) {
  const Shown now = shown(four_failed({finding(Severity::kNote, kAll)}));
  EXPECT_EQ(now.verdict, "ok");
  EXPECT_THAT(now.text, Not(HasSubstr("FAIL")));
  EXPECT_THAT(now.text, HasSubstr("note  quality/h1>h2"));
  EXPECT_THAT(now.junit, Not(HasSubstr("<failure")));
  EXPECT_THAT(now.page, Not(HasSubstr("Not sound")));
}

TEST(HealthShown, OneThatNobodyExplainsFailsEverywhere) {
  // Shown as evidence is not explained.
  Finding most = finding(Severity::kWarn, {kAll[0], kAll[1], kAll[2]});
  most.evidence = {{"h3", kAll[3], "slow"}};
  const Shown now = shown(four_failed({most}));
  EXPECT_EQ(now.verdict, "fail");
  EXPECT_THAT(now.text, HasSubstr("FAIL  quality/h3>h1"));
  EXPECT_THAT(now.text, HasSubstr("3 warn, 1 fail"));
  EXPECT_THAT(now.page, HasSubstr("Not sound"));
  EXPECT_THAT(now.page, HasSubstr("1 failed check without a known cause"));
  EXPECT_THAT(now.junit, HasSubstr("<failure message=\"seen\" type=\"quality\""));
}

// Over every mixture: FAIL in the text, the verdict, the page and JUnit agree.
TEST(HealthShown, AllAgreeOnEveryMixture) {
  test::RowShare share;
  for (const CheckOutcome outcome : {CheckOutcome::kPass, CheckOutcome::kWarn, CheckOutcome::kFail,
                                     CheckOutcome::kSkipped, CheckOutcome::kUnknown}) {
    for (const Severity severity : {Severity::kFail, Severity::kWarn, Severity::kNote}) {
      for (const bool explained : {false, true}) {
        for (const size_t many : {1, 9}) {  // probes with many checks are summed up
          if (!share.runs()) continue;
          ReportInput input;
          input.records = {samples::record("latency", "allreduce", "ring", 2, 64, 1000)};
          Finding one = finding(severity, {});
          for (size_t i = 0; i < many; ++i) {
            input.checks.push_back(check("ip/h" + std::to_string(i), outcome));
            if (explained) one.explains.push_back(input.checks.back().key);
          }
          input.findings = {one};
          const Shown now = shown(input);
          const bool fails = now.verdict == "fail";
          EXPECT_EQ(now.text.find("FAIL") != std::string::npos, fails) << now.text;
          EXPECT_EQ(now.page.find("Not sound") != std::string::npos, fails) << now.text;
          EXPECT_EQ(now.junit.find("<failure") != std::string::npos, fails) << now.text;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
