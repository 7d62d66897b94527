#include <gmock/gmock.h>

#include "diagnosis.h"
#include "packet_stop.h"

namespace plumbline {
namespace {

using test::kBetween;
using test::kIn;
using test::kOut;
using test::named;
using test::PacketStop;
using test::Sight;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

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
  EXPECT_THAT(finding.remedy.text(), HasSubstr("nft '"));
  EXPECT_THAT(finding.remedy.text(), HasSubstr("10.10.0.4"));
  EXPECT_THAT(finding.remedy.text(), HasSubstr("29601"));
  EXPECT_THAT(finding.remedy.text(), testing::Not(HasSubstr("29600")));
  EXPECT_THAT(finding.explains, Contains("tcp.connect/mini4>mini2:29601"));
  EXPECT_THAT(finding.explains, testing::Not(Contains("tcp.connect/mini4>mini2:29600")));
}

TEST(PairFirewall, OneRemedyForAllPeers) {
  const Finding finding = only_finding(diagnose({{kIn, "mini2"}}, Sight::kAll, 4));
  EXPECT_EQ(finding.peer, "");
  for (const char* peer : {"10.10.0.1", "10.10.0.3", "10.10.0.4"}) {
    EXPECT_THAT(finding.remedy.text(), HasSubstr(peer));
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
  EXPECT_THAT(finding.remedy.text(), HasSubstr("nft -a list ruleset"));
  EXPECT_THAT(finding.remedy.text(), HasSubstr("iptables -I INPUT -s 10.10.0.4 -d 10.10.0.2"));
}

// A peer's word alone opens no filter: what nobody saw at the host itself is told, not executed.
TEST(PairFirewall, WithoutTheHostsOwnWordTheRemedyIsAdvice) {
  for (const auto where : {kIn, kOut}) {
    for (const Sight sight : {Sight::kCaptures, Sight::kCounters, Sight::kWord}) {
      const Finding finding = only_finding(diagnose({{where, "mini2", {"mini4"}}}, sight, 4));
      const bool seen = sight == Sight::kCaptures;
      EXPECT_THAT(finding.remedy.text(), HasSubstr("iptables -I ")) << static_cast<int>(sight);
      EXPECT_EQ(finding.remedy.commands().empty(), !seen) << finding.remedy.text();
    }
  }
}

// Caller and listener tell of connections that stand and stay silent; neither may capture. The
// listener's filters are not opened on the caller's word.
TEST(PairFirewall, ACallerThatLiesOpensNothingAtTheOtherEnd) {
  EvidenceSet set = test::healthy_star(3);
  test::StopModel(set, {}, Sight::kWord).apply();
  for (PortTry& attempt : test::pair(set, "mini1", "mini2").ports) {
    attempt.result = "connected";
    attempt.answer = "";
    attempt.accepted = true;
  }
  const std::vector<Finding> found = find_causes(set, test::pair_checks(set));
  ASSERT_FALSE(found.empty());
  for (const Finding& finding : found) {
    for (const HostCommand& command : finding.remedy.commands()) {
      EXPECT_EQ(command.host, "mini1") << finding.remedy.text();
    }
  }
}

// socketfilterfw's state may be followed by what else is switched on.
TEST(PairFirewall, TheApplicationFirewallOfAMacIsOnWhateverElseIs) {
  const auto remedy_with = [](const std::string& state) {
    EvidenceSet set = test::healthy_star(3);
    test::StopModel(set, {{kIn, "mini2"}}, Sight::kCaptures).apply();
    HostEvidence& mac = test::host(set, "mini2");
    mac.system = "macos";
    mac.filter_sources = {{"alf", true, false, "", state}};
    return only_finding(find_causes(set, test::pair_checks(set))).remedy.text();
  };
  EXPECT_THAT(remedy_with("enabled"), HasSubstr("socketfilterfw"));
  EXPECT_THAT(remedy_with("enabled, stealth"), HasSubstr("socketfilterfw"));
  EXPECT_THAT(remedy_with("disabled"), testing::Not(HasSubstr("socketfilterfw")));
  EXPECT_THAT(remedy_with("disabled, stealth"), testing::Not(HasSubstr("socketfilterfw")));
}

}  // namespace
}  // namespace plumbline
