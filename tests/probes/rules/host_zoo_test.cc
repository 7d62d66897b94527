// Healthy networks of many kinds: no rule may say more than a note, and no check may fail.
#include "host_rule_helpers.h"
#include "zoo.h"

namespace plumbline {
namespace {

class Zoo : public testing::TestWithParam<test::ZooRow> {};

TEST_P(Zoo, IsSilent) {
  const EvidenceSet set = GetParam().make();
  const auto checks = test::host_checks(set);
  for (const Check& check : checks) {
    EXPECT_NE(check.outcome, CheckOutcome::kFail) << check.key << ": " << check.reason;
    EXPECT_NE(check.outcome, CheckOutcome::kWarn) << check.key << ": " << check.reason;
  }
  for (const Candidate& candidate : test::propose(set)) {
    EXPECT_EQ(candidate.finding.outcome, Severity::kNote)
        << candidate.finding.cause << "@" << candidate.finding.host << ": "
        << candidate.finding.evidence[0].text;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Zoo, testing::ValuesIn(test::zoo()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(HostRules, TableIsWholeAndInLadderOrder) {
  int rung = 0;
  for (const RuleRow& row : host_rules()) {
    EXPECT_FALSE(std::string(row.name).empty());
    EXPECT_FALSE(std::string(row.help).empty());
    EXPECT_GE(row.rung, rung) << row.name;
    rung = row.rung;
    EXPECT_NE(row.propose, nullptr);
  }
}

TEST(HostRules, NothingKnownNothingProposed) {
  EXPECT_EQ(test::causes_of(EvidenceSet{}), "");
  EvidenceSet set = test::healthy_star(3);
  for (HostEvidence& host : set.hosts) {
    const std::string name = host.name;
    host = HostEvidence{};
    host.name = name;
  }
  set.pairs.clear();
  EXPECT_EQ(test::causes_of(set), "");
  for (const Check& check : test::host_checks(set)) {
    const bool plan = check.id == "ports" || check.key.find("#file") != std::string::npos;
    if (plan) continue;  // judged from the files alone
    EXPECT_NE(check.outcome, CheckOutcome::kPass) << check.key << " was never seen";
  }
}

TEST(HostRules, PairsOfUnknownHostsAreSurvived) {
  EvidenceSet set = test::healthy_star(2);
  set.pairs[0].from = "nobody";
  set.pairs[1].to = "";
  set.hosts.pop_back();
  test::propose(set);
}

}  // namespace
}  // namespace plumbline
