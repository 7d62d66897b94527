// Host files out of cables, for Macs on paper: the backend, the matrix, the addresses, and what has
// to be done before.
#include "scenarios/host_files/discovered.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/host/ip.h"
#include "core/text.h"
#include "scenarios/host_files/backends.h"
#include "scenarios/host_files/changes.h"
#include "tests/support/paper_macs.h"

namespace plumbline {
namespace {

using test::PaperCluster;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Cells = std::vector<std::vector<std::string>>;

Expected<DiscoveredFile> discovered(const EvidenceSet& set, const std::string& backend = "") {
  std::vector<ScenarioHost> hosts;
  for (const HostEvidence& host : set.hosts) {
    ScenarioHost one;
    one.name = one.ssh = host.name;
    hosts.push_back(one);
  }
  return discovered_file(set, find_cables(set), hosts, backend);
}

DiscoveredFile made_of(const PaperCluster& cluster, const std::string& backend = "") {
  Expected<DiscoveredFile> made = discovered(cluster.evidence(), backend);
  EXPECT_TRUE(made) << made.error().message();
  return made ? std::move(*made) : DiscoveredFile();
}

std::vector<std::string> names_of(const HostFile& file) {
  std::vector<std::string> out;
  for (const ScenarioHost& host : file.hosts) out.push_back(host.name);
  return out;
}

TEST(Discovered, TwoMacsOnOneCable) {
  PaperCluster cluster = test::paper_pair();
  test::give_addresses(cluster);
  const DiscoveredFile made = made_of(cluster);
  EXPECT_EQ(made.file.backend, "jaccl");
  ASSERT_THAT(made.file.hosts, SizeIs(2));
  EXPECT_EQ(made.file.hosts[0].rdma, (Cells{{}, {"rdma_en2"}}));
  EXPECT_EQ(made.file.hosts[1].rdma, (Cells{{"rdma_en4"}, {}}));
  EXPECT_THAT(made.file.hosts[0].data, ElementsAre("10.7.0.1/30"));
  EXPECT_THAT(made.file.hosts[1].data, ElementsAre("10.7.0.2/30"));
  EXPECT_EQ(made.file.coordinator, "192.168.4.11");
  EXPECT_THAT(made.setup, IsEmpty());
  EXPECT_THAT(made.notes, IsEmpty());
}

// What every shape of cables and every size must give: a file that MLX's rules accept for the
// backend, in our own form and in MLX's, each cell the device at that end.
TEST(Discovered, EveryShapeIsAcceptedByMlxsRules) {
  struct Row {
    PaperCluster cluster;
    const char* backend;
  };
  std::vector<Row> rows = {{test::paper_pair(), "jaccl"}, {test::paper_two_cables(), "jaccl"}};
  for (size_t macs = 3; macs <= 8; ++macs) rows.push_back({test::paper_mesh(macs), "jaccl"});
  for (size_t macs = 4; macs <= 9; ++macs) rows.push_back({test::paper_ring(macs), "jaccl-ring"});
  rows.push_back({test::paper_mesh(9), "jaccl-ring"});  // JACCL's mesh takes eight
  for (Row& row : rows) {
    for (const bool rdma : {true, false}) {
      for (test::PaperMac& mac : row.cluster.macs) mac.rdma = rdma;
      const DiscoveredFile made = made_of(row.cluster);
      const std::string backend = rdma ? row.backend : "ring";
      EXPECT_EQ(made.file.backend, backend);
      for (const char* format : {"ours", "mlx"}) {
        const auto text = write_host_file(made.file, *find_host_file_format(format), 0);
        ASSERT_TRUE(text) << text.error().message();
        const std::string path = testing::TempDir() + "discovered_hosts.json";
        std::ofstream(path) << text->text;
        const auto read = load_host_file(path);
        ASSERT_TRUE(read) << format << text->text;
        EXPECT_THAT(check_host_file(*read, find_backend(backend)), IsEmpty()) << text->text;
      }
    }
  }
}

TEST(Discovered, TheRanksOfARingFollowItsCables) {
  PaperCluster cluster(4);
  cluster.cable(0, 1, 2, 1).cable(2, 2, 1, 1).cable(1, 2, 3, 1).cable(3, 2, 0, 2);
  const DiscoveredFile made = made_of(cluster);
  EXPECT_EQ(made.file.backend, "jaccl-ring");
  EXPECT_THAT(names_of(made.file), ElementsAre("mac1", "mac3", "mac2", "mac4"));
  EXPECT_EQ(made.file.hosts[0].rdma, (Cells{{}, {"rdma_en2"}, {}, {"rdma_en3"}}));
}

TEST(Discovered, RailsArePairedByCable) {
  const DiscoveredFile made = made_of(test::paper_two_cables());
  EXPECT_EQ(made.file.hosts[0].rdma, (Cells{{}, {"rdma_en2", "rdma_en3"}}));
  EXPECT_EQ(made.file.hosts[1].rdma, (Cells{{"rdma_en4", "rdma_en3"}, {}}));
}

TEST(Discovered, AStarFitsNoBackendAndIsAHostFileAllTheSame) {
  const DiscoveredFile made = made_of(test::paper_star(4));
  EXPECT_EQ(made.file.backend, "");
  EXPECT_THAT(made.why, HasSubstr("neither a mesh nor a ring"));
  EXPECT_EQ(made.file.hosts[0].rdma[2], std::vector<std::string>{"rdma_en3"});
  EXPECT_THAT(made.file.hosts[1].data, SizeIs(1));
  const auto forced = discovered(test::paper_star(4).evidence(), "jaccl");
  ASSERT_FALSE(forced);
  EXPECT_THAT(forced.error().message(), HasSubstr("has no device towards"));
}

TEST(Discovered, WhereRdmaCannotGoTheFileSaysWhy) {
  PaperCluster hub = test::paper_pair(), old = test::paper_pair(), off = test::paper_pair();
  hub.macs[0].socket(1).hubs = 1;
  old.macs[1].socket(2).gigabits = 40;
  off.macs[1].rdma = false;
  for (const auto& [cluster, why] :
       {std::pair(&hub, "a hub is on the way"), std::pair(&old, "runs at 40 Gbit/s"),
        std::pair(&off, "en4 (socket 2) of mac2 has no RDMA device")}) {
    const DiscoveredFile made = made_of(*cluster);
    EXPECT_EQ(made.file.backend, "ring") << why;
    EXPECT_THAT(made.notes, ElementsAre(HasSubstr(why)));
    EXPECT_THAT(made.file.hosts[0].rdma, IsEmpty());
  }
}

// ---- addresses ----

TEST(Discovered, CablesWithoutAddressesGetAPlanAndCommands) {
  const DiscoveredFile made = made_of(test::paper_mesh(3));
  EXPECT_THAT(made.file.hosts[0].data, ElementsAre("192.168.0.1/30", "192.168.0.5/30"));
  EXPECT_THAT(made.file.hosts[1].data, ElementsAre("192.168.0.2/30", "192.168.0.9/30"));
  EXPECT_THAT(made.file.hosts[2].data, ElementsAre("192.168.0.6/30", "192.168.0.10/30"));
  ASSERT_THAT(made.setup, SizeIs(3));
  EXPECT_EQ(made.setup[1].host, "mac2");
  EXPECT_EQ(made.setup[1].steps.text(),
            "ifconfig en3 inet 192.168.0.2/30 alias\nifconfig en4 inet 192.168.0.9/30 alias");
  EXPECT_EQ(made.setup[1].undo.text(),
            "ifconfig en3 inet 192.168.0.2 -alias\nifconfig en4 inet 192.168.0.9 -alias");
}

TEST(Discovered, ThePlanKeepsClearOfEveryNetworkThatAHostHas) {
  PaperCluster cluster = test::paper_mesh(4);
  for (size_t i = 0; i < 4; ++i) {
    cluster.macs[i].lan = "192.168.0." + std::to_string(20 + i) + "/24";  // as at home
  }
  cluster.macs[3].said["netstat-routes"] =
      "Routing tables\n\nInternet:\nDestination Gateway Flags Netif Expire\n"
      "192.168.1.8/29 10.0.0.1 UGSc en0\n";
  const EvidenceSet set = cluster.evidence();
  const DiscoveredFile made = made_of(cluster);
  std::vector<Subnet> planned;
  for (const ScenarioHost& host : made.file.hosts) {
    for (const std::string& data : host.data) planned.push_back(*parse_ip_subnet(data));
  }
  ASSERT_THAT(planned, SizeIs(12));
  for (const Subnet& net : planned) {
    EXPECT_FALSE(overlap(net, *parse_ip_subnet("192.168.0.0/24"))) << to_text(net);
    EXPECT_FALSE(overlap(net, *parse_ip_subnet("192.168.1.8/29"))) << to_text(net);
  }
}

TEST(Discovered, APortLeavesItsBridgeFirstAndReturnsLast) {
  PaperCluster cluster = test::paper_pair();
  cluster.macs[0].socket(1).in_bridge = true;
  const DiscoveredFile made = made_of(cluster);
  ASSERT_THAT(made.setup, SizeIs(2));
  EXPECT_EQ(made.setup[0].steps.text(),
            "ifconfig bridge0 deletem en2\nifconfig en2 inet 192.168.0.1/30 alias");
  EXPECT_EQ(made.setup[0].undo.text(),
            "ifconfig en2 inet 192.168.0.1 -alias\nifconfig bridge0 addm en2");
}

// Given by the system where nobody else does, and another one after a restart.
TEST(Discovered, SelfAssignedAddressesAreReplaced) {
  PaperCluster cluster = test::paper_pair();
  cluster.macs[0].socket(1).ip = "169.254.10.1/16";
  cluster.macs[1].socket(2).ip = "169.254.10.2/16";
  EXPECT_THAT(made_of(cluster).file.hosts[0].data, ElementsAre("192.168.0.1/30"));
}

TEST(Discovered, HostileNamesOfInterfacesBecomeNoCommands) {
  PaperCluster cluster = test::paper_pair();
  EvidenceSet set = cluster.evidence();
  for (HostEvidence& host : set.hosts) {
    for (InterfaceEvidence& interface : host.interfaces) {
      if (interface.name == "en2") interface.name = "en2; rm -rf /";
    }
    for (ThunderboltPort& port : *host.thunderbolt) {
      if (port.interface == "en2") port.interface = "en2; rm -rf /";
    }
  }
  const auto made = discovered(set);
  ASSERT_TRUE(made);
  for (const HostSetup& setup : made->setup) {
    for (const HostCommand& command : setup.steps.commands()) {
      for (const std::string& word : command.argv) EXPECT_THAT(word, Not(HasSubstr("rm -rf")));
    }
  }
}

// After a restart of one Mac its addresses are gone, and those of the others stay.
TEST(Discovered, AMacThatRestartedGetsItsOldAddressesBack) {
  PaperCluster cluster = test::paper_mesh(3);
  test::give_addresses(cluster);
  const HostFile before = made_of(cluster).file;
  for (test::PaperSocket& socket : cluster.macs[1].sockets) socket.ip.clear();
  const DiscoveredFile made = made_of(cluster);
  EXPECT_THAT(changes_since(before, made.file), IsEmpty());
  ASSERT_THAT(made.setup, SizeIs(1));
  EXPECT_EQ(made.setup[0].steps.text(),
            "ifconfig en3 inet 10.7.0.2/30 alias\nifconfig en4 inet 10.7.0.9/30 alias");
}

TEST(Discovered, StaleAddressesGoBeforeNewOnesCome) {
  PaperCluster cluster = test::paper_pair();
  cluster.macs[0].socket(1).ip = "10.1.0.1/30";
  cluster.macs[1].socket(2).ip = "10.2.0.1/30";
  const DiscoveredFile made = made_of(cluster);
  EXPECT_EQ(made.setup.at(0).steps.text(),
            "ifconfig en2 inet 10.1.0.1 -alias\nifconfig en2 inet 192.168.0.1/30 alias");
  EXPECT_THAT(made.setup.at(0).undo.text(), HasSubstr("ifconfig en2 inet 10.1.0.1/30 alias"));
}

PaperCluster bridged_mesh(bool rdma) {
  PaperCluster cluster = test::paper_mesh(3);
  for (size_t i = 0; i < 3; ++i) {
    test::PaperMac& mac = cluster.macs[i];
    mac.bridge = "10.0.0." + std::to_string(i + 1) + "/24";
    mac.rdma = rdma;
    for (test::PaperSocket& socket : mac.sockets) socket.in_bridge = true;
  }
  return cluster;
}

// The coordinator's address must survive what is printed, and who uses the bridge is told.
TEST(Discovered, WhereRdmaTakesPortsOutOfABridgeItsAddressIsNotReliedOn) {
  const DiscoveredFile made = made_of(bridged_mesh(true));
  EXPECT_EQ(made.file.backend, "jaccl");
  EXPECT_EQ(made.file.coordinator, "192.168.4.11");
  EXPECT_THAT(made.notes, Contains(HasSubstr("what uses 10.0.0.1 over it")));
  PaperCluster alone = bridged_mesh(true);
  for (test::PaperMac& mac : alone.macs) mac.lan.clear();
  EXPECT_THAT(made_of(alone).notes, Contains(HasSubstr("write another one into `coordinator`")));
}

TEST(Discovered, ABridgeThatServesTcpStays) {
  const DiscoveredFile made = made_of(bridged_mesh(false));
  EXPECT_THAT(made.setup, IsEmpty());
  EXPECT_THAT(made.file.hosts.at(1).data, ElementsAre("10.0.0.2/24"));
}

TEST(Discovered, AWideRouteOfAVpnLeavesRoomForAPlan) {
  PaperCluster cluster = test::paper_pair();
  EvidenceSet set = cluster.evidence();
  // As Linux writes the last one.
  for (const char* destination : {"0.0.0.0/1", "128.0.0.0/1", "192.168.0.2"}) {
    set.hosts[0].routes.emplace_back().destination = destination;
  }
  const auto made = discovered(set);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->file.hosts[0].data, ElementsAre("192.168.0.5/30"));
  cluster.macs[1].lan = "192.168.4.12/16";
  EXPECT_THAT(made_of(cluster).file.hosts[0].data, ElementsAre("172.20.0.1/30"));
}

TEST(Discovered, ARingOfRdmaIsFoundAmongCablesWithout) {
  PaperCluster cluster = test::paper_mesh(4);
  cluster.macs[0].socket(1).gigabits = cluster.macs[1].socket(1).gigabits = 40;
  const DiscoveredFile made = made_of(cluster);
  EXPECT_EQ(made.file.backend, "jaccl-ring");
  EXPECT_THAT(names_of(made.file), ElementsAre("mac1", "mac3", "mac2", "mac4"));
}

TEST(Discovered, WhatFitsNoBackendIsAHostFileAllTheSame) {
  PaperCluster cluster(3, 4);
  cluster.cable(0, 1, 1, 1).cable(0, 2, 1, 2).cable(1, 3, 2, 1).cable(2, 2, 0, 3);
  for (test::PaperMac& mac : cluster.macs) mac.rdma = false;
  const DiscoveredFile made = made_of(cluster);
  EXPECT_EQ(made.file.backend, "");
  EXPECT_THAT(made.why, HasSubstr("addresses towards the host before it"));
  EXPECT_THAT(made.file.hosts, SizeIs(3));
}

TEST(Discovered, TheSocketBesideEthernetOfAMacStudioIsNoRail) {
  PaperCluster cluster = test::paper_pair();
  cluster.macs[0].model = "Mac15,14";
  const DiscoveredFile made = made_of(cluster);
  EXPECT_EQ(made.file.backend, "ring");
  EXPECT_THAT(made.notes, Contains(HasSubstr("beside Ethernet of a Mac Studio")));
}

// ---- changes ----

TEST(Discovered, WhatHasChangedIsNamed) {
  PaperCluster cluster = test::paper_mesh(3);
  test::give_addresses(cluster);
  const HostFile before = made_of(cluster).file;
  EXPECT_THAT(changes_since(before, made_of(cluster).file), IsEmpty());
  cluster.cable(0, 2, 1, 1).cable(0, 1, 2, 1);  // two cables swapped at the first Mac
  EXPECT_THAT(changes_since(before, made_of(cluster).file),
              AllOf(Contains("mac1: towards mac2 rdma_en3 instead of rdma_en2"),
                    Contains("mac1: towards mac3 rdma_en2 instead of rdma_en3"),
                    Contains(HasSubstr("mac2: addresses "))));
  PaperCluster pulled = test::paper_mesh(3);
  test::give_addresses(pulled);
  pulled.macs[0].sockets[0].ip.clear();  // its link is down, and its address gone with it
  pulled.macs[0].sockets[0].peer.clear();
  pulled.macs[1].sockets[0].peer.clear();
  EXPECT_THAT(changes_since(before, made_of(pulled).file),
              Contains(HasSubstr("the cable mac1 10.7.0.1/30 - mac2 10.7.0.2/30 is not there")));
  PaperCluster fewer = test::paper_pair();
  EXPECT_THAT(changes_since(before, made_of(fewer).file), Contains("mac3: was not asked"));
  for (test::PaperMac& mac : cluster.macs) mac.rdma = false;
  EXPECT_THAT(changes_since(before, made_of(cluster).file),
              Contains("backend ring instead of jaccl"));
}

}  // namespace
}  // namespace plumbline
