#include "probes/tcp_rules.h"

#include <gmock/gmock.h>

#include "probe_helpers.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PairAttempt pair_of(const std::vector<std::pair<int, AttemptOutcome>>& outcomes) {
  PairAttempt pair = {"a", "b", "b0", "10.0.0.1", "10.0.0.2", {}};
  for (const auto& [port, outcome] : outcomes) {
    PortAttempt attempt;
    attempt.port = port;
    attempt.outcome = outcome;
    attempt.of_job = port < 60000;
    attempt.time_ns = 1'000'000;
    attempt.error = {ErrorCode::kUnreachable, "connect", EHOSTUNREACH, "", ""};
    pair.ports.push_back(attempt);
  }
  return pair;
}

ProbeResult judge(const std::vector<std::pair<int, AttemptOutcome>>& outcomes) {
  const ProbeResult result = judge_pair(pair_of(outcomes), "");
  test::expect_well_formed(result);
  return result;
}

TEST(TcpRules, AllOpen) {
  const ProbeResult result = judge({{1, AttemptOutcome::kOpen}, {2, AttemptOutcome::kOpen}});
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.checks[0].key, "tcp.connect/a>b:1");
  EXPECT_EQ(result.checks[0].outcome, CheckOutcome::kPass);
}

TEST(TcpRules, AllBlockedGivesThePlainCause) {
  const std::pair<AttemptOutcome, const char*> cases[] = {
      {AttemptOutcome::kTimeout, "firewall.drop_inbound "},
      {AttemptOutcome::kRefused, "firewall.reject_rst "},
      {AttemptOutcome::kUnreachable, "firewall.reject_icmp "},
      {AttemptOutcome::kReset, "firewall.reject_rst "},
  };
  for (const auto& [outcome, cause] : cases) {
    const ProbeResult result = judge({{1, outcome}, {2, outcome}});
    ASSERT_EQ(test::causes(result), cause);
    const Finding& finding = result.findings[0];
    EXPECT_EQ(finding.host, "b") << "the remedy belongs where the listener is";
    EXPECT_EQ(finding.peer, "a");
    EXPECT_THAT(finding.ports, ElementsAre(1, 2));
    EXPECT_LT(finding.confidence, 1);
    EXPECT_EQ(finding.explains.size(), 2u);
    EXPECT_THAT(finding.remedy, HasSubstr("10.0.0.1"));
  }
}

TEST(TcpRules, SomeBlockedIsAPartOfTheRange) {
  const ProbeResult result = judge({{1, AttemptOutcome::kOpen},
                                    {2, AttemptOutcome::kTimeout},
                                    {3, AttemptOutcome::kOpen},
                                    {4, AttemptOutcome::kRefused}});
  ASSERT_EQ(test::causes(result), "firewall.partial_range ");
  EXPECT_THAT(result.findings[0].ports, ElementsAre(2, 4));
  EXPECT_EQ(result.findings[0].port, std::nullopt);
}

TEST(TcpRules, AFurtherPortThatIsOpenDoesNotMakeTheWindowPartial) {
  const ProbeResult result = judge({{1, AttemptOutcome::kTimeout},
                                    {2, AttemptOutcome::kTimeout},
                                    {65432, AttemptOutcome::kOpen}});
  EXPECT_EQ(test::causes(result), "firewall.drop_inbound ");
}

TEST(TcpRules, OnlyAFurtherPortIsBlocked) {
  const ProbeResult result = judge({{1, AttemptOutcome::kOpen}, {65432, AttemptOutcome::kTimeout}});
  ASSERT_EQ(test::causes(result), "firewall.partial_range ");
  EXPECT_EQ(result.findings[0].port, 65432);
}

TEST(TcpRules, HeldPortsAreNotBlockedPorts) {
  PairAttempt pair = pair_of({{1, AttemptOutcome::kHeld}, {2, AttemptOutcome::kOpen}});
  pair.ports[0].owner = "PID 7 (x)";
  const ProbeResult result = judge_pair(pair, "--port-base 20000");
  test::expect_well_formed(result);
  ASSERT_EQ(test::causes(result), "tcp.port_in_use ");
  EXPECT_EQ(result.findings[0].host, "b0") << "the first host that is this machine";
  EXPECT_EQ(result.findings[0].peer, "");
  EXPECT_THAT(result.checks[0].reason, HasSubstr("PID 7 (x)"));
}

TEST(TcpRules, NoRouteIsNoFirewall) {
  PairAttempt pair =
      pair_of({{1, AttemptOutcome::kUnreachable}, {2, AttemptOutcome::kUnreachable}});
  for (PortAttempt& attempt : pair.ports) attempt.error.cause = "route.missing";
  ProbeResult result = judge_pair(pair, "");
  test::expect_well_formed(result);
  EXPECT_EQ(test::causes(result), "route.missing route.missing ");
  EXPECT_EQ(result.findings[0].host, "a") << "the route is missing at the sender";
}

TEST(TcpRules, SomebodyElseAnswers) {
  const ProbeResult result = judge({{1, AttemptOutcome::kWrongService}});
  ASSERT_EQ(test::causes(result), "tcp.wrong_service ");
  EXPECT_EQ(result.findings[0].port, 1);
}

TEST(TcpRules, WhatWasNotTriedIsUnknown) {
  const ProbeResult result =
      judge({{1, AttemptOutcome::kNoListener}, {2, AttemptOutcome::kNoTime}});
  EXPECT_TRUE(result.findings.empty()) << test::causes(result);
  for (const Check& check : result.checks) EXPECT_EQ(check.outcome, CheckOutcome::kUnknown);
}

}  // namespace
}  // namespace plumbline
