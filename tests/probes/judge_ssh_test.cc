// The check of ssh: ticked only where ssh was used.
#include <gtest/gtest.h>

#include "evidence_builder.h"
#include "probes/judges/judges.h"
#include "probes/probe.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

Check ssh_check(const EvidenceSet& set) {
  for (const Check& check : judge_ssh(set, {})) {
    if (check.host == "mini2") return check;
  }
  ADD_FAILURE() << "no check";
  return {};
}

EvidenceSet by_ssh() {
  EvidenceSet set = test::healthy_star(3);
  test::job_host(set, "mini2").reached_by = "ssh";
  test::job_host(set, "mini2").ssh = "me@mini2";
  test::host(set, "mini2").source = "agent";
  return set;
}

TEST(JudgeSsh, OnlyWhatWasReachedByItIsChecked) {
  EXPECT_EQ(ssh_check(by_ssh()).outcome, CheckOutcome::kPass);
  for (const char* way : {"local", "netns", "file", ""}) {
    EvidenceSet set = by_ssh();
    test::job_host(set, "mini2").reached_by = way;
    EXPECT_EQ(ssh_check(set).outcome, CheckOutcome::kSkipped) << way;
  }
  EvidenceSet collected = by_ssh();
  test::host(collected, "mini2").source = "collected";
  EXPECT_EQ(ssh_check(collected).outcome, CheckOutcome::kUnknown);
}

TEST(JudgeSsh, WhoLetUsInAndHadNoPlumblineLetUsIn) {
  const struct {
    const char* cause;
    CheckOutcome outcome;
  } cases[] = {
      {"ssh.auth", CheckOutcome::kFail},          {"ssh.host_key", CheckOutcome::kFail},
      {"ssh.unreachable", CheckOutcome::kFail},   {"name.unresolved", CheckOutcome::kFail},
      {"ssh.no_binary", CheckOutcome::kPass},     {"ssh.wrong_binary", CheckOutcome::kPass},
      {"rank.agent_lost", CheckOutcome::kUnknown}};
  for (const auto& [cause, outcome] : cases) {
    EvidenceSet set = by_ssh();
    test::host(set, "mini2").agent_cause = cause;
    EXPECT_EQ(ssh_check(set).outcome, outcome) << cause;
  }
}

// A login that is refused is explained by its cause, and not reported beside it.
TEST(JudgeSsh, ARefusedLoginIsExplained) {
  EvidenceSet set = by_ssh();
  HostEvidence none;
  none.name = "mini2";
  none.agent_cause = "ssh.auth";
  none.agent_error = "Permission denied (publickey)";
  test::host(set, "mini2") = none;
  const ProbeResult result = judge_evidence(set, {});
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].cause, "ssh.auth");
  const auto& explains = result.findings[0].explains;
  EXPECT_NE(std::find(explains.begin(), explains.end(), "ssh/mini2"), explains.end());
}

}  // namespace
}  // namespace plumbline
