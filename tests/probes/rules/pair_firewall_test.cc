#include <gmock/gmock.h>

#include "diagnosis.h"
#include "packet_stop.h"

namespace plumbline {
namespace {

using test::named;
using test::PacketStop;
using test::Sight;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

constexpr auto kIn = PacketStop::kIn;
constexpr auto kOut = PacketStop::kOut;
constexpr auto kBetween = PacketStop::kBetween;

std::vector<Finding> diagnose(std::vector<PacketStop> stops, Sight sight, int hosts) {
  EvidenceSet set = test::healthy_star(hosts);
  test::StopModel(set, std::move(stops), sight).apply();
  return find_causes(set, test::pair_checks(set));
}

const std::vector<int> kWindow2 = {29500, 29600, 29601};
const std::vector<int> kWindow4 = {29500, 29600, 29601, 29602, 29603};

struct Row {
  const char* name;
  int hosts;
  std::vector<PacketStop> stops;
  std::vector<std::string> expected;  // with captures, with rules or without
  std::vector<std::string> counters;  // no captures, filters unreadable; empty = as expected
  std::vector<std::string> word;      // not even counters; empty = as expected
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"nothing", 4, {}, {}, {}, {}},
      // One host, all peers.
      {"in, all packets, all peers", 4, {{kIn, "mini2"}}, {"firewall.drop_inbound mini2"}, {}, {}},
      {"in, job ports, all peers",
       4,
       {{kIn, "mini2", {}, kWindow4}},
       {"firewall.drop_inbound mini2"},
       {},
       {}},
      {"out, all packets, all peers",
       4,
       {{kOut, "mini3"}},
       {"firewall.drop_outbound mini3"},
       {},
       {}},
      {"out, job ports, all peers",
       4,
       {{kOut, "mini3", {}, kWindow4}},
       {"firewall.drop_outbound mini3"},
       {},
       {}},
      {"in, reject icmp, all peers",
       4,
       {{kIn, "mini1", {}, {}, "icmp"}},
       {"firewall.reject_icmp mini1"},
       {},
       {}},
      {"in, reject rst, all peers",
       4,
       {{kIn, "mini1", {}, {}, "rst"}},
       {"firewall.reject_rst mini1"},
       {},
       {}},
      {"out, reject icmp, all peers",
       4,
       {{kOut, "mini1", {}, {}, "icmp"}},
       {"firewall.reject_icmp mini1"},
       {},
       {}},
      {"out, reject rst, all peers, all packets",
       4,
       {{kOut, "mini1", {}, {}, "rst"}},
       {"firewall.reject_rst mini1"},
       {},
       {}},
      // One host, one peer.
      {"in, one peer",
       4,
       {{kIn, "mini2", {"mini4"}}},
       {"firewall.drop_inbound mini2>mini4"},
       {},
       {}},
      {"in, one peer, ports",
       3,
       {{kIn, "mini2", {"mini1"}, {29500, 29600, 29601, 29602}}},
       {"firewall.drop_inbound mini2>mini1"},
       {},
       {}},
      {"out, one peer, ports",
       4,
       {{kOut, "mini2", {"mini4"}, kWindow4}},
       {"firewall.drop_outbound mini2>mini4"},
       {},
       {"firewall.drop_inbound mini4>mini2"}},
      {"out, one peer, all packets",
       4,
       {{kOut, "mini2", {"mini4"}}},
       {"firewall.drop_outbound mini2>mini4"},
       {},
       {"firewall.drop_inbound mini4>mini2"}},
      {"in, icmp, one peer",
       4,
       {{kIn, "mini2", {"mini4"}, kWindow4, "icmp"}},
       {"firewall.reject_icmp mini2>mini4"},
       {},
       {}},
      {"in, rst, one peer",
       4,
       {{kIn, "mini2", {"mini4"}, kWindow4, "rst"}},
       {"firewall.reject_rst mini2>mini4"},
       {},
       {}},
      // Between the hosts.
      {"between, one way",
       4,
       {{kBetween, "mini1", {"mini3"}}},
       {"firewall.drop_path mini1>mini3"},
       {},
       {"firewall.drop_inbound mini3>mini1"}},
      {"between, other way",
       4,
       {{kBetween, "mini3", {"mini1"}}},
       {"firewall.drop_path mini3>mini1"},
       {},
       {"firewall.drop_inbound mini1>mini3"}},
      {"between, both ways",
       4,
       {{kBetween, "mini3", {"mini1"}}, {kBetween, "mini1", {"mini3"}}},
       {"firewall.drop_path mini1>mini3"},
       {},
       {"firewall.drop_inbound mini1>mini3", "firewall.drop_inbound mini3>mini1"}},
      {"between, from one to all",
       4,
       {{kBetween, "mini3"}},
       {"firewall.drop_path mini3"},
       {},
       {"firewall.drop_outbound mini3"}},
      {"between, to one from all",
       4,
       {{kBetween, "mini1", {"mini3"}},
        {kBetween, "mini2", {"mini3"}},
        {kBetween, "mini4", {"mini3"}}},
       {"firewall.drop_path mini3"},
       {},
       {"firewall.drop_inbound mini3"}},
      {"between, everything",
       4,
       {{kBetween, "mini1"}, {kBetween, "mini2"}, {kBetween, "mini3"}, {kBetween, "mini4"}},
       {"firewall.drop_path mini1"},
       {},
       {}},
      {"between, refused by a device with icmp",
       4,
       {{kBetween, "mini1", {"mini3"}, kWindow4, "icmp"}},
       {"firewall.reject_icmp mini3>mini1"},
       {},
       {}},
      {"between, refused by a device with rst",
       4,
       {{kBetween, "mini1", {"mini3"}, kWindow4, "rst"}},
       {"firewall.reject_rst mini3>mini1"},
       {},
       {}},
      // A part of the ports.
      {"in, one port, all peers",
       4,
       {{kIn, "mini2", {}, {29601}}},
       {"firewall.partial_range mini2"},
       {},
       {}},
      {"in, master port only, one peer",
       4,
       {{kIn, "mini2", {"mini1"}, {29500}}},
       {"firewall.partial_range mini2>mini1"},
       {},
       {}},
      {"in, window without master port",
       4,
       {{kIn, "mini2", {}, {29600, 29601, 29602, 29603}}},
       {"firewall.partial_range mini2"},
       {},
       {}},
      {"in, two ports, icmp",
       4,
       {{kIn, "mini2", {}, {29601, 29602}, "icmp"}},
       {"firewall.partial_range mini2"},
       {},
       {}},
      {"in, two ports in two ways",
       4,
       {{kIn, "mini2", {}, {29601}, "icmp"}, {kIn, "mini2", {}, {29602}}},
       {"firewall.partial_range mini2"},
       {},
       {}},
      {"out, one port, all peers",
       4,
       {{kOut, "mini2", {}, {29601}}},
       {"firewall.partial_range mini2"},
       {},
       {}},
      {"out, one port, one peer",
       4,
       {{kOut, "mini2", {"mini3"}, {29601}}},
       {"firewall.partial_range mini2>mini3"},
       {},
       {"firewall.partial_range mini3>mini2"}},
      // Two hosts only.
      {"two hosts, in, host-wide rule",
       2,
       {{kIn, "mini1", {}, kWindow2}},
       {"firewall.drop_inbound mini1>mini2"},
       {},
       {}},
      {"two hosts, in, all packets",
       2,
       {{kIn, "mini2", {"mini1"}}},
       {"firewall.drop_inbound mini2>mini1"},
       {},
       {}},
      {"two hosts, out, all packets",
       2,
       {{kOut, "mini2", {"mini1"}}},
       {"firewall.drop_outbound mini2>mini1"},
       {},
       {"firewall.drop_inbound mini1>mini2"}},
      {"two hosts, between, both ways",
       2,
       {{kBetween, "mini1"}, {kBetween, "mini2"}},
       {"firewall.drop_path mini1>mini2"},
       {},
       {"firewall.drop_inbound mini1>mini2", "firewall.drop_inbound mini2>mini1"}},
      // Two faults at once.
      {"in on one host, out on another",
       4,
       {{kIn, "mini2", {}, kWindow4}, {kOut, "mini3", {}, kWindow4}},
       {"firewall.drop_inbound mini2", "firewall.drop_outbound mini3"},
       {},
       {}},
      {"drop on one host, reject on another",
       4,
       {{kIn, "mini2", {}, kWindow4}, {kIn, "mini4", {}, kWindow4, "rst"}},
       {"firewall.drop_inbound mini2", "firewall.reject_rst mini4"},
       {},
       {}},
      {"partial on one host, reject on another",
       4,
       {{kIn, "mini2", {}, {29602}}, {kIn, "mini4", {}, kWindow4, "icmp"}},
       {"firewall.partial_range mini2", "firewall.reject_icmp mini4"},
       {},
       {}},
      {"two peers, two filters",
       4,
       {{kIn, "mini1", {"mini2"}, kWindow4}, {kOut, "mini3", {"mini4"}, kWindow4}},
       {"firewall.drop_inbound mini1>mini2", "firewall.drop_outbound mini3>mini4"},
       {},
       {"firewall.drop_inbound mini1>mini2", "firewall.drop_inbound mini4>mini3"}},
      {"in and out of one host",
       4,
       {{kIn, "mini2", {}, kWindow4}, {kOut, "mini2", {}, kWindow4}},
       {"firewall.drop_inbound mini2", "firewall.drop_outbound mini2"},
       {},
       {}},
      // Not by a rule: XDP behind the capture, a driver, eBPF.
      {"in, no rule shows it",
       4,
       {{kIn, "mini2", {}, {}, "drop", false}},
       {"firewall.drop_inbound mini2"},
       {},
       {}},
      {"out, no rule shows it",
       4,
       {{kOut, "mini2", {"mini3"}, {}, "drop", false}},
       {"firewall.drop_outbound mini2>mini3"},
       {},
       {"firewall.drop_inbound mini3>mini2"}},
  };
  return kRows;
}

void expect_well_formed(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.evidence.empty()) << finding.cause;
    EXPECT_FALSE(finding.remedy.empty()) << finding.cause;
    EXPECT_FALSE(finding.explains.empty()) << finding.cause;
    EXPECT_GT(finding.confidence, 0) << finding.cause;
    EXPECT_LT(finding.confidence, 1) << finding.cause;
    for (const Evidence& entry : finding.evidence) {
      EXPECT_FALSE(entry.host.empty()) << entry.text;
      EXPECT_FALSE(entry.text.empty()) << finding.cause;
    }
  }
}

TEST(PairFirewall, EveryFaultIsNamedByCapturesAndRules) {
  for (const Row& row : rows()) {
    const std::vector<Finding> findings = diagnose(row.stops, Sight::kAll, row.hosts);
    // Of two hosts, a rule that names nobody is known to hit everybody.
    std::vector<std::string> expected = row.expected;
    if (std::string(row.name) == "two hosts, in, host-wide rule") {
      expected = {"firewall.drop_inbound mini1"};
    }
    EXPECT_THAT(named(findings), UnorderedElementsAreArray(expected)) << row.name;
    expect_well_formed(findings);
  }
}

TEST(PairFirewall, TheSameFollowsFromCapturesAlone) {
  for (const Row& row : rows()) {
    const std::vector<Finding> findings = diagnose(row.stops, Sight::kCaptures, row.hosts);
    EXPECT_THAT(named(findings), UnorderedElementsAreArray(row.expected)) << row.name;
    expect_well_formed(findings);
  }
}

TEST(PairFirewall, CountersStandInForCaptures) {
  for (const Row& row : rows()) {
    const std::vector<Finding> findings = diagnose(row.stops, Sight::kCounters, row.hosts);
    EXPECT_THAT(named(findings),
                UnorderedElementsAreArray(row.counters.empty() ? row.expected : row.counters))
        << row.name;
    expect_well_formed(findings);
  }
}

TEST(PairFirewall, WithoutAnyPrivilegeTheVerdictIsCoarserButNeverMissing) {
  for (const Row& row : rows()) {
    const std::vector<Finding> findings = diagnose(row.stops, Sight::kWord, row.hosts);
    EXPECT_THAT(named(findings),
                UnorderedElementsAreArray(row.word.empty() ? row.expected : row.word))
        << row.name;
    expect_well_formed(findings);
  }
}

// ---- evidence and remedy ----

Finding only_finding(const std::vector<Finding>& findings) {
  EXPECT_EQ(findings.size(), 1u) << testing::PrintToString(named(findings));
  return findings.empty() ? Finding{} : findings[0];
}

TEST(PairFirewall, TheRemedyIsForThePortsAndThePeer) {
  const Finding finding =
      only_finding(diagnose({{kIn, "mini2", {"mini4"}, {29601, 29602}}}, Sight::kAll, 4));
  EXPECT_THAT(finding.ports, ElementsAre(29601, 29602));
  EXPECT_EQ(finding.port, std::nullopt);
  EXPECT_THAT(finding.remedy, HasSubstr("nft '"));
  EXPECT_THAT(finding.remedy, HasSubstr("10.10.0.4"));
  EXPECT_THAT(finding.remedy, HasSubstr("29601"));
  EXPECT_THAT(finding.remedy, testing::Not(HasSubstr("29600")));
  EXPECT_THAT(finding.explains, Contains("tcp.connect/mini4>mini2:29601"));
  EXPECT_THAT(finding.explains, testing::Not(Contains("tcp.connect/mini4>mini2:29600")));
}

TEST(PairFirewall, OneRemedyForAllPeers) {
  const Finding finding = only_finding(diagnose({{kIn, "mini2"}}, Sight::kAll, 4));
  EXPECT_EQ(finding.peer, "");
  for (const char* peer : {"10.10.0.1", "10.10.0.3", "10.10.0.4"}) {
    EXPECT_THAT(finding.remedy, HasSubstr(peer));
  }
}

TEST(PairFirewall, TheDecidingEvidenceIsThere) {
  const Finding finding = only_finding(diagnose({{kIn, "mini2", {"mini4"}}}, Sight::kAll, 4));
  std::string all;
  for (const Evidence& entry : finding.evidence) all += entry.host + ": " + entry.text + "\n";
  EXPECT_THAT(all, HasSubstr("the SYN reached the wire of mini2"));
  EXPECT_THAT(all, HasSubstr("nftables inet filter input"));
  EXPECT_THAT(all, HasSubstr("no answer within 1.5 s"));
}

TEST(PairFirewall, WithLessEvidenceItIsLessSure) {
  double last = 1;
  for (const Sight sight : {Sight::kAll, Sight::kCaptures, Sight::kCounters, Sight::kWord}) {
    const Finding finding = only_finding(diagnose({{kIn, "mini2", {"mini4"}}}, sight, 4));
    EXPECT_LT(finding.confidence, last);
    last = finding.confidence;
  }
}

TEST(PairFirewall, WithoutARuleTheRemedySaysWhereToLook) {
  const Finding finding = only_finding(diagnose({{kIn, "mini2", {"mini4"}}}, Sight::kCaptures, 4));
  EXPECT_THAT(finding.remedy, HasSubstr("nft -a list ruleset"));
  EXPECT_THAT(finding.remedy, HasSubstr("iptables -I INPUT -s 10.10.0.4 -d 10.10.0.2"));
}

// socketfilterfw's state may be followed by what else is switched on.
TEST(PairFirewall, TheApplicationFirewallOfAMacIsOnWhateverElseIs) {
  const auto remedy_with = [](const std::string& state) {
    EvidenceSet set = test::healthy_star(3);
    test::StopModel(set, {{kIn, "mini2"}}, Sight::kCaptures).apply();
    HostEvidence& mac = test::host(set, "mini2");
    mac.system = "macos";
    mac.filter_sources = {{"alf", true, false, "", state}};
    return only_finding(find_causes(set, test::pair_checks(set))).remedy;
  };
  EXPECT_THAT(remedy_with("enabled"), HasSubstr("socketfilterfw"));
  EXPECT_THAT(remedy_with("enabled, stealth"), HasSubstr("socketfilterfw"));
  EXPECT_THAT(remedy_with("disabled"), testing::Not(HasSubstr("socketfilterfw")));
  EXPECT_THAT(remedy_with("disabled, stealth"), testing::Not(HasSubstr("socketfilterfw")));
}

// ---- near misses ----

EvidenceSet stopped(std::vector<PacketStop> stops, Sight sight, int hosts = 4) {
  EvidenceSet set = test::healthy_star(hosts);
  test::StopModel(set, std::move(stops), sight).apply();
  return set;
}
std::vector<std::string> causes(const EvidenceSet& set) {
  return named(find_causes(set, test::pair_checks(set)));
}

void heal(EvidenceSet& set, const std::string& from, const std::string& to) {
  EvidenceSet whole = test::healthy_star(4);
  test::pair(set, from, to) = test::pair(whole, from, to);
}

TEST(PairFirewall, RulesThatLetTheJobPassAreNoFault) {
  for (const PacketStop& stop :
       {PacketStop{kIn, "mini2", {}, {80, 443}}, PacketStop{kOut, "mini2", {}, {25}},
        PacketStop{kIn, "mini2", {"elsewhere"}, {9999}, "icmp"}}) {
    EXPECT_THAT(causes(stopped({stop}, Sight::kAll)), IsEmpty());
  }
}

TEST(PairFirewall, ARuleThatSeemsToStopAPortThatIsOpenIsNoFault) {
  EvidenceSet set = stopped({{kIn, "mini2", {}, {29600}}}, Sight::kAll);
  for (PairEvidence& pair : set.pairs) {
    for (PortTry& attempt : pair.ports) attempt = test::connected(attempt.port);
  }
  EXPECT_THAT(causes(set), IsEmpty());
}

TEST(PairFirewall, FurtherPortsNeverMakeAPartialRange) {
  // Open further port beside a blocked window: the plain cause, for the window.
  EvidenceSet set = stopped({{kIn, "mini2", {}, kWindow4}}, Sight::kAll);
  set.job.extra_ports = {8080};
  for (PairEvidence& pair : set.pairs) pair.ports.push_back(test::connected(8080));
  EXPECT_THAT(causes(set), ElementsAre("firewall.drop_inbound mini2"));

  // Blocked further port beside an open window: the plain cause, and the job is not broken.
  set = test::healthy_star(4);
  set.job.extra_ports = {8080};
  for (PairEvidence& pair : set.pairs) pair.ports.push_back(test::connected(8080));
  test::StopModel(set, {{kIn, "mini2", {}, {8080}}}, Sight::kAll).apply();
  const std::vector<Finding> findings = find_causes(set, test::pair_checks(set));
  ASSERT_THAT(named(findings), ElementsAre("firewall.drop_inbound mini2"));
  EXPECT_THAT(findings[0].ports, ElementsAre(8080));
}

TEST(PairFirewall, SilenceOverABrokenRouteOrLinkIsNoFirewall) {
  // mini1 has no route: its pairs are silent, and what comes to it goes unanswered.
  EvidenceSet set = stopped({{kOut, "mini1", {"mini2"}, {}, "drop", false}}, Sight::kCaptures);
  for (RouteLookup& lookup : test::pair(set, "mini1", "mini2").routes) lookup.error = "ENETUNREACH";
  std::vector<Candidate> all;
  for (const RuleRow& rule : pair_rules()) {
    for (Candidate& candidate : rule.propose(set, {})) all.push_back(std::move(candidate));
  }
  ASSERT_FALSE(all.empty());
  for (const Candidate& candidate : all) {
    EXPECT_FALSE(candidate.proven) << "an earlier cause must be able to take its place";
    EXPECT_TRUE(candidate.needs_way_back);
    EXPECT_LT(candidate.finding.confidence, 0.7);
  }
}

TEST(PairFirewall, AHeldPortIsNotABlockedPort) {
  EvidenceSet set = test::healthy_star(4);
  for (const char* from : {"mini1", "mini3", "mini4"}) {
    PortTry& attempt = test::port_try(set, from, "mini2", 29601);
    attempt = PortTry{};
    attempt.port = 29601;
    attempt.listener = "in_use";
    attempt.result = "timeout";  // its holder is stopped
    attempt.captured_here = attempt.captured_there = true;
  }
  EXPECT_THAT(causes(set), ElementsAre("tcp.port_in_use mini2"));
}

TEST(PairFirewall, RefusalsThatTheKernelRationsAreOneCause) {
  // The kernel sends only some ICMP errors a second: the other ports are silent.
  EvidenceSet set = stopped({{kIn, "mini2", {}, {}, "icmp"}}, Sight::kCaptures);
  for (const char* from : {"mini1", "mini3", "mini4"}) {
    for (const int port : {29602, 29603}) {
      PortTry& attempt = test::port_try(set, from, "mini2", port);
      attempt.result = "timeout";
      attempt.icmp.reset();
    }
  }
  EXPECT_THAT(causes(set), ElementsAre("firewall.reject_icmp mini2"));
}

TEST(PairFirewall, ChanceIsNotAFilter) {
  // Half of the packets get lost: some ports are silent, others took a second try.
  EvidenceSet set = test::healthy_star(4);
  PairEvidence& pair = test::pair(set, "mini1", "mini3");
  for (PortTry& attempt : pair.ports) {
    attempt.captured_here = attempt.captured_there = true;
    const bool silent = attempt.port == 29601 || attempt.port == 29602;
    if (silent) {
      attempt.result = "timeout";
      attempt.answer = "";
      attempt.accepted = false;
    }
    TraceFlow flow;
    flow.a_ip = pair.from_ip;
    flow.b_ip = pair.to_ip;
    flow.a.syn = 2;
    attempt.here = flow;
    flow.a.syn = silent ? 0 : 1;
    flow.b.syn_ack = 1;
    if (!silent) attempt.there = flow;
    if (!silent) attempt.here->b.syn_ack = 1;
  }
  pair.quality.reset();
  EXPECT_THAT(causes(set), ElementsAre("loss.one_way mini1>mini3"));

  // The same silence with no packet lost on the other ports is a filter.
  for (PortTry& attempt : pair.ports) {
    if (attempt.result == "connected") attempt.here->a.syn = 1;
  }
  EXPECT_THAT(causes(set), ElementsAre("firewall.partial_range mini1>mini3"));
}

TEST(PairFirewall, ALittleLossDoesNotHideAFilter) {
  EvidenceSet set = stopped({{kIn, "mini2", {"mini1"}, {29601}}}, Sight::kCaptures);
  for (StreamEvidence& stream : test::pair(set, "mini1", "mini2").quality.emplace().streams) {
    stream.retransmitted = 0;
  }
  StreamEvidence paced = test::stream("paced");
  paced.segments_out = 600;
  paced.retransmitted = 12;
  test::pair(set, "mini1", "mini2").quality->streams = {paced};
  EXPECT_THAT(causes(set),
              ElementsAre("firewall.partial_range mini2>mini1", "loss.one_way mini1>mini2 (warn)"));
}

TEST(PairFirewall, AConnectionThatTheListenerAcceptedButNobodyAnswered) {
  EvidenceSet set = test::healthy_star(4);
  for (PortTry& attempt : test::pair(set, "mini1", "mini2").ports) {
    attempt.answer = "silent";
    attempt.captured_here = attempt.captured_there = true;
    TraceFlow flow;
    flow.a_ip = "10.10.0.1";
    flow.b_ip = "10.10.0.2";
    flow.a.syn = flow.b.syn_ack = 1;
    flow.a.payload_bytes = 30;
    attempt.here = attempt.there = flow;
    attempt.there->b.payload_bytes = 30;
  }
  EXPECT_THAT(causes(set), ElementsAre("firewall.drop_path mini2>mini1"));
}

TEST(PairFirewall, XdpDropsBeforeACaptureSees) {
  EvidenceSet set = stopped({{kBetween, "mini1", {"mini2"}}}, Sight::kCaptures);
  test::nic(set, "mini2", "eth1").xdp = true;
  EXPECT_THAT(causes(set), ElementsAre("firewall.drop_inbound mini2>mini1"));
}

TEST(PairFirewall, ALocalRefusalWithoutANeighbourIsNoFirewall) {
  // The own kernel says "host unreachable" when nobody answers ARP.
  EvidenceSet set = stopped({{kOut, "mini1", {"mini2"}, {}, "icmp", false}}, Sight::kCaptures);
  for (PortTry& attempt : test::pair(set, "mini1", "mini2").ports) attempt.icmp->code = 1;
  test::unresolve(set, "mini1", "mini2");
  heal(set, "mini2", "mini1");
  EXPECT_THAT(causes(set), IsEmpty());
}

TEST(PairFirewall, ARefusalByAnotherHostOfOursNamesThatHost) {
  EvidenceSet set = stopped({{kBetween, "mini1", {"mini3"}, {}, "icmp"}}, Sight::kCaptures);
  for (PortTry& attempt : test::pair(set, "mini1", "mini3").ports) attempt.icmp->from = "10.10.0.2";
  for (PortTry& attempt : test::pair(set, "mini1", "mini3").ports) attempt.captured_there = false;
  heal(set, "mini3", "mini1");
  const std::vector<std::string> found = causes(set);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr("firewall.reject_icmp mini2"));
}

TEST(PairFirewall, WhatCouldNotBeTriedIsStillReadFromTheRules) {
  // The link of mini1 is down, and its own filter would stop the job as well.
  EvidenceSet set = stopped({{kIn, "mini1", {}, kWindow4}}, Sight::kAll);
  test::silence_host(set, "mini1");
  test::nic(set, "mini1", "eth1").up = false;
  EXPECT_THAT(causes(set), Contains("firewall.drop_inbound mini1"));
}

TEST(PairFirewall, AFilterBehindAnotherFilterIsFoundByItsRule) {
  // mini1 lets nothing out to mini2, which would not let it in either.
  const EvidenceSet set = stopped(
      {{kOut, "mini1", {"mini2"}, kWindow4}, {kIn, "mini2", {"mini1"}, kWindow4}}, Sight::kAll);
  EXPECT_THAT(causes(set), ElementsAre("firewall.drop_inbound mini2>mini1",
                                       "firewall.drop_outbound mini1>mini2"));
}

FilterRule input_rule(const char* action, const std::vector<std::string>& ports, int64_t handle) {
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "inet";
  rule.table = "filter";
  rule.chain = rule.hook = "input";
  rule.chain_type = "filter";
  rule.action = action;
  rule.handle = handle;
  rule.is_policy = handle == 0;
  if (!ports.empty()) rule.matches = {{"dport", false, ports}};
  rule.text = action;
  return rule;
}

TEST(PairFirewall, OnePolicyThatLeavesAPortOpenAndStopsAllAnswersIsOneFault) {
  // Default deny with the master port only, and no rule for answers.
  EvidenceSet set = stopped({{kIn, "mini2"}}, Sight::kCaptures);
  HostEvidence& owner = test::host(set, "mini2");
  for (FilterSource& source : owner.filter_sources) source.readable = true;
  owner.filters = {input_rule("accept", {"29500"}, 3), input_rule("drop", {}, 0)};
  for (const char* from : {"mini1", "mini3", "mini4"}) {
    test::port_try(set, from, "mini2", 29500) = test::connected(29500);
  }
  EXPECT_THAT(causes(set), ElementsAre("firewall.drop_inbound mini2"));
}

TEST(PairFirewall, FiltersThatWereReadAndStopNothingLeaveThePath) {
  // Nothing could be captured or counted, but root could read the filters of both ends.
  EvidenceSet set = stopped({{kBetween, "mini1", {"mini3"}}}, Sight::kWord);
  for (HostEvidence& owner : set.hosts) {
    for (FilterSource& source : owner.filter_sources) source.readable = true;
  }
  std::vector<Finding> findings = find_causes(set, test::pair_checks(set));
  ASSERT_THAT(named(findings), ElementsAre("firewall.drop_path mini1>mini3"));
  EXPECT_LT(findings[0].confidence, 0.7);
  // Those of one end only: the other end is left.
  test::host(set, "mini1").filter_sources[0].readable = false;
  EXPECT_THAT(causes(set), ElementsAre("firewall.drop_outbound mini1>mini3"));
}

TEST(PairFirewall, IdleConnectionsThatDie) {
  EvidenceSet set = test::healthy_star(4);
  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  pair.idle = test::connected(29600);
  pair.idle_s = 90;
  EXPECT_THAT(causes(set), IsEmpty()) << "it lived";
  pair.idle->result = "timeout";
  pair.idle->answer = "";
  EXPECT_THAT(causes(set), ElementsAre("firewall.idle_timeout mini2>mini1 (warn)"));
  test::pair(set, "mini2", "mini1").idle = pair.idle;
  test::pair(set, "mini2", "mini1").idle_s = 90;
  EXPECT_THAT(causes(set), ElementsAre("firewall.idle_timeout mini2>mini1 (warn)"))
      << "both ways are one";
  // With others mini1 fares the same: it is the one that forgets.
  test::pair(set, "mini1", "mini3").idle = pair.idle;
  test::pair(set, "mini1", "mini3").idle_s = 90;
  EXPECT_THAT(causes(set), ElementsAre("firewall.idle_timeout mini1 (warn)"));
}

TEST(PairFirewall, IdleConnectionsThatNeverWorkedSayNothing) {
  EvidenceSet set = test::healthy_star(3);
  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  pair.idle = test::connected(29600);
  pair.idle_s = 90;
  pair.idle->answer = "";
  pair.idle->result = "not_tried";
  EXPECT_THAT(causes(set), IsEmpty());
}

TEST(PairFirewall, OddEvidenceIsSurvived) {
  EvidenceSet set = test::healthy_star(3);
  PairEvidence& pair = set.pairs[0];
  pair.ports.push_back(pair.ports[0]);  // one port twice
  pair.ports[0].result = "something new";
  pair.ports[1].result = "timeout";
  pair.ports[1].here = TraceFlow{};  // knows neither address
  pair.ports[1].captured_here = true;
  pair.ports[2].port = -1;
  pair.ports[2].result = "refused";
  pair.burst = BurstEvidence{};
  pair.burst->attempts = 1'000'000;
  set.pairs[1].to = "nobody";
  set.pairs[2].from_ip = "";
  set.hosts.pop_back();
  find_causes(set, test::pair_checks(set));
  set.pairs.clear();
  EXPECT_THAT(causes(set), IsEmpty());
  EXPECT_THAT(causes(EvidenceSet{}), IsEmpty());
}

}  // namespace
}  // namespace plumbline
