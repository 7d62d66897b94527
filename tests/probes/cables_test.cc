// Which cable leads where, on Macs and Linux machines on paper.
#include "probes/cables.h"

#include <gmock/gmock.h>

#include "probes/sources/parsers.h"
#include "tests/support/paper_macs.h"

namespace plumbline {
namespace {

using test::PaperCluster;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = CableDoubt::Kind;

// "mac1 en2 (socket 1) - mac2 en4 (socket 2)".
std::vector<std::string> cables_of(const CableGraph& graph) {
  std::vector<std::string> out;
  for (const Cable& cable : graph.cables) {
    out.push_back(graph.hosts[cable.a.host] + " " + end_words(cable.a) + " - " +
                  graph.hosts[cable.b.host] + " " + end_words(cable.b));
  }
  return out;
}

std::vector<std::string> doubts_of(const CableGraph& graph) {
  std::vector<std::string> out;
  for (const CableDoubt& doubt : graph.doubts) {
    out.push_back(graph.hosts[doubt.host] + ": " + doubt.text);
  }
  return out;
}

TEST(Cables, TwoMacsOnOneCable) {
  const CableGraph graph = find_cables(test::paper_pair().evidence());
  EXPECT_THAT(cables_of(graph), ElementsAre("mac1 en2 (socket 1) - mac2 en4 (socket 2)"));
  EXPECT_EQ(graph.cables[0].speed_bps, 80'000'000'000);
  EXPECT_EQ(graph.cables[0].hubs, 0);
  EXPECT_TRUE(graph.cables[0].thunderbolt);
  EXPECT_EQ(graph.shape, "mesh");
  EXPECT_THAT(graph.doubts, IsEmpty());
  // The LAN is a network, not a cable.
  ASSERT_THAT(graph.networks, SizeIs(1));
  EXPECT_EQ(graph.networks[0].network, "192.168.4.0/24");
}

TEST(Cables, ShapesOfAllSizes) {
  for (size_t macs = 2; macs <= 8; ++macs) {
    const CableGraph mesh = find_cables(test::paper_mesh(macs).evidence());
    EXPECT_EQ(mesh.shape, "mesh") << macs;
    EXPECT_EQ(mesh.cables.size(), macs * (macs - 1) / 2);
    EXPECT_EQ(ring_of(mesh).size(), macs);
    if (macs < 4) continue;
    const CableGraph ring = find_cables(test::paper_ring(macs).evidence());
    EXPECT_EQ(ring.shape, "ring") << macs;
    EXPECT_EQ(ring.cables.size(), macs);
    std::vector<size_t> along;
    for (size_t i = 0; i < macs; ++i) along.push_back(i);
    EXPECT_EQ(ring_of(ring), along);
    const CableGraph star = find_cables(test::paper_star(macs).evidence());
    EXPECT_EQ(star.shape, "star") << macs;
    EXPECT_THAT(ring_of(star), IsEmpty());
  }
  EXPECT_EQ(find_cables(PaperCluster(3).evidence()).shape, "network") << "the LAN alone";
}

// The order of the ranks is that of the cables, wherever these are plugged in.
TEST(Cables, ARingInAnotherOrder) {
  PaperCluster cluster(4);
  cluster.cable(0, 1, 2, 1).cable(2, 2, 1, 1).cable(1, 2, 3, 1).cable(3, 2, 0, 2);
  const CableGraph graph = find_cables(cluster.evidence());
  EXPECT_EQ(graph.shape, "ring");
  EXPECT_THAT(ring_of(graph), ElementsAre(0, 2, 1, 3));
}

TEST(Cables, SeveralBetweenTwoMacsAreKeptApart) {
  const CableGraph graph = find_cables(test::paper_two_cables().evidence());
  EXPECT_THAT(cables_of(graph), ElementsAre("mac1 en2 (socket 1) - mac2 en4 (socket 2)",
                                            "mac1 en3 (socket 2) - mac2 en3 (socket 1)"));
  EXPECT_THAT(cables_between(graph, 1, 0), SizeIs(2));
}

TEST(Cables, AMacBehindAHubIsSeen) {
  PaperCluster cluster = test::paper_pair();
  cluster.macs[0].socket(1).hubs = cluster.macs[1].socket(2).hubs = 2;
  const CableGraph graph = find_cables(cluster.evidence());
  ASSERT_THAT(graph.cables, SizeIs(1));
  EXPECT_EQ(graph.cables[0].hubs, 2);
}

// Titles are translated, their numbers are not.
TEST(Cables, AGermanMacTellsTheSame) {
  PaperCluster cluster = test::paper_pair();
  for (test::PaperMac& mac : cluster.macs) {
    mac.title_key = "Hardwareport";
    mac.title = "Thunderbolt-Anschluss";
    mac.device_key = "Ger\xc3\xa4t";
  }
  EXPECT_THAT(cables_of(find_cables(cluster.evidence())),
              ElementsAre("mac1 en2 (socket 1) - mac2 en4 (socket 2)"));
}

TEST(Cables, AnInterfaceThatCannotBeToldIsNotGuessed) {
  PaperCluster cluster = test::paper_pair();
  cluster.macs[1].silent = {"networksetup"};
  EXPECT_THAT(cables_of(find_cables(cluster.evidence())),
              ElementsAre("mac1 en2 (socket 1) - mac2 socket 2"));
  cluster.macs[1].silent.clear();
  cluster.macs[1].said["networksetup"] =
      "Hardware Port: Thunderbolt 2\nDevice: en4\n\nHardware Port: Thunderbolt 2\nDevice: en3\n";
  EXPECT_THAT(cables_of(find_cables(cluster.evidence())),
              ElementsAre("mac1 en2 (socket 1) - mac2 socket 2"))
      << "two claim the number";
}

TEST(Cables, WhatOnlyOneEndSeesIsToldAndNoCable) {
  PaperCluster cluster = test::paper_mesh(3);
  cluster.macs[1].socket(1).peer.clear();
  const CableGraph graph = find_cables(cluster.evidence());
  EXPECT_THAT(graph.cables, SizeIs(2));
  EXPECT_THAT(doubts_of(graph), ElementsAre("mac1: en2 (socket 1) sees mac2, whose en3 (socket 1) "
                                            "does not see it"));
  EXPECT_EQ(graph.doubts[0].kind, Kind::kOneSided);
  EXPECT_EQ(graph.shape, "star");
}

TEST(Cables, TwinsAreToldAndNoneOfThemIsAnEnd) {
  PaperCluster cluster = test::paper_mesh(3);
  cluster.macs[2].socket(1).domain = cluster.macs[1].socket(1).domain;
  const CableGraph graph = find_cables(cluster.evidence());
  ASSERT_THAT(doubts_of(graph), testing::Contains(HasSubstr(
                                    "mac3: en2 (socket 1) says that it is en3 (socket 1) of mac2: "
                                    "one machine under two names")));
  for (const Cable& cable : graph.cables) EXPECT_NE(cable.a.host, 0u) << "the twins' other ends";
  for (const CableDoubt& doubt : graph.doubts) {
    const bool more =
        doubt.kind == CableDoubt::Kind::kAmbiguous || doubt.kind == CableDoubt::Kind::kOneSided;
    EXPECT_FALSE(more) << "once is enough: " << doubt.text;
  }
}

TEST(Cables, StrangersAndCablesToOneselfAreTold) {
  PaperCluster cluster(2);
  cluster.macs[0].socket(1).peer = "99999999-0000-4000-8000-000000000001";
  cluster.cable(1, 1, 1, 2);
  const CableGraph graph = find_cables(cluster.evidence());
  EXPECT_THAT(graph.cables, IsEmpty());
  EXPECT_THAT(doubts_of(graph),
              ElementsAre("mac1: en2 (socket 1) leads to a computer that is none of these hosts",
                          "mac2: en3 (socket 1) leads back into the same host"));
}

TEST(Cables, AMacThatTellsNothingCostsItsOwnCablesOnly) {
  PaperCluster cluster = test::paper_mesh(4);
  cluster.macs[3].silent = {"system-profiler-thunderbolt"};
  const CableGraph graph = find_cables(cluster.evidence());
  EXPECT_THAT(graph.cables, SizeIs(3));
  EXPECT_THAT(graph.doubts, SizeIs(3)) << "each other one sees a computer that nobody claims";
  cluster.macs[3].silent.clear();
  for (const char* rubbish : {"", "{", "[]", "{\"SPThunderboltDataType\":7}", "\xff\xfe"}) {
    cluster.macs[3].said["system-profiler-thunderbolt"] = rubbish;
    EXPECT_THAT(find_cables(cluster.evidence()).cables, SizeIs(3)) << rubbish;
  }
}

// An Intel Mac has two sockets at a bus, and does not tell which one leads to the other computer.
TEST(Cables, OneOfTwoSocketsOfABus) {
  PaperCluster cluster = test::paper_pair();
  const auto bus = [&](const char* second) {
    return std::string(R"({"SPThunderboltDataType":[{"domain_uuid_key":")") +
           cluster.macs[1].socket(2).domain +
           R"(","receptacle_1_tag":{"receptacle_id_key":"2","current_speed_key":"40 Gb/s"},)"
           R"("receptacle_2_tag":{"receptacle_id_key":"3","receptacle_status_key":")" +
           second + R"("},"_items":[{"domain_uuid_key":")" + cluster.macs[0].socket(1).domain +
           R"("}]}]})";
  };
  cluster.macs[1].said["system-profiler-thunderbolt"] = bus("receptacle_no_devices_connected");
  EXPECT_THAT(cables_of(find_cables(cluster.evidence())),
              ElementsAre("mac1 en2 (socket 1) - mac2 en4 (socket 2)"));
  cluster.macs[1].said["system-profiler-thunderbolt"] = bus("receptacle_connected");
  EXPECT_THAT(cables_of(find_cables(cluster.evidence())),
              ElementsAre("mac1 en2 (socket 1) - mac2 a Thunderbolt socket"));
}

// ---- Linux ----

HostEvidence linux_host(const std::string& name, const std::string& own,
                        const std::map<std::string, std::string>& peers) {
  HostEvidence host;
  host.name = name;
  host.source = "agent";
  host.system = "linux";
  const std::string at = "/sys/bus/thunderbolt/devices/";
  std::string text = at + "domain0/uevent:DEVTYPE=thunderbolt_domain\n" + at +
                     "0-0/uevent:DEVTYPE=thunderbolt_device\n" + at + "0-0/unique_id:" + own + "\n";
  for (const auto& [route, peer] : peers) {
    text += at + route + "/uevent:DEVTYPE=thunderbolt_xdomain\n" + at + route +
            "/unique_id:" + peer + "\n" + at + route + "/rx_speed:20.0 Gb/s\n" + at + route +
            "/rx_lanes:2\n" + at + route + ".0/net/thunderbolt" + route.substr(2) + "/ifindex:7\n" +
            at + route + ".0/uevent:DEVTYPE=thunderbolt_service\n";
  }
  EXPECT_TRUE(parse_sys_bus_thunderbolt(text, host));
  return host;
}

TEST(Cables, ALinuxMachineAndAMac) {
  PaperCluster cluster(1);
  cluster.macs[0].socket(1).peer = "c0ffee00-1111-4000-8000-000000000001";
  EvidenceSet set = cluster.evidence();
  set.hosts.push_back(linux_host("box", "c0ffee00-1111-4000-8000-000000000001",
                                 {{"0-1", cluster.macs[0].socket(1).domain}}));
  const CableGraph graph = find_cables(set);
  EXPECT_THAT(cables_of(graph), ElementsAre("mac1 en2 (socket 1) - box thunderbolt1"));
  EXPECT_EQ(graph.cables[0].speed_bps, 40'000'000'000) << "the slower of what both tell";
}

TEST(Cables, HopsOfALinuxRouteAreHubs) {
  EvidenceSet set;
  set.hosts.push_back(linux_host("a", "A-1", {{"0-301", "B-1"}}));
  set.hosts.push_back(linux_host("b", "B-1", {{"0-1", "A-1"}}));
  const CableGraph graph = find_cables(set);
  ASSERT_THAT(graph.cables, SizeIs(1));
  EXPECT_EQ(graph.cables[0].hubs, 1);
}

// The kernel writes UUIDs in small letters, a Mac in capitals.
TEST(Cables, LettersOfUuidsMayBeSmall) {
  PaperCluster cluster(1);
  cluster.macs[0].socket(1).peer = "C0FFEE00-1111-4000-8000-000000000001";
  cluster.macs[0].socket(1).domain = "ABCDEF00-1111-4000-8000-000000000001";
  EvidenceSet set = cluster.evidence();
  set.hosts.push_back(linux_host("box", "c0ffee00-1111-4000-8000-000000000001",
                                 {{"0-1", "abcdef00-1111-4000-8000-000000000001"}}));
  EXPECT_THAT(find_cables(set).cables, SizeIs(1));
}

TEST(Cables, TwoEndsThatSeeOneAreNoTwoCables) {
  EvidenceSet set;
  set.hosts.push_back(linux_host("a", "A-1", {{"0-1", "B-1"}, {"0-3", "B-1"}}));
  set.hosts.push_back(linux_host("b", "B-1", {{"0-1", "A-1"}}));
  const CableGraph graph = find_cables(set);
  EXPECT_THAT(graph.cables, IsEmpty());
  ASSERT_FALSE(graph.doubts.empty());
  EXPECT_EQ(graph.doubts[0].kind, Kind::kAmbiguous);
}

TEST(Cables, TwoOfOneControllerCannotBeToldApart) {
  EvidenceSet set;
  set.hosts.push_back(linux_host("a", "A-1", {{"0-1", "B-1"}, {"0-3", "B-1"}}));
  set.hosts.push_back(linux_host("b", "B-1", {{"0-1", "A-1"}, {"0-3", "A-1"}}));
  const CableGraph graph = find_cables(set);
  EXPECT_THAT(graph.cables, SizeIs(2));
  for (const Cable& cable : graph.cables) EXPECT_EQ(cable.a.interface + cable.b.interface, "");
  ASSERT_FALSE(graph.doubts.empty());
  EXPECT_EQ(graph.doubts[0].kind, Kind::kAmbiguous);
}

// ---- addresses alone ----

void add_card(HostEvidence& host, const std::string& name, const std::string& ip, int prefix) {
  InterfaceEvidence card;
  card.name = name;
  card.kind = "veth";
  card.up = true;
  card.addresses.push_back({ip, prefix, "global", {}});
  host.interfaces.push_back(card);
}

EvidenceSet bare_hosts(size_t count) {
  EvidenceSet set;
  for (size_t i = 0; i < count; ++i) {
    HostEvidence host;
    host.name = "h" + std::to_string(i + 1);
    host.source = "agent";
    host.system = "linux";
    set.hosts.push_back(host);
  }
  return set;
}

TEST(Cables, NetworksOfTwoHostsAreCables) {
  EvidenceSet set = bare_hosts(3);
  int number = 0;
  for (size_t a = 0; a < 3; ++a) {
    for (size_t b = a + 1; b < 3; ++b) {
      const std::string net = "10.1." + std::to_string(++number) + ".";
      add_card(set.hosts[a], "to" + std::to_string(b + 1), net + "1", 30);
      add_card(set.hosts[b], "to" + std::to_string(a + 1), net + "2", 30);
    }
  }
  // On every machine, and no network at all.
  for (HostEvidence& host : set.hosts) add_card(host, "docker0", "172.17.0.1", 16);
  const CableGraph graph = find_cables(set);
  EXPECT_THAT(cables_of(graph),
              ElementsAre("h1 to2 - h2 to1", "h1 to3 - h3 to1", "h2 to3 - h3 to2"));
  EXPECT_EQ(graph.cables[0].network, "10.1.1.0/30");
  EXPECT_FALSE(graph.cables[0].thunderbolt);
  EXPECT_EQ(graph.shape, "mesh");
  EXPECT_THAT(graph.networks, IsEmpty());
}

TEST(Cables, WhereARouterIsThereIsANetwork) {
  EvidenceSet set = bare_hosts(2);
  add_card(set.hosts[0], "eth0", "10.0.0.1", 24);
  add_card(set.hosts[1], "eth0", "10.0.0.2", 24);
  EXPECT_EQ(find_cables(set).shape, "mesh");
  RouteEvidence out;
  out.destination = "default";
  out.via = "10.0.0.254";
  set.hosts[1].routes.push_back(out);
  const CableGraph graph = find_cables(set);
  EXPECT_EQ(graph.shape, "network");
  EXPECT_THAT(graph.cables, IsEmpty());
}

TEST(Cables, VlansAndOverlaysAreNoCables) {
  EvidenceSet set = bare_hosts(2);
  for (size_t i = 0; i < 2; ++i) {
    HostEvidence& host = set.hosts[i];
    const std::string last = std::to_string(i + 1);
    add_card(host, "eth0", "10.0.0." + last, 24);
    add_card(host, "eth0.10", "10.0.1." + last, 24);
    host.interfaces.back().parent = "eth0";
    add_card(host, "zt0", "10.0.2." + last, 24);
    host.interfaces.back().kind = "virtual";
    host.interfaces[0].addresses.push_back({"10.0.3." + last, 24, "global", {}});
  }
  EXPECT_THAT(cables_of(find_cables(set)), ElementsAre("h1 eth0 - h2 eth0"));
}

TEST(Cables, NeitherTunnelsNorCardsWithoutASignalJoinHosts) {
  for (const bool tunnel : {true, false}) {
    EvidenceSet set = bare_hosts(2);
    for (size_t i = 0; i < 2; ++i) {
      add_card(set.hosts[i], "x0", "10.0.0." + std::to_string(i + 1), 24);
      InterfaceEvidence& card = set.hosts[i].interfaces.back();
      if (tunnel) card.kind = "tunnel";
      if (!tunnel) card.carrier = false;
    }
    const CableGraph graph = find_cables(set);
    EXPECT_THAT(graph.cables, IsEmpty());
    EXPECT_THAT(graph.networks, IsEmpty());
  }
}

TEST(Cables, SelfAssignedAddressesJoinNobody) {
  EvidenceSet set = bare_hosts(2);
  add_card(set.hosts[0], "en2", "169.254.1.1", 16);
  add_card(set.hosts[1], "en2", "169.254.1.2", 16);
  EXPECT_EQ(find_cables(set).shape, "none");
}

}  // namespace
}  // namespace plumbline
