// `doctor --peer ADDRESS` without an agent at the other end: what may be said when only one side
// was seen, with root (ARP, captures, rules) and without (the kernel's word and the socket's).
#include "diagnosis.h"
#include "host_rule_helpers.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPeerMac = "02:00:00:00:02:01";

// mini1 asks mini2, of which nothing is known; everything answers so far.
EvidenceSet one_sided(bool root) {
  EvidenceSet set = test::healthy_star(2);
  HostEvidence& peer = test::host(set, "mini2");
  peer = HostEvidence{};
  peer.name = "mini2";
  peer.agent_error = "no agent there: its side is judged from the others only";
  PairEvidence& back = test::pair(set, "mini2", "mini1");
  PairEvidence nothing;
  nothing.from = back.from;
  nothing.to = back.to;
  nothing.from_ip = back.from_ip;
  nothing.to_ip = back.to_ip;
  nothing.skipped = "no agent on mini2";
  back = nothing;
  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  pair.quality.reset();
  pair.mtu.reset();
  for (PortTry& attempt : pair.ports) {
    const int port = attempt.port;
    attempt = PortTry{};
    attempt.port = port;
    attempt.result = "refused";
    attempt.error = "ECONNREFUSED";
  }
  if (root) return set;
  pair.neighbour->method = "kernel";
  for (FilterSource& source : test::host(set, "mini1").filter_sources) source.readable = false;
  return set;
}

// No SYN is answered. `seen_leaving`: what the capture of mini1 says of it, where there is one.
void drop_connections(EvidenceSet& set, std::optional<bool> seen_leaving) {
  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  for (PortTry& attempt : pair.ports) {
    attempt.result = "timeout";
    attempt.error = "ETIMEDOUT";
    attempt.took_ns = 1500 * test::kMilli;
    attempt.captured_here = seen_leaving.has_value();
    if (!seen_leaving.value_or(false)) continue;
    TraceFlow flow;
    flow.a_ip = pair.from_ip;
    flow.b_ip = pair.to_ip;
    flow.a.syn = 2;
    attempt.here = flow;
  }
}

// Nothing comes back at all, as from a machine that is off.
void silence(EvidenceSet& set, std::optional<bool> seen_leaving) {
  drop_connections(set, seen_leaving);
  PingEvidence& ping = *test::pair(set, "mini1", "mini2").ping;
  ping.received = 0;
  ping.rtt_ns.clear();
}

NeighbourProbe& neighbour(EvidenceSet& set) { return *test::pair(set, "mini1", "mini2").neighbour; }

void nobody_tells(EvidenceSet& set, const char* kernel_state, const std::string& kernel_mac = "") {
  neighbour(set).macs.clear();
  neighbour(set).kernel_state = kernel_state;
  neighbour(set).kernel_mac = kernel_mac;
}

std::vector<Finding> one_sided_findings(const EvidenceSet& set) {
  std::vector<Check> checks = test::host_checks(set);
  for (Check& check : test::pair_checks(set)) checks.push_back(std::move(check));
  return find_causes(set, checks);
}

// A new user: firewall.drop_outbound on the own host.
TEST(OneSided, NobodyHasTheAddressByArp) {
  EvidenceSet set = one_sided(true);
  silence(set, false);
  nobody_tells(set, "INCOMPLETE");
  const std::vector<Finding> findings = one_sided_findings(set);
  ASSERT_THAT(test::named(findings), ElementsAre("neighbour.unresolved mini2"));
  EXPECT_THAT(findings[0].explains, testing::Contains("neighbour/mini1>mini2"));
  EXPECT_THAT(findings[0].explains, testing::Contains("tcp.connect/mini1>mini2:29500"));
  EXPECT_THAT(findings[0].remedy.text(), HasSubstr("switched on"));
}

TEST(OneSided, NobodyHasTheAddressByTheKernelsWord) {
  for (const char* state : {"FAILED", "INCOMPLETE"}) {
    EvidenceSet set = one_sided(false);
    silence(set, std::nullopt);
    nobody_tells(set, state);
    EXPECT_THAT(test::named(one_sided_findings(set)), ElementsAre("neighbour.unresolved mini2"))
        << state;
  }
}

// The peer was switched off: the kernel still believes its old entry, and then gives it up while
// the SYNs are sent, so that these never appear on the wire.
TEST(OneSided, AnOldEntryOfAPeerThatIsOffIsNoFilterOfTheOwnHost) {
  for (const bool seen_leaving : {false, true}) {
    EvidenceSet set = one_sided(true);
    silence(set, seen_leaving);
    nobody_tells(set, "STALE", kPeerMac);
    const std::vector<Finding> findings = one_sided_findings(set);
    ASSERT_THAT(test::named(findings), ElementsAre("neighbour.unresolved mini2"));
    EXPECT_THAT(findings[0].evidence[1].text, HasSubstr("a while ago"));
    EXPECT_EQ(test::outcome_of(test::host_checks(set), "neighbour/mini1>mini2"),
              CheckOutcome::kFail);
  }
}

TEST(OneSided, AFreshEntryWithoutRootTellsNothingOfAPeerThatMayBeOff) {
  EvidenceSet set = one_sided(false);
  silence(set, std::nullopt);
  const std::vector<Finding> findings = one_sided_findings(set);
  ASSERT_THAT(test::named(findings), ElementsAre("firewall.drop_inbound mini2>mini1"));
  EXPECT_LT(findings[0].confidence, 0.4);
  EXPECT_THAT(findings[0].evidence[1].text, HasSubstr("mini2 may be off"));
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "neighbour/mini1>mini2"),
            CheckOutcome::kUnknown);
}

TEST(OneSided, WhoAnswersAPingIsThereThoughNobodyAnsweredForIt) {
  EvidenceSet set = one_sided(true);
  drop_connections(set, true);
  nobody_tells(set, "STALE", kPeerMac);
  for (const Finding& finding : one_sided_findings(set))
    EXPECT_NE(finding.cause, "neighbour.unresolved");
}

TEST(OneSided, AnOwnRuleThatDropsArpIsNamedInstead) {
  EvidenceSet set = one_sided(true);
  silence(set, false);
  nobody_tells(set, "FAILED");
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "arp";
  rule.table = "x";
  rule.chain = "y";
  rule.hook = "input";
  rule.action = "drop";
  rule.text = "arp operation reply drop";
  test::host(set, "mini1").filters = {rule};
  EXPECT_THAT(test::named(one_sided_findings(set)), ElementsAre("neighbour.unresolved mini1"));
}

TEST(OneSided, AHostWhoseAgentWasLostIsNotCalledAbsent) {
  EvidenceSet set = one_sided(true);
  silence(set, false);
  nobody_tells(set, "FAILED");
  test::host(set, "mini2").agent_cause = "ssh.unreachable";
  EXPECT_THAT(test::proposed(host_rules(), set),
              Not(testing::Contains(HasSubstr("neighbour.unresolved"))));
}

// A new user: a failure with exit status 2 for a healthy peer.
TEST(OneSided, ARefusalShowsAnOpenWayAndIsNoFailure) {
  for (const bool root : {true, false}) {
    const EvidenceSet set = one_sided(root);
    EXPECT_EQ(test::outcome_of(test::host_checks(set), "neighbour/mini1>mini2"),
              CheckOutcome::kPass);
    const std::vector<Finding> findings = one_sided_findings(set);
    ASSERT_THAT(test::named(findings), ElementsAre("tcp.no_listener mini2 (note)"));
    EXPECT_THAT(findings[0].evidence[0].text, HasSubstr("nothing listens on these ports now"));
    EXPECT_THAT(findings[0].remedy.text(), HasSubstr("plumbline agent --listen"));
    for (const Evidence& line : findings[0].evidence) EXPECT_NE(line.check, "");
    EXPECT_EQ(test::outcome_of(test::pair_checks(set), "tcp.connect/mini1>mini2:29500"),
              CheckOutcome::kUnknown);
  }
}

TEST(OneSided, AListenerThatAnAgentCouldNotOpenStaysAFailure) {
  EvidenceSet set = test::healthy_star(2);
  for (PortTry& attempt : test::pair(set, "mini1", "mini2").ports) {
    attempt.result = "refused";
    attempt.listener = "failed";
    attempt.listener_error = "EACCES";
    attempt.accepted = false;
    attempt.answer.clear();
  }
  EXPECT_THAT(test::named(one_sided_findings(set)), testing::Contains("tcp.no_listener mini2"));
  EXPECT_EQ(test::outcome_of(test::pair_checks(set), "tcp.connect/mini1>mini2:29500"),
            CheckOutcome::kFail);
}

// A new user: firewall.drop_inbound on the peer, 45 %, for a rule of the own host.
TEST(OneSided, WithoutRootTheTwoHostsFiltersCannotBeToldApart) {
  EvidenceSet set = one_sided(false);
  drop_connections(set, std::nullopt);
  const std::vector<Finding> findings = one_sided_findings(set);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_LT(findings[0].confidence, 0.4);
  EXPECT_THAT(findings[0].evidence[1].text, HasSubstr("from one side only, without root"));
  EXPECT_THAT(findings[0].evidence[1].text, HasSubstr("sudo"));
  EXPECT_THAT(findings[0].evidence[1].text, Not(HasSubstr("may be off"))) << "it answers pings";
}

TEST(OneSided, WhatTheOwnCaptureClearsIsNotDoubted) {
  EvidenceSet set = one_sided(true);
  drop_connections(set, true);
  const std::vector<Finding> findings = one_sided_findings(set);
  ASSERT_THAT(test::named(findings), ElementsAre("firewall.drop_inbound mini2>mini1"));
  EXPECT_GT(findings[0].confidence, 0.4);
  const std::string last = findings[0].evidence.back().text;
  EXPECT_THAT(last, HasSubstr("a filter on the way or on mini2 looks the same"));
  EXPECT_THAT(last, Not(HasSubstr("sudo")));

  drop_connections(set, false);
  for (PortTry& attempt : test::pair(set, "mini1", "mini2").ports) attempt.here.reset();
  EXPECT_THAT(test::named(one_sided_findings(set)),
              ElementsAre("firewall.drop_outbound mini1>mini2"));
}

}  // namespace
}  // namespace plumbline
