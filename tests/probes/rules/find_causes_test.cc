#include <fmt/format.h>
#include <gmock/gmock.h>

#include "diagnosis.h"
#include "packet_stop.h"

namespace plumbline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// One proposal; breaks both directions with the peer when it fails and has one.
RankedCandidate proposal(const std::string& cause, int rung, const std::string& host,
                         const std::string& peer, Severity severity = Severity::kFail) {
  RankedCandidate out;
  out.rung = rung;
  Finding& finding = out.candidate.finding;
  finding.cause = cause;
  finding.outcome = severity;
  finding.host = host;
  finding.peer = peer;
  finding.evidence = {{host, "", cause + " of " + peer}};
  finding.remedy = "heal " + host + " " + peer;
  if (severity == Severity::kFail && !peer.empty()) {
    out.candidate.breaks = both_ways(host, peer);
  }
  return out;
}

class Select : public testing::Test {
 protected:
  std::vector<std::string> chosen(std::vector<RankedCandidate> proposals) {
    findings_ = select_causes(set_, checks_, std::move(proposals));
    return test::named(findings_);
  }
  EvidenceSet set_ = test::healthy_star(4);
  std::vector<Check> checks_;
  std::vector<Finding> findings_;
};

TEST_F(Select, NothingGivesNothing) { EXPECT_THAT(chosen({}), IsEmpty()); }

TEST_F(Select, TheEarlierRungTakesThePair) {
  EXPECT_THAT(chosen({proposal("firewall.drop_inbound", kRungFirewall, "mini1", "mini2"),
                      proposal("route.missing", kRungRoute, "mini2", "mini1")}),
              ElementsAre("route.missing mini2>mini1"));
}

TEST_F(Select, OnOneRungTheEarlierRowDoes) {
  RankedCandidate second = proposal("ip.overlap", kRungIp, "mini1", "mini2");
  second.row = 2;
  RankedCandidate first = proposal("ip.missing", kRungIp, "mini2", "mini1");
  first.row = 1;
  EXPECT_THAT(chosen({second, first}), ElementsAre("ip.missing mini2>mini1"));
}

TEST_F(Select, OtherPairsKeepTheirCause) {
  EXPECT_THAT(chosen({proposal("route.missing", kRungRoute, "mini2", "mini1"),
                      proposal("firewall.drop_inbound", kRungFirewall, "mini3", "mini4")}),
              ElementsAre("route.missing mini2>mini1", "firewall.drop_inbound mini3>mini4"));
}

TEST_F(Select, ACauseThatAlsoBreaksAnotherPairStays) {
  RankedCandidate wide = proposal("firewall.drop_inbound", kRungFirewall, "mini1", "mini2");
  wide.candidate.breaks.insert({"mini3", "mini1"});
  EXPECT_THAT(chosen({proposal("route.missing", kRungRoute, "mini2", "mini1"), wide}),
              ElementsAre("route.missing mini2>mini1", "firewall.drop_inbound mini1>mini2"));
}

TEST_F(Select, WhatIsProvenStaysBesideAnEarlierCause) {
  RankedCandidate proven = proposal("firewall.drop_inbound", kRungFirewall, "mini1", "mini2");
  proven.candidate.proven = true;
  EXPECT_THAT(chosen({proposal("config.mismatch", kRungConfig, "mini2", "mini1"), proven}),
              ElementsAre("config.mismatch mini2>mini1", "firewall.drop_inbound mini1>mini2"));
}

TEST_F(Select, TheWayBackExplainsWhoeverNeedsIt) {
  RankedCandidate route = proposal("route.missing", kRungRoute, "mini2", "mini1");
  route.candidate.breaks = {{"mini2", "mini1"}};
  RankedCandidate silent = proposal("firewall.drop_inbound", kRungFirewall, "mini2", "mini1");
  silent.candidate.breaks = {{"mini1", "mini2"}};
  EXPECT_THAT(chosen({route, silent}), testing::SizeIs(2));
  silent.candidate.needs_way_back = true;
  EXPECT_THAT(chosen({route, silent}), ElementsAre("route.missing mini2>mini1"));
}

TEST_F(Select, AFilterThatStopsEveryFrameIsBehindTheSilentNeighbour) {
  RankedCandidate filter = proposal("firewall.drop_inbound", kRungFirewall, "mini1", "mini2");
  filter.candidate.proven = true;
  filter.candidate.supersedes = {"neighbour.unresolved"};
  EXPECT_THAT(chosen({proposal("neighbour.unresolved", kRungNeighbour, "mini2", "mini1"),
                      proposal("neighbour.unresolved", kRungNeighbour, "mini3", "mini4"), filter}),
              ElementsAre("neighbour.unresolved mini3>mini4", "firewall.drop_inbound mini1>mini2"));
}

// Matrix, wrong_service+arp_off: a rule towards a host that is off the link met nobody.
TEST_F(Select, ARuleTowardsAHostOffTheLinkStandsOnlyWhereItStopsOthersToo) {
  RankedCandidate off = proposal("neighbour.unresolved", kRungNeighbour, "mini2", "");
  off.candidate.breaks = pairs_of(set_, "mini2");
  RankedCandidate rule = proposal("firewall.drop_inbound", kRungFirewall, "mini1", "mini2");
  rule.candidate.proven = rule.candidate.by_rules_only = true;
  EXPECT_THAT(chosen({off, rule}), ElementsAre("neighbour.unresolved mini2"));
  RankedCandidate elsewhere = rule;
  elsewhere.candidate.finding.peer = "mini3";
  elsewhere.candidate.breaks = {{"mini3", "mini1"}};
  EXPECT_THAT(chosen({off, rule, elsewhere}),
              ElementsAre("neighbour.unresolved mini2", "firewall.drop_inbound mini1"));
  // Of one silent pair nothing is known but that pair: the rule is a fault of its own.
  RankedCandidate pair = proposal("neighbour.unresolved", kRungNeighbour, "mini2", "mini1");
  EXPECT_THAT(chosen({pair, rule}),
              ElementsAre("neighbour.unresolved mini2>mini1", "firewall.drop_inbound mini1>mini2"));
}

TEST_F(Select, OneCauseOfOneHostIsOneFinding) {
  RankedCandidate one = proposal("firewall.drop_inbound", kRungFirewall, "mini1", "mini2");
  RankedCandidate two = proposal("firewall.drop_inbound", kRungFirewall, "mini1", "mini3");
  one.candidate.finding.ports = {29601, 29600};
  two.candidate.finding.ports = {29600};
  one.candidate.finding.confidence = 0.5;
  two.candidate.finding.confidence = 0.9;
  ASSERT_THAT(chosen({one, two}), ElementsAre("firewall.drop_inbound mini1"));
  EXPECT_THAT(findings_[0].ports, ElementsAre(29600, 29601));
  EXPECT_EQ(findings_[0].confidence, 0.9);
  EXPECT_EQ(findings_[0].evidence.size(), 2u);
  EXPECT_EQ(findings_[0].remedy.text(), "heal mini1 mini2\nheal mini1 mini3");

  ASSERT_THAT(chosen({one, one}), ElementsAre("firewall.drop_inbound mini1>mini2"));
  EXPECT_EQ(findings_[0].evidence.size(), 1u) << "the same is said once";
}

TEST_F(Select, TheWorseOutcomeWinsWhenJoined) {
  EXPECT_THAT(chosen({proposal("loss.random", kRungQuality, "mini1", "mini2", Severity::kWarn),
                      proposal("loss.random", kRungQuality, "mini1", "mini3", Severity::kFail)}),
              ElementsAre("loss.random mini1"));
}

TEST_F(Select, FailuresThenWarningsThenNotesInLadderOrder) {
  EXPECT_THAT(chosen({proposal("icmp.blocked", kRungIcmp, "mini1", "mini2", Severity::kNote),
                      proposal("loss.random", kRungQuality, "mini3", "mini4", Severity::kWarn),
                      proposal("host.overloaded", kRungHost, "mini1", "", Severity::kWarn),
                      proposal("mtu.blackhole", kRungMtu, "mini2", "mini4"),
                      proposal("link.down", kRungLink, "mini1", "mini3")}),
              ElementsAre("link.down mini1>mini3", "mtu.blackhole mini2>mini4",
                          "host.overloaded mini1 (warn)", "loss.random mini3>mini4 (warn)",
                          "icmp.blocked mini1>mini2 (note)"));
}

TEST_F(Select, AWarningIsASymptomOfALinkThatFailsButNotOfAConfiguration) {
  const auto slow = proposal("rate.below_link", kRungQuality, "mini1", "mini2", Severity::kWarn);
  EXPECT_THAT(chosen({proposal("mtu.blackhole", kRungMtu, "mini1", "mini2"), slow}),
              ElementsAre("mtu.blackhole mini1>mini2"));
  EXPECT_THAT(chosen({proposal("ip.duplicate", kRungIp, "mini1", "mini2"), slow}),
              ElementsAre("ip.duplicate mini1>mini2"));
  EXPECT_THAT(chosen({proposal("config.mismatch", kRungConfig, "mini1", "mini2"), slow}),
              ElementsAre("config.mismatch mini1>mini2", "rate.below_link mini1>mini2 (warn)"));
  EXPECT_THAT(chosen({proposal("mtu.blackhole", kRungMtu, "mini1", "mini3"), slow}),
              ElementsAre("mtu.blackhole mini1>mini3", "rate.below_link mini1>mini2 (warn)"));
}

TEST_F(Select, AHostsWarningIsNeverASymptomOfAPairsFailure) {
  EXPECT_THAT(chosen({proposal("link.down", kRungLink, "mini1", "mini2"),
                      proposal("host.sockbuf_clamped", kRungHost, "mini1", "", Severity::kWarn)}),
              ElementsAre("link.down mini1>mini2", "host.sockbuf_clamped mini1 (warn)"));
}

TEST_F(Select, ALinkThatIsSlowByItselfExplainsTheRate) {
  const auto slow = proposal("rate.below_link", kRungQuality, "mini1", "mini2", Severity::kWarn);
  EXPECT_THAT(chosen({slow, proposal("link.duplex", kRungLink, "mini2", "", Severity::kWarn)}),
              ElementsAre("link.duplex mini2 (warn)"));
  EXPECT_THAT(chosen({slow, proposal("link.duplex", kRungLink, "mini3", "", Severity::kWarn)}),
              ElementsAre("link.duplex mini3 (warn)", "rate.below_link mini1>mini2 (warn)"));
}

TEST_F(Select, ChecksThatFollowAreExplainedOnce) {
  Check check;
  check.key = "tcp.connect/mini1>mini2:1";
  check.host = "mini1";
  check.peer = "mini2";
  check.outcome = CheckOutcome::kFail;
  checks_.push_back(check);
  check.key = "mtu/mini1>mini2";
  check.outcome = CheckOutcome::kPass;
  checks_.push_back(check);
  RankedCandidate proven = proposal("firewall.drop_inbound", kRungFirewall, "mini1", "mini2");
  proven.candidate.proven = true;
  ASSERT_EQ(chosen({proposal("link.down", kRungLink, "mini1", "mini2"), proven}).size(), 2u);
  EXPECT_THAT(findings_[0].explains, ElementsAre("tcp.connect/mini1>mini2:1"));
  EXPECT_THAT(findings_[1].explains, IsEmpty());
}

TEST_F(Select, WhatADroppedCauseExplainedPassesToItsCause) {
  RankedCandidate symptom = proposal("firewall.drop_inbound", kRungFirewall, "mini1", "mini2");
  symptom.candidate.finding.explains = {"tcp.connect/mini2>mini1:1"};
  ASSERT_EQ(chosen({proposal("link.down", kRungLink, "mini1", "mini2"), symptom}).size(), 1u);
  EXPECT_THAT(findings_[0].explains, Contains("tcp.connect/mini2>mini1:1"));
}

TEST_F(Select, TheSameEvidenceGivesTheSameFindings) {
  std::vector<RankedCandidate> proposals;
  for (const char* host : {"mini3", "mini1", "mini4", "mini2"}) {
    proposals.push_back(proposal("link.down", kRungLink, host, ""));
    proposals.push_back(proposal("host.limits", kRungHost, host, "", Severity::kWarn));
  }
  const std::vector<std::string> once = chosen(proposals);
  EXPECT_EQ(once[0], "link.down mini1") << "in file order";
  std::reverse(proposals.begin(), proposals.end());
  EXPECT_EQ(chosen(proposals), once);
}

size_t times_asked = 0;

Candidate of(const char* cause) {
  Candidate candidate;
  candidate.finding.cause = cause;
  return candidate;
}

std::vector<Candidate> two_causes(const EvidenceSet&, const std::vector<Check>&) {
  ++times_asked;
  return {of("ip.missing"), of("link.down"), of("ip.missing")};
}
std::vector<Candidate> loner(const EvidenceSet&, const std::vector<Check>&) {
  return {of("link.flapping"), of("link.speed")};
}

TEST(FindCauses, AFamilyOfRowsIsAskedOnce) {
  times_asked = 0;
  const std::vector<RuleRow> rules = {{"link.down", kRungLink, "", two_causes},
                                      {"link", kRungLink, "", loner},
                                      {"ip.missing", kRungIp, "", two_causes},
                                      {"ip.duplicate", kRungIp, "", two_causes}};
  std::vector<std::string> out;
  for (const RankedCandidate& one : proposals(rules, {}, {})) {
    out.push_back(fmt::format("{} {} {}", one.candidate.finding.cause, one.rung, one.row));
  }
  EXPECT_THAT(out, ElementsAre("link.down 60 0", "link.flapping 60 1", "link.speed 60 1",
                               "ip.missing 70 2", "ip.missing 70 2"));
  EXPECT_EQ(times_asked, 1u);
}

TEST(FindCauses, PairsOfAHost) {
  const EvidenceSet set = test::healthy_star(3);
  OrderedPairs pairs = both_ways("mini1", "mini2");
  pairs.merge(both_ways("mini2", "mini3"));
  EXPECT_EQ(pairs_of(set, "mini2"), pairs);
  EXPECT_THAT(pairs_of(set, "nobody"), IsEmpty());
}

// ---- with all rules ----

std::vector<std::string> kept_causes(const EvidenceSet& set) {
  return test::named(find_causes(set, test::pair_checks(set)));
}

TEST(FindCauses, HealthyNetworksHaveNone) {
  EXPECT_THAT(kept_causes(test::healthy_star(2)), IsEmpty());
  EXPECT_THAT(kept_causes(test::healthy_star(4)), IsEmpty());
  EXPECT_THAT(kept_causes(test::healthy_mesh(3)), IsEmpty());
  EXPECT_THAT(kept_causes(test::healthy_local(2)), Not(Contains(HasSubstr("firewall"))));
}

TEST(FindCauses, RulesAreInLadderOrderAndNamedOnce) {
  for (const auto* table : {&host_rules(), &pair_rules()}) {
    for (size_t i = 1; i < table->size(); ++i) {
      EXPECT_LE((*table)[i - 1].rung, (*table)[i].rung) << (*table)[i].name;
    }
  }
  std::set<std::string> names;
  for (const RuleRow& rule : pair_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(std::string(rule.help).empty()) << rule.name;
  }
}

TEST(FindCauses, ALinkThatIsDownHidesWhatCannotBeTriedOverIt) {
  EvidenceSet set = test::healthy_star(4);
  test::StopModel(set,
                  {{test::PacketStop::kOut, "mini2", {}, {}, "drop", false},
                   {test::PacketStop::kIn, "mini2", {}, {}, "drop", false}},
                  test::Sight::kCaptures)
      .apply();
  test::silence_host(set, "mini2");
  InterfaceEvidence& nic = test::nic(set, "mini2", "eth1");
  nic.up = false;
  nic.carrier = false;
  nic.state = "DOWN";
  EXPECT_THAT(kept_causes(set), ElementsAre("link.down mini2"));
}

TEST(FindCauses, ALinkThatIsDownAndAFilterElsewhereAreTwoFaults) {
  EvidenceSet set = test::healthy_star(4);
  test::StopModel(set, {{test::PacketStop::kIn, "mini4"}}, test::Sight::kAll).apply();
  test::silence_host(set, "mini2");
  InterfaceEvidence& nic = test::nic(set, "mini2", "eth1");
  nic.up = false;
  nic.carrier = false;
  nic.state = "DOWN";
  EXPECT_THAT(kept_causes(set), ElementsAre("link.down mini2", "firewall.drop_inbound mini4"));
}

}  // namespace
}  // namespace plumbline
