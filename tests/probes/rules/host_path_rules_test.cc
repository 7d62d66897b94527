#include "host_rule_helpers.h"

namespace plumbline {
namespace {

using test::candidate_of;
using test::causes_of;
using test::nic;

EvidenceSet path_star() { return test::healthy_star(3); }

TEST(PathRules, WirelessThoughThereIsACable) {
  EvidenceSet set = path_star();
  for (HostEvidence& owner : set.hosts) {
    nic(set, owner.name, "eth1").kind = "wifi";
    nic(set, owner.name, "eth1").speed_bps.reset();
  }
  EXPECT_EQ(candidate_of(set, "path.slower_used").finding.outcome, Severity::kWarn);
  for (HostEvidence& owner : set.hosts) nic(set, owner.name, "eth0").carrier = false;
  EXPECT_EQ(causes_of(set), "");
}

TEST(PathRules, FasterCableUnused) {
  EvidenceSet set = test::healthy_star(2);
  for (HostEvidence& owner : set.hosts) {
    nic(set, owner.name, "eth0").speed_bps = 10'000'000'000;
    nic(set, owner.name, "eth0").speed_max_bps = 10'000'000'000;
  }
  EXPECT_EQ(causes_of(set), "path.slower_used@mini1");
  nic(set, "mini2", "eth0").speed_bps = 1'000'000'000;
  nic(set, "mini2", "eth0").speed_max_bps = 1'000'000'000;
  EXPECT_EQ(causes_of(set), "") << "one slow end makes a slow link";
}

TEST(PathRules, MtuOfOneEnd) {
  EvidenceSet set = path_star();
  nic(set, "mini3", "eth1").mtu = 1400;
  Candidate found = candidate_of(set, "mtu.mismatch");
  EXPECT_EQ(found.finding.host, "mini3");
  EXPECT_EQ(found.finding.outcome, Severity::kWarn);
  EXPECT_EQ(found.finding.remedy.text(), "ip link set dev eth1 mtu 1500");
  EXPECT_TRUE(found.breaks.empty());
  PairEvidence& pair = test::pair(set, "mini1", "mini3");
  pair.mtu->largest_delivered = 1400;
  pair.mtu->smallest_lost = 1401;
  pair.mtu->transferred = 4000;
  found = candidate_of(set, "mtu.mismatch");
  EXPECT_EQ(found.finding.outcome, Severity::kFail);
  EXPECT_EQ(found.breaks, (OrderedPairs{{"mini1", "mini3"}}));
  EXPECT_EQ(causes_of(set), "mtu.mismatch@mini3");
  nic(set, "mini1", "eth0").mtu = 9000;
  EXPECT_EQ(causes_of(set), "mtu.mismatch@mini3") << "eth0 is not under test";
}

TEST(PathRules, MtuOfTwoHostsIsDecidedByTheStandard) {
  EvidenceSet set = test::healthy_star(2);
  nic(set, "mini2", "eth1").mtu = 9000;
  const Finding found = candidate_of(set, "mtu.mismatch").finding;
  EXPECT_EQ(found.host, "mini2");
  EXPECT_EQ(found.peer, "");
  EXPECT_EQ(found.remedy.text(), "ip link set dev eth1 mtu 1500");
  EXPECT_EQ(causes_of(set), "mtu.mismatch@mini2");
}

TEST(PathRules, MtuOfTwoHostsWhereNothingDecidesIsThePairs) {
  EvidenceSet set = test::healthy_star(2);
  nic(set, "mini1", "eth1").mtu = 4000;
  nic(set, "mini2", "eth1").mtu = 9000;
  const Finding found = candidate_of(set, "mtu.mismatch").finding;
  EXPECT_EQ(found.host, "mini1");
  EXPECT_EQ(found.peer, "mini2");
  EXPECT_EQ(causes_of(set), "mtu.mismatch@mini1");
}

// Matrix, seed 35: two of the job's hosts on one side of a router, the others behind it.
TEST(PathRules, MtuOfTwoHostsOnALinkIsDecidedByTheHostsBehindTheRouter) {
  EvidenceSet set = test::healthy_star(4);
  for (const char* name : {"mini3", "mini4"}) {
    const std::string ip = std::string("10.20.0.") + name[4];
    AddressEvidence& own = nic(set, name, "eth1").addresses.at(0);
    for (PairEvidence& pair : set.pairs) {
      if (pair.from_ip == own.ip) pair.from_ip = ip;
      if (pair.to_ip == own.ip) pair.to_ip = ip;
    }
    own.ip = ip;
    test::job_host(set, name).data = {ip + "/24"};
  }
  const auto odd = [&] {
    const Finding found = candidate_of(set, "mtu.mismatch").finding;
    return found.host + ">" + found.peer + " " + found.remedy.text();
  };
  nic(set, "mini2", "eth1").mtu = 1293;
  EXPECT_EQ(odd(), "mini2> ip link set dev eth1 mtu 1500");
  // All others are at 9000: then 1500 is what is odd.
  for (HostEvidence& owner : set.hosts) nic(set, owner.name, "eth1").mtu = 9000;
  nic(set, "mini1", "eth1").mtu = 1500;
  EXPECT_EQ(odd(), "mini1> ip link set dev eth1 mtu 9000");
  // Different on the two sides, alike on each: no link has two values.
  for (const char* name : {"mini1", "mini2"}) nic(set, name, "eth1").mtu = 1400;
  const auto all = test::propose(set);
  for (const Candidate& one : all) EXPECT_NE(one.finding.cause, "mtu.mismatch");
}

// A host that is alone on its link, behind a router that says nothing about itself (routed network
// of the fault matrix, seed 304).
TEST(PathRules, MtuOfALinkToARouterShowsInWhatVanishes) {
  EvidenceSet set = path_star();
  AddressEvidence& own = nic(set, "mini3", "eth1").addresses.at(0);
  for (PairEvidence& pair : set.pairs) {
    if (pair.from_ip == own.ip) pair.from_ip = "10.20.0.3";
    if (pair.to_ip == own.ip) pair.to_ip = "10.20.0.3";
  }
  own.ip = "10.20.0.3";
  test::job_host(set, "mini3").data = {"10.20.0.3/24"};
  nic(set, "mini3", "eth1").mtu = 1368;
  const auto says_mismatch = [&] {
    const auto all = test::propose(set);
    return std::any_of(all.begin(), all.end(),
                       [](const Candidate& c) { return c.finding.cause == "mtu.mismatch"; });
  };
  EXPECT_FALSE(says_mismatch()) << "nothing vanished: the router's port may have the same MTU";
  MtuEvidence& mtu = *test::pair(set, "mini1", "mini3").mtu;
  mtu.largest_delivered = 1372;
  mtu.smallest_lost = 1373;
  mtu.lost_tries = 4;
  mtu.told = 0;
  const Finding found = candidate_of(set, "mtu.mismatch").finding;
  EXPECT_EQ(found.host, "mini3");
  EXPECT_EQ(found.outcome, Severity::kWarn);
  EXPECT_EQ(found.remedy.text(), "ip link set dev eth1 mtu 1500");
  mtu.told = 1368;
  EXPECT_FALSE(says_mismatch()) << "the router refused it by ICMP: its port has this MTU";
  mtu.told = 0;
  mtu.small_lost = 1;
  EXPECT_FALSE(says_mismatch()) << "small ones are lost as well";
}

TEST(PathRules, MtuOfOneCableOfAMeshNamesTheCable) {
  EvidenceSet set = test::healthy_mesh(3);
  const std::string ip = test::pair(set, "mini1", "mini2").from_ip;
  for (InterfaceEvidence& card : test::host(set, "mini1").interfaces) {
    if (!card.addresses.empty() && card.addresses[0].ip == ip) card.mtu = 1300;
  }
  const Finding found = candidate_of(set, "mtu.mismatch").finding;
  EXPECT_EQ(found.host, "mini1");
  EXPECT_EQ(found.peer, "mini2");
}

}  // namespace
}  // namespace plumbline
