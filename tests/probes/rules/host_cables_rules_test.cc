// Faults in the cables of Macs on paper: each gives its cause on the right host with what helps,
// and sound clusters give nothing.
#include <gmock/gmock.h>

#include "host_rule_helpers.h"
#include "tests/support/paper_macs.h"

namespace plumbline {
namespace {

using test::PaperCluster;
using testing::HasSubstr;

// What the host file of such a cluster says: each cable's device at both ends, rail by rail.
void name_devices(EvidenceSet& set, const PaperCluster& as_planned) {
  set.job.file = "hosts.json";
  set.job.rdma = true;
  const auto name = [&](size_t host, const std::string& peer, const std::string& interface) {
    set.job.hosts[host].rdma_towards[peer].push_back("rdma_" + interface);
    set.job.hosts[host].rdma_devices.push_back("rdma_" + interface);
  };
  for (size_t a = 0; a < as_planned.macs.size(); ++a) {
    for (const test::PaperSocket& socket : as_planned.macs[a].sockets) {
      for (size_t b = a + 1; b < as_planned.macs.size(); ++b) {
        for (const test::PaperSocket& there : as_planned.macs[b].sockets) {
          if (socket.peer.empty() || there.domain != socket.peer) continue;
          name(a, as_planned.macs[b].name, socket.interface);
          name(b, as_planned.macs[a].name, there.interface);
        }
      }
    }
  }
}

// The cables' findings alone, "cause@host".
std::string found(const PaperCluster& cluster, const PaperCluster& as_planned) {
  EvidenceSet set = cluster.evidence();
  name_devices(set, as_planned);
  return test::causes_of(propose_cables(set, {}));
}
Finding finding_of(const PaperCluster& cluster, const PaperCluster& as_planned) {
  EvidenceSet set = cluster.evidence();
  name_devices(set, as_planned);
  const Candidates all = propose_cables(set, {});
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? Finding() : all[0].finding;
}

TEST(CableRules, SoundClustersHaveNoFinding) {
  std::vector<PaperCluster> clusters = {test::paper_pair(), test::paper_two_cables()};
  for (size_t macs = 3; macs <= 6; ++macs) clusters.push_back(test::paper_mesh(macs));
  for (size_t macs = 4; macs <= 6; ++macs) {
    clusters.push_back(test::paper_ring(macs));
    clusters.push_back(test::paper_star(macs));
  }
  for (PaperCluster& cluster : clusters) {
    EXPECT_EQ(found(cluster, cluster), "");
    for (test::PaperMac& mac : cluster.macs) mac.silent = {"system-profiler-thunderbolt"};
    EXPECT_EQ(found(cluster, cluster), "") << "nothing is told";
  }
}

TEST(CableRules, SwappedPlugsAreNamedAtTheirHost) {
  for (size_t at = 0; at < 4; ++at) {
    PaperCluster cluster = test::paper_mesh(4);
    auto& sockets = cluster.macs[at].sockets;
    // The two other ends see the other socket of this Mac.
    for (test::PaperMac& mac : cluster.macs) {
      for (test::PaperSocket& socket : mac.sockets) {
        if (socket.peer == sockets[0].domain) {
          socket.peer = sockets[1].domain;
        } else if (socket.peer == sockets[1].domain) {
          socket.peer = sockets[0].domain;
        }
      }
    }
    std::swap(sockets[0].peer, sockets[1].peer);
    const Finding finding = finding_of(cluster, test::paper_mesh(4));
    EXPECT_EQ(finding.cause + "@" + finding.host,
              "topology.rail_mismatch@" + cluster.macs[at].name);
    EXPECT_THAT(finding.remedy.text(), HasSubstr("swap the plugs of " + sockets[0].interface +
                                                 " and " + sockets[1].interface));
  }
}

TEST(CableRules, ACableToAnotherHostIsToBePluggedInWhereTheFileSays) {
  PaperCluster cluster(3);
  cluster.cable(0, 2, 2, 1).cable(1, 2, 2, 2);
  cluster.cable(0, 1, 2, 3);  // the file says mac2
  const Finding finding = finding_of(cluster, test::paper_mesh(3));
  EXPECT_EQ(finding.cause + "@" + finding.host, "topology.rail_mismatch@mac1");
  EXPECT_THAT(finding.remedy.text(), HasSubstr("plug each cable in where hosts.json says"));
}

TEST(CableRules, APairWithoutACable) {
  PaperCluster cluster = test::paper_mesh(4);
  cluster.macs[1].socket(3).peer.clear();  // towards mac4
  cluster.macs[3].socket(2).peer.clear();
  const Finding finding = finding_of(cluster, test::paper_mesh(4));
  EXPECT_EQ(finding.cause, "topology.not_mesh");
  EXPECT_EQ(finding.host + ">" + finding.peer, "mac2>mac4");
  EXPECT_THAT(finding.remedy.text(), HasSubstr("connect mac2 and mac4 by a cable"));
}

TEST(CableRules, ACableInAnotherSocketOfTheSameHosts) {
  PaperCluster cluster(2);
  cluster.cable(0, 1, 1, 3);  // the plan says socket 2
  const Finding finding = finding_of(cluster, test::paper_pair());
  EXPECT_EQ(finding.cause + "@" + finding.host, "topology.rail_mismatch@mac1");
  EXPECT_THAT(finding.evidence.at(0).text,
              HasSubstr("the cable of rdma_en2 of mac1 ends in en5 (socket 3) of mac2"));
  EXPECT_THAT(finding.remedy.text(),
              HasSubstr("write [\"rdma_en5\"] for mac1 into the entry of mac2"));
  PaperCluster moved(2);
  moved.cable(0, 3, 1, 2);
  EXPECT_THAT(finding_of(moved, test::paper_pair()).evidence.at(0).text,
              HasSubstr("rdma_en2 of mac1: nothing is plugged in, and another cable"));
}

TEST(CableRules, CrossedRails) {
  const PaperCluster cluster = test::paper_two_cables();
  EvidenceSet set = cluster.evidence();
  name_devices(set, cluster);
  EXPECT_EQ(test::causes_of(propose_cables(set, {})), "");
  set.job.hosts[1].rdma_towards["mac1"] = {"rdma_en3", "rdma_en4"};
  const Finding finding = propose_cables(set, {}).at(0).finding;
  EXPECT_EQ(finding.evidence.size(), 2u);
  EXPECT_THAT(finding.remedy.text(),
              HasSubstr("write [\"rdma_en4\", \"rdma_en3\"] for mac1 into the entry of mac2"));
}

TEST(CableRules, LinksThatRdmaCannotUse) {
  PaperCluster hub = test::paper_mesh(3), old = test::paper_mesh(3);
  hub.macs[0].socket(1).hubs = hub.macs[1].socket(1).hubs = 1;
  old.macs[2].socket(2).gigabits = 40;
  const Finding behind = finding_of(hub, test::paper_mesh(3));
  EXPECT_EQ(behind.cause + "@" + behind.host, "rdma.unsupported_hardware@mac1");
  EXPECT_THAT(behind.evidence.at(0).text, HasSubstr("1 hub is between mac1 and mac2"));
  const Finding slow = finding_of(old, test::paper_mesh(3));
  EXPECT_EQ(slow.cause + "@" + slow.host + ">" + slow.peer, "rdma.unsupported_hardware@mac2>mac3");
  EXPECT_THAT(slow.evidence.at(0).text, HasSubstr("runs at 40 Gbit/s"));
  EXPECT_THAT(slow.remedy.text(), HasSubstr("Thunderbolt 5 cable"));
}

// Which the file asks for: RDMA, or RDMA where it can be had.
TEST(CableRules, WhereTcpWillDoALinkWithoutRdmaIsAWarning) {
  PaperCluster old = test::paper_pair();
  old.macs[1].socket(2).gigabits = 40;
  EvidenceSet set = old.evidence();
  name_devices(set, test::paper_pair());
  EXPECT_EQ(propose_cables(set, {}).at(0).finding.outcome, Severity::kFail);
  set.job.rdma_or_tcp = true;
  EXPECT_EQ(propose_cables(set, {}).at(0).finding.outcome, Severity::kWarn);
}

// A list that lacks a rail is no remedy.
TEST(CableRules, ARailWithoutACableIsNotWrittenOutOfTheFile) {
  PaperCluster cluster = test::paper_two_cables();
  std::swap(cluster.macs[0].socket(1).domain, cluster.macs[0].socket(3).domain);
  std::swap(cluster.macs[0].socket(1).peer, cluster.macs[0].socket(3).peer);
  const Finding finding = finding_of(cluster, test::paper_two_cables());
  EXPECT_EQ(finding.cause + "@" + finding.host, "topology.rail_mismatch@mac1");
  EXPECT_EQ(finding.remedy.text(),
            "or write down what is wired now: plumbline hosts discover --since hosts.json");
}

// Two sockets of one controller have one UUID: each of the cables may be the one of the matrix.
TEST(CableRules, CablesThatCannotBeToldApartAreNotBlamed) {
  PaperCluster cluster = test::paper_two_cables();
  auto &here = cluster.macs[0].sockets, &there = cluster.macs[1].sockets;
  for (auto* sockets : {&here, &there}) {
    for (test::PaperSocket& socket : *sockets) {
      if (!socket.peer.empty()) socket.domain = sockets->front().domain;
    }
  }
  for (test::PaperSocket& socket : here) {
    if (!socket.peer.empty()) socket.peer = there.front().domain;
  }
  for (test::PaperSocket& socket : there) {
    if (!socket.peer.empty()) socket.peer = here.front().domain;
  }
  EXPECT_EQ(found(cluster, test::paper_two_cables()), "");
}

// A third host sees one of the two, which does not see it: then the cable may be there as well.
TEST(CableRules, ADoubtOfAThirdHostMakesAMissingCableAWarning) {
  PaperCluster cluster = test::paper_mesh(3);
  auto &first = cluster.macs[0].sockets, &second = cluster.macs[1].sockets;
  for (auto& here : first) {
    for (auto& there : second) {
      if (here.peer == there.domain) here.peer.clear();
    }
  }
  for (auto& socket : second) socket.peer.clear();
  EvidenceSet set = cluster.evidence();
  name_devices(set, test::paper_mesh(3));
  const Candidates all = propose_cables(set, {});
  EXPECT_EQ(all.size(), 2u);
  for (const Candidate& one : all) EXPECT_EQ(one.finding.outcome, Severity::kWarn);
}

// One socket then has a cable towards each of the others.
TEST(CableRules, SeveralHostsBehindOneHub) {
  PaperCluster cluster(3);
  cluster.cable(0, 1, 1, 1).cable(1, 2, 2, 2);
  EvidenceSet set = cluster.evidence();
  const auto socket = [&](size_t host, const std::string& interface) -> ThunderboltPort& {
    return *std::find_if(set.hosts[host].thunderbolt->begin(), set.hosts[host].thunderbolt->end(),
                         [&](const auto& port) { return port.interface == interface; });
  };
  ThunderboltPort &near = socket(0, "en2"), &second = socket(2, "en2");
  near.peers.push_back({second.domain, 0});
  second.peers = {{near.domain, 0}};
  for (ThunderboltPeer& peer : near.peers) peer.hubs = 1;
  for (ThunderboltPort* port : {&second, &socket(1, "en3")}) {
    for (ThunderboltPeer& peer : port->peers) peer.hubs = 1;
  }
  name_devices(set, cluster);
  set.job.hosts[0].rdma_towards["mac3"] = {"rdma_en2"};
  set.job.hosts[2].rdma_towards["mac1"] = {"rdma_en2"};
  std::vector<std::string> seen;
  for (const Candidate& one : propose_cables(set, {})) {
    seen.push_back(one.finding.cause + "@" + one.finding.host + ">" + one.finding.peer);
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre("rdma.unsupported_hardware@mac1>mac2",
                                                  "rdma.unsupported_hardware@mac1>mac3"));
}

// It may be there, so it is no failure.
TEST(CableRules, ACableThatOneEndSeesOnlyIsAWarning) {
  PaperCluster cluster = test::paper_mesh(3);
  cluster.macs[1].socket(1).peer.clear();
  const Finding finding = finding_of(cluster, test::paper_mesh(3));
  EXPECT_EQ(finding.cause, "topology.not_mesh");
  EXPECT_EQ(finding.outcome, Severity::kWarn);
  EXPECT_EQ(finding.evidence.size(), 2u);
}

// Before it storms: membership is enough.
TEST(CableRules, CirclesThroughBridges) {
  PaperCluster ring = test::paper_ring(5);
  const auto causes = [&] { return test::causes_of(propose_cables(ring.evidence(), {})); };
  EXPECT_EQ(causes(), "");
  for (test::PaperMac& mac : ring.macs) {
    for (test::PaperSocket& socket : mac.sockets) socket.in_bridge = true;
  }
  EXPECT_EQ(causes(), "topology.bridge_loop@mac1");
  const Finding finding = propose_cables(ring.evidence(), {}).at(0).finding;
  EXPECT_EQ(finding.evidence.size(), 5u);
  EXPECT_EQ(finding.remedy.commands().size(), 1u);
  EXPECT_THAT(finding.remedy.text(), HasSubstr("ifconfig bridge0 deletem en2"));
  ring.macs[3].socket(1).in_bridge = false;  // one port out: a chain
  EXPECT_EQ(causes(), "");
  PaperCluster star = test::paper_star(4), two = test::paper_two_cables();
  for (PaperCluster* cluster : {&star, &two}) {
    for (test::PaperMac& mac : cluster->macs) {
      for (test::PaperSocket& socket : mac.sockets) socket.in_bridge = true;
    }
  }
  EXPECT_EQ(test::causes_of(propose_cables(star.evidence(), {})), "") << "no circle in a star";
  EXPECT_EQ(test::causes_of(propose_cables(two.evidence(), {})), "topology.bridge_loop@mac1");
}

// Bridges that are switched off (MLX leaves them so) forward nothing.
TEST(CableRules, ABridgeThatIsDownClosesNoCircle) {
  PaperCluster ring = test::paper_ring(4);
  for (test::PaperMac& mac : ring.macs) {
    for (test::PaperSocket& socket : mac.sockets) socket.in_bridge = true;
  }
  EvidenceSet set = ring.evidence();
  EXPECT_EQ(test::causes_of(propose_cables(set, {})), "topology.bridge_loop@mac1");
  for (InterfaceEvidence& interface : set.hosts[2].interfaces) {
    if (interface.name == "bridge0") interface.up = false;
  }
  EXPECT_EQ(test::causes_of(propose_cables(set, {})), "");
}

// Of Linux: they may have the spanning tree protocol.
TEST(CableRules, ABridgeOfAnotherSystemClosesNoCircle) {
  PaperCluster ring = test::paper_ring(4);
  for (test::PaperMac& mac : ring.macs) {
    for (test::PaperSocket& socket : mac.sockets) socket.in_bridge = true;
  }
  EvidenceSet set = ring.evidence();
  set.hosts[2].system = "linux";
  EXPECT_EQ(test::causes_of(propose_cables(set, {})), "");
}

// PCs have Thunderbolt sockets too, and their RDMA goes over other cards.
TEST(CableRules, CardsThatAreNoSocketsAreNotJudgedByThem) {
  EvidenceSet set = test::healthy_star(2);
  for (size_t i = 0; i < 2; ++i) {
    HostEvidence& host = set.hosts[i];
    host.thunderbolt = {{{"", "", "pc-" + std::to_string(i), {}, std::nullopt}}};
    host.rdma.emplace().devices.emplace_back();
    host.rdma->devices[0].name = "mlx5_0";
    host.rdma->devices[0].netdev = "eth1";
    set.job.hosts[i].rdma_towards[set.hosts[1 - i].name] = {"mlx5_0"};
  }
  set.job.rdma = true;
  EXPECT_EQ(test::causes_of(propose_cables(set, {})), "");
}

TEST(CableRules, EvidenceWithoutTheOtherHostDoesNoHarm) {
  const PaperCluster cluster = test::paper_pair();
  EvidenceSet set = cluster.evidence();
  name_devices(set, cluster);
  set.job.hosts.pop_back();
  EXPECT_EQ(test::causes_of(propose_cables(set, {})), "");
}

TEST(CableRules, TheMappedGidIsWhereTheProviderTakesIt) {
  PaperCluster cluster = test::paper_pair();
  EvidenceSet set = cluster.evidence();
  name_devices(set, cluster);
  auto& devices = set.hosts[1].rdma->devices;
  const auto it = std::find_if(devices.begin(), devices.end(),
                               [](const RdmaDevice& one) { return one.name == "rdma_en4"; });
  ASSERT_NE(it, devices.end());
  const auto causes = [&] {
    std::string out;
    for (const Candidate& one : propose_rdma(set, judge_rdma(set, {}))) {
      out += one.finding.cause + "@" + one.finding.host + ": " + one.finding.evidence.at(0).text;
    }
    return out;
  };
  EXPECT_EQ(causes(), "");
  it->gids = {"fe80::1", "::ffff:10.0.0.2"};
  EXPECT_EQ(causes(), "");
  it->gids = {"fe80::1", "2001:db8::1", "::ffff:10.0.0.2"};
  EXPECT_THAT(causes(), HasSubstr("rdma.no_gid@mac2: rdma_en4 has its IPv4-mapped GID at index 2"));
  it->gids = {"fe80::1"};
  EXPECT_THAT(causes(), HasSubstr("rdma.no_gid@mac2: rdma_en4 has no IPv4-mapped GID"));
  // The bridge is no fault where the port has a GID all the same.
  for (InterfaceEvidence& port : set.hosts[1].interfaces) {
    if (port.name == "en4") port.master = "bridge0";
  }
  EXPECT_THAT(causes(), HasSubstr("en4 is a port of bridge0"));
  it->gids = {"fe80::1", "::ffff:10.0.0.2"};
  EXPECT_EQ(causes(), "");
}

TEST(CableRules, TheSocketBesideEthernetOfAMacStudio) {
  PaperCluster cluster = test::paper_pair();
  cluster.macs[0].model = "Mac15,14";
  EvidenceSet set = cluster.evidence();
  name_devices(set, cluster);
  EXPECT_EQ(test::causes_of(propose_rdma(set, judge_rdma(set, {}))),
            "rdma.unsupported_hardware@mac1");
  set.hosts[0].model = "Mac16,11";
  EXPECT_EQ(test::causes_of(propose_rdma(set, judge_rdma(set, {}))), "");
}

}  // namespace
}  // namespace plumbline
