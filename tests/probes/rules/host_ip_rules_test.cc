#include "host_rule_helpers.h"

namespace plumbline {
namespace {

using test::candidate_of;
using test::causes_of;
using test::nic;
using testing::HasSubstr;

EvidenceSet star() { return test::healthy_star(3); }

AddressEvidence address(const std::string& cidr) {
  return test::make_nic("x", "", {cidr}).addresses.at(0);
}
void set_addresses(EvidenceSet& set, const std::string& host, const std::string& interface,
                   const std::vector<std::string>& list) {
  nic(set, host, interface).addresses = test::make_nic("x", "", list).addresses;
}

TEST(IpRules, AddressIsMissing) {
  EvidenceSet set = star();
  set_addresses(set, "mini3", "eth1", {});
  test::silence_host(set, "mini3");
  test::unroute(set, "mini3", "mini1", "ENETUNREACH");
  const Candidate found = candidate_of(set, "ip.missing");
  EXPECT_EQ(found.finding.host, "mini3");
  EXPECT_EQ(found.finding.remedy.text(), "ip address add 10.10.0.3/24 dev eth1");
  EXPECT_EQ(found.breaks, test::all_pairs(set, "mini3"));
  EXPECT_EQ(causes_of(set), "ip.missing@mini3");
  EXPECT_EQ(test::root_causes(set), "ip.missing@mini3");
}

TEST(IpRules, AnotherAddressOfTheSameSubnetIsNotIt) {
  EvidenceSet set = star();
  set_addresses(set, "mini3", "eth1", {"10.10.0.77/24"});
  test::silence_host(set, "mini3");
  EXPECT_EQ(causes_of(set), "ip.missing@mini3");
  test::job_host(set, "mini3").interface = "eth1";
  EXPECT_EQ(causes_of(set), "ip.missing@mini3");
}

TEST(IpRules, AddressOfANetworkThatNobodyShares) {
  EvidenceSet set = star();
  set_addresses(set, "mini3", "eth1", {"10.77.0.3/24"});
  test::silence_host(set, "mini3");
  const Candidate found = candidate_of(set, "ip.wrong_subnet");
  EXPECT_EQ(found.finding.remedy.text(),
            "ip address add 10.10.0.3/24 dev eth1\nip address del 10.77.0.3/24 dev eth1");
  EXPECT_EQ(causes_of(set), "ip.wrong_subnet@mini3");
}

TEST(IpRules, PrefixComesFromThePeersWhenTheFileHasNone) {
  EvidenceSet set = star();
  set_addresses(set, "mini3", "eth1", {});
  test::job_host(set, "mini3").data = {"10.10.0.3"};
  for (const char* name : {"mini1", "mini2"}) nic(set, name, "eth1").addresses[0].prefix = 22;
  EXPECT_EQ(candidate_of(set, "ip.missing").finding.remedy.text(),
            "ip address add 10.10.0.3/22 dev eth1");
}

TEST(IpRules, SelfAssignedOnly) {
  EvidenceSet set = star();
  set_addresses(set, "mini3", "eth1", {"169.254.7.9/16", "fe80::1/64"});
  test::silence_host(set, "mini3");
  EXPECT_EQ(causes_of(set), "ip.link_local_only@mini3");
  set_addresses(set, "mini3", "eth1", {"fe80::1/64"});  // which every interface has
  EXPECT_EQ(causes_of(set), "ip.missing@mini3");
}

TEST(IpRules, SelfAssignedOnPurposeIsANote) {
  test::ClusterBuilder builder;
  builder.data("a", "en0", "169.254.1.1/16").data("b", "en0", "169.254.1.2/16");
  const Candidate found = candidate_of(builder.build(), "ip.link_local_only");
  EXPECT_EQ(found.finding.outcome, Severity::kNote);
  EXPECT_TRUE(found.finding.explains.empty());
}

TEST(IpRules, AddressOnLoopbackInsteadOfTheCard) {
  for (const char* place : {"lo", "dummy0"}) {
    EvidenceSet set = star();
    set_addresses(set, "mini2", "eth1", {});
    if (std::string(place) == "dummy0") {
      test::host(set, "mini2").interfaces.push_back(test::make_nic("dummy0", "", {}, "virtual"));
    }
    nic(set, "mini2", place).addresses.push_back(address("10.10.0.2/32"));
    test::silence_host(set, "mini2");
    const Candidate found = candidate_of(set, "ip.missing");
    EXPECT_EQ(found.finding.remedy.text(), std::string("ip address del 10.10.0.2/32 dev ") + place +
                                               "\nip address add 10.10.0.2/24 dev eth1");
    EXPECT_EQ(found.breaks, test::all_pairs(set, "mini2"));
  }
}

TEST(IpRules, NarrowerPrefixCutsPeersOff) {
  test::ClusterBuilder builder;
  builder.data("a", "eth1", "10.10.0.1/24").data("b", "eth1", "10.10.0.2/24");
  builder.data("c", "eth1", "10.10.0.200/24");
  EvidenceSet set = builder.build();
  nic(set, "c", "eth1").addresses[0].prefix = 25;
  EXPECT_EQ(candidate_of(set, "ip.mask_mismatch").finding.outcome, Severity::kWarn)
      << "still works";
  test::silence_host(set, "c");
  test::unroute(set, "c", "a", "ENETUNREACH");
  const Candidate found = candidate_of(set, "ip.mask_mismatch");
  EXPECT_EQ(found.finding.host, "c");
  EXPECT_EQ(found.finding.outcome, Severity::kFail);
  EXPECT_EQ(found.finding.remedy.text(),
            "ip address add 10.10.0.200/24 dev eth1\nip address del 10.10.0.200/25 dev eth1");
  EXPECT_EQ(found.breaks, test::all_pairs(set, "c"));
  EXPECT_EQ(test::root_causes(set), "ip.mask_mismatch@c");
  // A broken pair that the mask does not cut off is somebody else's.
  nic(set, "c", "eth1").addresses[0].prefix = 16;
  EXPECT_TRUE(candidate_of(set, "ip.mask_mismatch").breaks.empty());
}

TEST(IpRules, BroadcastAddressOfANarrowPrefixIsCutOffToo) {
  test::ClusterBuilder builder;
  builder.data("a", "eth1", "10.10.0.1/24").data("b", "eth1", "10.10.0.2/24");
  builder.data("c", "eth1", "10.10.0.3/24");
  EvidenceSet set = builder.build();
  nic(set, "a", "eth1").addresses[0].prefix = 30;  // .3 is its broadcast address
  test::silence(set, "a", "c");
  EXPECT_EQ(candidate_of(set, "ip.mask_mismatch").breaks, (OrderedPairs{{"a", "c"}, {"c", "a"}}));
}

TEST(IpRules, MaskNamesTheMajoritysOpponentOrTheFirst) {
  EvidenceSet set = star();
  for (JobHost& job : set.job.hosts) job.data = {test::ip_of(job.data[0])};
  nic(set, "mini2", "eth1").addresses[0].prefix = 16;
  EXPECT_EQ(causes_of(set), "ip.mask_mismatch@mini2");
  EvidenceSet two = test::healthy_star(2);
  for (JobHost& job : two.job.hosts) job.data = {test::ip_of(job.data[0])};
  nic(two, "mini2", "eth1").addresses[0].prefix = 16;
  EXPECT_EQ(causes_of(two), "ip.mask_mismatch@mini1") << "no majority, no host file: the first";
  two.job.hosts[1].data = {"10.10.0.2/24"};
  EXPECT_EQ(causes_of(two), "ip.mask_mismatch@mini2") << "the host file decides";
}

TEST(IpRules, WholeClusterDiffersFromTheFile) {
  EvidenceSet set = test::healthy_star(2);
  for (HostEvidence& owner : set.hosts) nic(set, owner.name, "eth1").addresses[0].prefix = 16;
  for (const Candidate& candidate : test::propose(set)) {
    EXPECT_EQ(candidate.finding.cause, "ip.mask_mismatch");
    EXPECT_THAT(candidate.finding.remedy.text(), HasSubstr("/16 for mini"));
    EXPECT_EQ(candidate.finding.outcome, Severity::kWarn);
  }
}

TEST(IpRules, SecondaryAddressesSurviveANewPrefix) {
  EvidenceSet set = star();
  AddressEvidence second = address("10.10.0.60/25");
  second.flags = {"secondary"};
  nic(set, "mini2", "eth1").addresses[0].prefix = 25;
  nic(set, "mini2", "eth1").addresses.push_back(second);
  EXPECT_THAT(candidate_of(set, "ip.mask_mismatch").finding.remedy.text(),
              HasSubstr("ip address add 10.10.0.60/25 dev eth1"));
}

TEST(IpRules, AnotherHostTookTheAddress) {
  EvidenceSet set = star();
  nic(set, "mini3", "eth1").addresses.push_back(address("10.10.0.2/24"));
  test::pair(set, "mini1", "mini2").neighbour->macs.push_back(nic(set, "mini3", "eth1").mac);
  test::silence(set, "mini1", "mini2");
  const Candidate found = candidate_of(set, "ip.duplicate");
  EXPECT_EQ(found.finding.host, "mini3") << "who has what the host file does not give it";
  EXPECT_EQ(found.finding.peer, "mini2");
  EXPECT_EQ(found.finding.remedy.text(), "ip address del 10.10.0.2/24 dev eth1");
  EXPECT_EQ(found.breaks, test::all_pairs(set, "mini2"));
  EXPECT_EQ(causes_of(set), "ip.duplicate@mini3");
}

TEST(IpRules, AnotherHostTookTheAddressInsteadOfItsOwn) {
  EvidenceSet set = star();
  set_addresses(set, "mini3", "eth1", {"10.10.0.2/24"});
  test::silence_host(set, "mini3");
  EXPECT_EQ(causes_of(set), "ip.duplicate@mini3") << "not ip.missing as well";
  const Candidate found = candidate_of(set, "ip.duplicate");
  EXPECT_EQ(found.finding.remedy.text(),
            "ip address add 10.10.0.3/24 dev eth1\nip address del 10.10.0.2/24 dev eth1");
  EXPECT_EQ(found.breaks.size(), 6u);
}

TEST(IpRules, AStrangerAnswersForTheAddress) {
  EvidenceSet set = star();
  test::pair(set, "mini1", "mini2").neighbour->macs.push_back("02:de:ad:be:ef:01");
  const Candidate found = candidate_of(set, "ip.duplicate");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_THAT(found.finding.remedy.text(), HasSubstr("02:de:ad:be:ef:01"));
  EXPECT_EQ(test::outcome_of(test::host_checks(set), "ip/mini2#10.10.0.2 duplicate"),
            CheckOutcome::kFail);
}

TEST(IpRules, OneMachineThatAnswersTwiceIsNoDuplicate) {
  EvidenceSet set = star();
  test::pair(set, "mini1", "mini2").neighbour->macs.push_back(nic(set, "mini2", "eth0").mac);
  for (HostEvidence& owner : set.hosts) {
    owner.interfaces.push_back(test::make_nic("docker0", "", {"172.17.0.1/16"}, "bridge"));
  }
  EXPECT_EQ(causes_of(set), "");
}

TEST(IpRules, HostFileGivesOneAddressTwice) {
  EvidenceSet set = star();
  test::job_host(set, "mini3").data = {"10.10.0.2/24"};
  const Candidate found = candidate_of(set, "ip.duplicate");
  EXPECT_EQ(found.finding.host, "mini2");
  EXPECT_THAT(found.finding.remedy.text(), HasSubstr("hosts.json:5"));
}

TEST(IpRules, KernelFoundTheDuplicate) {
  test::ClusterBuilder builder;
  builder.data("a", "eth0", "fd00::a/64").data("b", "eth0", "fd00::b/64");
  EvidenceSet set = builder.build();
  nic(set, "a", "eth0").addresses[0].flags = {"tentative", "dadfailed"};
  EXPECT_EQ(causes_of(set), "ip.duplicate@a");
  nic(set, "a", "eth0").addresses[0].flags = {"tentative"};
  EXPECT_EQ(causes_of(set), "");
}

TEST(IpRules, SecondInterfaceInTheDataSubnet) {
  for (const char* second : {"10.10.0.9/24", "10.10.0.5/30", "10.10.9.9/16"}) {
    EvidenceSet set = star();
    set_addresses(set, "mini1", "eth0", {second});
    const Candidate found = candidate_of(set, "ip.overlap");
    EXPECT_EQ(found.finding.outcome, Severity::kWarn) << second;
    EXPECT_THAT(found.finding.remedy.text(),
                testing::StartsWith(std::string("ip address del ") + second + " dev eth0"));
    nic(set, "mini1", "eth0").up = false;
    EXPECT_EQ(causes_of(set), "") << "an interface that is down covers nothing";
  }
}

TEST(IpRules, OverlapThatTakesThePacketsFails) {
  EvidenceSet set = star();
  test::host(set, "mini1")
      .interfaces.push_back(
          test::make_nic("dummy0", "02:00:00:00:09:09", {"10.10.0.9/24"}, "virtual"));
  EXPECT_EQ(candidate_of(set, "ip.overlap").finding.outcome, Severity::kWarn);
  test::silence(set, "mini1", "mini2");
  for (RouteLookup& lookup : test::pair(set, "mini1", "mini2").routes) lookup.dev = "dummy0";
  const Candidate found = candidate_of(set, "ip.overlap");
  EXPECT_EQ(found.finding.outcome, Severity::kFail);
  EXPECT_EQ(found.breaks, (OrderedPairs{{"mini1", "mini2"}, {"mini2", "mini1"}}));
}

TEST(IpRules, WhatCoversOnlyItselfOrFromOutsideIsHarmless) {
  EvidenceSet set = star();
  test::host(set, "mini1")
      .interfaces.push_back(test::make_nic("dummy0", "", {"10.10.0.99/32"}, "virtual"));
  test::host(set, "mini2")
      .interfaces.push_back(test::make_nic("tun0", "", {"10.9.9.9/8"}, "tunnel"));
  EXPECT_EQ(causes_of(set), "");
}

TEST(IpRules, TwoSubnetsThatNothingJoins) {
  test::ClusterBuilder builder;
  builder.data("a", "eth1", "10.10.0.1/24").data("b", "eth1", "10.10.0.2/24");
  builder.data("c", "eth1", "10.11.0.3/24");
  EvidenceSet set = builder.build();
  EXPECT_EQ(causes_of(set), "") << "it works: somebody routes";
  test::unroute(set, "a", "c", "ENETUNREACH");
  test::unroute(set, "b", "c", "ENETUNREACH");
  test::unroute(set, "c", "a", "ENETUNREACH");
  test::unroute(set, "c", "b", "ENETUNREACH");
  EXPECT_EQ(test::root_causes(set), "ip.wrong_subnet@c");
  const Candidate found = candidate_of(set, "ip.wrong_subnet");
  EXPECT_EQ(found.breaks, test::all_pairs(set, "c"));
  EXPECT_THAT(found.finding.remedy.text(), HasSubstr("hosts.json:5"));
}

TEST(IpRules, ALostRouteBetweenRoutedSubnetsIsNotAWrongSubnet) {
  test::ClusterBuilder builder;
  builder.data("a", "eth1", "10.10.1.1/24", "ethernet", "10.10.1.254");
  builder.data("b", "eth1", "10.10.1.2/24", "ethernet", "10.10.1.254");
  builder.data("c", "eth1", "10.10.2.1/24", "ethernet", "10.10.2.254");
  EvidenceSet set = builder.build();
  auto& routes = test::host(set, "a").routes;
  routes.erase(std::remove_if(routes.begin(), routes.end(),
                              [](const RouteEvidence& route) { return !route.via.empty(); }),
               routes.end());
  test::unroute(set, "a", "c", "ENETUNREACH");
  test::silence(set, "a", "c");
  EXPECT_EQ(causes_of(set), "route.missing@a");
  EXPECT_EQ(candidate_of(set, "route.missing").finding.remedy.text(),
            "ip route add 10.10.2.0/24 via 10.10.1.254 dev eth1");
}

TEST(IpRules, MeshWithoutACable) {
  EvidenceSet set = test::healthy_mesh(3);
  // mini1 and mini2 have no cable: each only knows its way to mini3.
  test::job_host(set, "mini1").data = {"10.20.1.1/30", "10.30.0.1/30"};
  nic(set, "mini1", "to2").addresses = test::make_nic("x", "", {"10.30.0.1/30"}).addresses;
  for (RouteEvidence& route : test::host(set, "mini1").routes) {
    if (route.dev == "to2") route.destination = "10.30.0.0/30";
  }
  test::unroute(set, "mini1", "mini2", "ENETUNREACH");
  test::unroute(set, "mini2", "mini1", "ENETUNREACH");
  test::pair(set, "mini1", "mini2").from_ip = "10.30.0.1";
  test::pair(set, "mini2", "mini1").to_ip = "10.30.0.1";
  EXPECT_EQ(test::root_causes(set), "topology.not_mesh@mini1");
  EXPECT_EQ(candidate_of(set, "topology.not_mesh").finding.peer, "mini2");
}

TEST(IpRules, MeshWhoseHostFileKnowsOfNoCable) {
  EvidenceSet set = test::healthy_mesh(3);
  // Without its link to the other, mini1 and mini2 have one address each.
  test::job_host(set, "mini1").data = {"10.20.1.1/30"};
  test::job_host(set, "mini2").data = {"10.20.2.1/30"};
  for (const auto& [from, to] : {std::pair{"mini1", "mini2"}, {"mini2", "mini1"}}) {
    test::unroute(set, from, to, "ENETUNREACH");
    test::pair(set, from, to).from_ip = from[4] == '1' ? "10.20.1.1" : "10.20.2.1";
    test::pair(set, from, to).to_ip = from[4] == '1' ? "10.20.2.1" : "10.20.1.1";
  }
  EXPECT_EQ(test::root_causes(set), "topology.not_mesh@mini1");
}

TEST(IpRules, HostFileNamesAnAddressOfAnotherSubnet) {
  EvidenceSet set = star();
  test::job_host(set, "mini3").data = {"198.18.7.9/24"};
  for (PairEvidence& pair : set.pairs) {
    if (pair.from == "mini3") pair.from_ip = "198.18.7.9";
    if (pair.to == "mini3") pair.to_ip = "198.18.7.9";
  }
  test::host(set, "mini3").names.clear();
  test::silence_host(set, "mini3");
  const Candidate found = candidate_of(set, "ip.wrong_subnet");
  EXPECT_EQ(found.finding.host, "mini3");
  EXPECT_EQ(found.finding.remedy.text(), "write 10.10.0.3/24 for mini3 at hosts.json:5");
  EXPECT_EQ(causes_of(set), "ip.wrong_subnet@mini3");
}

TEST(IpRules, TheInterfaceThatLedToThePeersGetsTheAddress) {
  EvidenceSet set = star();
  test::host(set, "mini3")
      .interfaces.insert(test::host(set, "mini3").interfaces.begin(),
                         test::make_nic("spare", "", {}));
  set_addresses(set, "mini3", "eth1", {"198.18.7.9/24"});
  test::silence_host(set, "mini3");
  EXPECT_EQ(causes_of(set), "ip.wrong_subnet@mini3") << "its neighbours were seen on eth1";
}

// A control network over IPv4 has no address of the data's family, and is no place for it all the
// same (pair wrong_subnet+reject_rst of the fault matrix, seed 305).
TEST(IpRules, ACardOfAnotherNetworkByTheOtherFamilyIsNoPlaceForTheData) {
  const auto with_control = [](const std::string& last) {
    EvidenceSet set = star();
    for (HostEvidence& host : set.hosts) {
      const bool odd = host.name == "mini3";
      const std::string control =
          odd ? last : std::string("fd07:1::") + host.name.substr(4) + "/64";
      host.interfaces.insert(
          host.interfaces.begin(),
          test::make_nic("ctl0", "02:00:00:00:77:0" + host.name.substr(4), {control}));
    }
    set_addresses(set, "mini3", "eth1", {"198.18.7.9/24"});
    test::silence_host(set, "mini3");
    test::host(set, "mini3").neighbours.clear();
    return causes_of(set);
  };
  EXPECT_EQ(with_control("fd07:1::3/64"), "ip.wrong_subnet@mini3");
  EXPECT_EQ(with_control("fd08:2::3/64"), "ip.missing@mini3") << "nobody else is in that network";
}

TEST(IpRules, SwappedCables) {
  EvidenceSet set = test::healthy_mesh(3);
  for (const char* peer : {"mini2", "mini3"}) {
    test::silence(set, "mini1", peer);
    test::unresolve(set, "mini1", peer);
    test::unresolve(set, peer, "mini1");
  }
  const Candidate found = candidate_of(set, "topology.rail_mismatch");
  EXPECT_EQ(found.finding.host, "mini1");
  EXPECT_THAT(found.finding.remedy.text(),
              testing::StartsWith("ip address del 10.20.0.1/30 dev to2\nip address del "
                                  "10.20.1.1/30 dev to3\nip address add 10.20.0.1/30 dev to3\n"));
  EXPECT_EQ(test::root_causes(set), "topology.rail_mismatch@mini1");
  // One silent cable alone is no swap.
  EvidenceSet one = test::healthy_mesh(3);
  test::silence(one, "mini1", "mini2");
  test::unresolve(one, "mini1", "mini2");
  test::unresolve(one, "mini2", "mini1");
  EXPECT_EQ(test::root_causes(one), "neighbour.unresolved@mini1");
}

}  // namespace
}  // namespace plumbline
