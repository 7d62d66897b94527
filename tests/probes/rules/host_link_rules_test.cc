#include "host_rule_helpers.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

using test::candidate_of;
using test::causes_of;
using test::nic;
using testing::HasSubstr;

EvidenceSet link_star() { return test::healthy_star(3); }

TEST(LinkRules, DownBreaksAllPairsOfTheInterface) {
  EvidenceSet set = link_star();
  nic(set, "mini2", "eth1").up = false;
  nic(set, "mini2", "eth1").carrier.reset();
  test::silence_host(set, "mini2");
  const Candidate found = candidate_of(set, "link.down");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_EQ(found.finding.outcome, Severity::kFail);
  EXPECT_EQ(found.finding.remedy.text(), "ip link set dev eth1 up");
  EXPECT_EQ(found.breaks, test::all_pairs(set, "mini2"));
  EXPECT_EQ(causes_of(set), "link.down@mini2");
  EXPECT_EQ(test::root_causes(set), "link.down@mini2");
}

TEST(LinkRules, AnotherInterfaceDownHarmsNobody) {
  EvidenceSet set = link_star();
  nic(set, "mini2", "eth0").up = false;
  nic(set, "mini3", "eth0").carrier = false;
  EXPECT_EQ(causes_of(set), "");
  const auto checks = test::host_checks(set);
  EXPECT_EQ(test::outcome_of(checks, "link/mini2#eth0"), CheckOutcome::kSkipped);
  EXPECT_EQ(test::outcome_of(checks, "link/mini2#eth1"), CheckOutcome::kPass);
}

TEST(LinkRules, InAMeshOnlyThePairOfTheCableBreaks) {
  EvidenceSet set = test::healthy_mesh(3);
  nic(set, "mini1", "to2").up = false;
  // The other end of a cable loses its signal; that is the same fault.
  nic(set, "mini2", "to1").carrier = false;
  test::silence(set, "mini1", "mini2");
  EXPECT_EQ(causes_of(set), "link.down@mini1");
  EXPECT_EQ(candidate_of(set, "link.down").breaks,
            (OrderedPairs{{"mini1", "mini2"}, {"mini2", "mini1"}}));
}

TEST(LinkRules, NoCarrier) {
  EvidenceSet set = link_star();
  nic(set, "mini3", "eth1").carrier = false;
  nic(set, "mini3", "eth1").state = "LOWERLAYERDOWN";
  test::silence_host(set, "mini3");
  test::unresolve(set, "mini1", "mini3");
  EXPECT_EQ(causes_of(set), "link.no_carrier@mini3");
  const Candidate found = candidate_of(set, "link.no_carrier");
  EXPECT_THAT(found.finding.remedy.text(), HasSubstr("cable of eth1"));
  EXPECT_EQ(found.breaks, test::all_pairs(set, "mini3"));
  // Nothing is said of a signal that cannot be seen.
  nic(set, "mini3", "eth1").carrier.reset();
  EXPECT_EQ(causes_of(set).find("link."), std::string::npos);
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "link/mini3#eth1"), CheckOutcome::kUnknown);
}

TEST(LinkRules, LoopbackDownIsAWarning) {
  EvidenceSet set = link_star();
  nic(set, "mini1", "lo").up = false;
  nic(set, "mini1", "lo").addresses.clear();
  const Candidate found = candidate_of(set, "link.down");
  EXPECT_EQ(found.finding.outcome, Severity::kWarn);
  EXPECT_EQ(found.finding.remedy.text(), "ip link set dev lo up");
  EXPECT_TRUE(found.breaks.empty());
  EXPECT_EQ(causes_of(set), "link.down@mini1");
}

TEST(LinkRules, ParentOfAVlanAndMembersOfABond) {
  EvidenceSet set = link_star();
  InterfaceEvidence& vlan = nic(set, "mini1", "eth1");
  vlan.kind = "vlan";
  vlan.parent = "eth0";
  vlan.up = false;
  nic(set, "mini1", "eth0").up = false;
  test::silence_host(set, "mini1");
  Candidate found = candidate_of(set, "link.down");
  EXPECT_EQ(found.finding.remedy.text(), "ip link set dev eth0 up\nip link set dev eth1 up");

  EvidenceSet bonded = link_star();
  InterfaceEvidence& bond = nic(bonded, "mini1", "eth1");
  bond.kind = "bond";
  bond.carrier = false;
  nic(bonded, "mini1", "eth0").master = "eth1";
  nic(bonded, "mini1", "eth0").up = false;
  test::silence_host(bonded, "mini1");
  found = candidate_of(bonded, "link.down");
  EXPECT_EQ(found.finding.remedy.text(), "ip link set dev eth0 up");
  EXPECT_EQ(found.breaks, test::all_pairs(bonded, "mini1"));
  EXPECT_EQ(causes_of(bonded), "link.down@mini1") << "no_carrier of the bond is its symptom";
  // A member that is off while the bond works is nobody's fault.
  bond.carrier = true;
  InterfaceEvidence second = test::make_nic("eth7", "02:aa:00:00:00:01", {});
  second.master = "eth1";
  test::host(bonded, "mini1").interfaces.push_back(second);
  EXPECT_EQ(causes_of(bonded), "");
}

TEST(LinkRules, InterfaceOfTheHostFileIsMissing) {
  EvidenceSet set = link_star();
  test::job_host(set, "mini2").interface = "eth1";
  test::host(set, "mini2").interfaces.pop_back();
  test::silence_host(set, "mini2");
  const Candidate found = candidate_of(set, "link.missing");
  EXPECT_EQ(found.finding.outcome, Severity::kFail);
  EXPECT_EQ(found.breaks, test::all_pairs(set, "mini2"));
  EXPECT_EQ(causes_of(set), "link.missing@mini2");
}

TEST(LinkRules, WithoutItsNameAnotherInterfaceCouldCarryTheAddress) {
  EvidenceSet set = link_star();
  test::host(set, "mini2").interfaces.pop_back();
  test::silence_host(set, "mini2");
  EXPECT_EQ(causes_of(set), "ip.missing@mini2");
  EXPECT_THAT(candidate_of(set, "ip.missing").finding.remedy.text(), HasSubstr("connect the card"))
      << "it is no remedy to put the address on the office network";
  nic(set, "mini2", "eth0").up = false;
  EXPECT_EQ(causes_of(set), "link.missing@mini2");
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "ip/mini2#10.10.0.2"), CheckOutcome::kFail);
}

TEST(LinkRules, RenamedInterfaceIsAWarning) {
  EvidenceSet set = link_star();
  test::job_host(set, "mini2").interface = "enp3s0";
  const Candidate found = candidate_of(set, "link.missing");
  EXPECT_EQ(found.finding.outcome, Severity::kWarn);
  EXPECT_TRUE(found.breaks.empty());
  EXPECT_THAT(found.finding.remedy.text(), HasSubstr("\"eth1\""));
  EXPECT_THAT(found.finding.remedy.text(), HasSubstr("hosts.json:4"));
  test::job_host(set, "mini2").interface = "eth1";
  EXPECT_EQ(causes_of(set), "");
}

TEST(LinkRules, MissingVlanIsMadeAgain) {
  EvidenceSet set = link_star();
  test::job_host(set, "mini1").interface = "eth1.77";
  nic(set, "mini1", "eth1").addresses.clear();
  test::silence_host(set, "mini1");
  EXPECT_EQ(candidate_of(set, "link.missing").finding.remedy.text(),
            "ip link add link eth1 name eth1.77 type vlan id 77\nip link set dev eth1.77 up\n"
            "ip address add 10.10.0.1/24 dev eth1.77");
}

TEST(LinkRules, Ipv6AddressGoneWithItsInterface) {
  test::ClusterBuilder builder;
  for (const char* name : {"a", "b", "c"}) {
    builder.data(name, "eth0", std::string("fd00:10::") + name + "/64");
  }
  EvidenceSet set = builder.build();
  nic(set, "b", "eth0").up = false;
  nic(set, "b", "eth0").addresses.clear();
  test::silence_host(set, "b");
  EXPECT_EQ(causes_of(set), "link.down@b");
  EXPECT_EQ(candidate_of(set, "link.down").finding.remedy.text(),
            "ip link set dev eth0 up\nip address add fd00:10::b/64 dev eth0 nodad");
  test::job_host(set, "b").interface = "eth0";  // the same when the host file names it
  EXPECT_EQ(candidate_of(set, "link.down").finding.remedy.text(),
            "ip link set dev eth0 up\nip address add fd00:10::b/64 dev eth0 nodad");
}

TEST(LinkRules, Flapping) {
  EvidenceSet set = link_star();
  nic(set, "mini1", "eth1").carrier_changes_later = 4;
  Candidate found = candidate_of(set, "link.flapping");
  EXPECT_EQ(found.finding.outcome, Severity::kWarn);
  EXPECT_THAT(found.finding.evidence[0].text, HasSubstr("2 times during"));
  InterfaceEvidence& eth1 = nic(set, "mini1", "eth1");
  eth1.carrier_changes = eth1.carrier_changes_later =
      static_cast<int64_t>(threshold(Threshold::kCarrierChanges));
  EXPECT_EQ(causes_of(set), "link.flapping@mini1");
  eth1.carrier_changes = eth1.carrier_changes_later = *eth1.carrier_changes - 1;
  EXPECT_EQ(causes_of(set), "");
  nic(set, "mini1", "eth0").carrier_changes_later = 9;
  EXPECT_EQ(causes_of(set), "") << "an interface that is not under test";
}

TEST(LinkRules, SpeedDuplexErrors) {
  EvidenceSet set = link_star();
  InterfaceEvidence& eth1 = nic(set, "mini1", "eth1");
  eth1.speed_bps = 100'000'000;
  EXPECT_EQ(causes_of(set), "link.speed@mini1");
  EXPECT_THAT(candidate_of(set, "link.speed").finding.evidence[0].text, HasSubstr("100 Mbit/s"));
  eth1.speed_max_bps.reset();  // then the other hosts tell what is usual
  EXPECT_EQ(causes_of(set), "link.speed@mini1");
  eth1.speed_bps.reset();
  EXPECT_EQ(causes_of(set), "");
  eth1.duplex = "half";
  eth1.counters_later["rx_errors"] = 7;
  EXPECT_EQ(causes_of(set), "link.duplex@mini1 link.errors@mini1");
  eth1.kind = "wifi";
  EXPECT_EQ(causes_of(set).find("link."), std::string::npos);
}

EvidenceSet bridged() {
  EvidenceSet set = link_star();
  for (HostEvidence& owner : set.hosts) {
    nic(set, owner.name, "eth1").kind = "bridge";
    nic(set, owner.name, "eth0").master = "eth1";
    nic(set, owner.name, "eth0").master_kind = "bridge";
    nic(set, owner.name, "eth0").port_state = "forwarding";
    nic(set, owner.name, "eth0").addresses.clear();
  }
  return set;
}

TEST(LinkRules, PortOutsideItsBridge) {
  EvidenceSet set = bridged();
  EXPECT_EQ(causes_of(set), "");
  nic(set, "mini1", "eth0").master.clear();
  EXPECT_EQ(causes_of(set), "") << "while all works nothing is missing";
  test::silence_host(set, "mini1");
  nic(set, "mini1", "eth1").carrier = false;
  const Candidate found = candidate_of(set, "link.not_in_bridge");
  EXPECT_EQ(found.finding.remedy.text(), "ip link set dev eth0 master eth1");
  EXPECT_EQ(found.breaks, test::all_pairs(set, "mini1"));
  EXPECT_EQ(causes_of(set), "link.not_in_bridge@mini1");
}

// Matrix, seed 41, route_wrong_interface: a card beside the bridge was taken for a port of it.
TEST(LinkRules, WhatIsRoutedPastTheBridgeDoesNotMissAPort) {
  EvidenceSet set = bridged();
  test::host(set, "mini1").interfaces.push_back(test::make_nic("eth7", "02:00:00:00:01:77", {}));
  test::silence(set, "mini1", "mini2");
  EXPECT_EQ(causes_of(set), "link.not_in_bridge@mini1") << "the card could lead there";
  for (RouteLookup& lookup : test::pair(set, "mini1", "mini2").routes) lookup.dev = "eth7";
  EXPECT_EQ(causes_of(set), "route.wrong_interface@mini1");
}

TEST(LinkRules, PortThatDoesNotForward) {
  EvidenceSet set = bridged();
  nic(set, "mini1", "eth0").port_state = "disabled";
  test::silence_host(set, "mini1");
  EXPECT_EQ(candidate_of(set, "link.not_in_bridge").finding.remedy.text(),
            "bridge link set dev eth0 state 3");
  test::host(set, "mini2").forwarding_loops = {"bridge br0 is wired to itself by p1 and p2"};
  EXPECT_EQ(candidate_of(set, "topology.bridge_loop").finding.host, "mini2");
}

TEST(LinkRules, MacosSpeaksItsOwnCommands) {
  EvidenceSet set = link_star();
  test::host(set, "mini2").system = "macos";
  nic(set, "mini2", "eth1").up = false;
  EXPECT_EQ(candidate_of(set, "link.down").finding.remedy.text(), "ifconfig eth1 up");
}

TEST(LinkRules, HostileInterfaceNameIsQuoted) {
  EvidenceSet set = link_star();
  nic(set, "mini2", "eth1").name = "x;reboot";
  nic(set, "mini2", "x;reboot").up = false;
  EXPECT_EQ(candidate_of(set, "link.down").finding.remedy.text(), "ip link set dev 'x;reboot' up");
}

}  // namespace
}  // namespace plumbline
