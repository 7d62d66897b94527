#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "core/json.h"
#include "lab/address.h"
#include "lab/create.h"
#include "lab/lab.h"
#include "lab/lab_files.h"
#include "tests/lab/lab_helpers.h"

namespace plumbline {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// What must hold in every lab, whatever was drawn.
void check_layout(const Lab& lab) {
  SCOPED_TRACE(lab.topology.shape + " " + lab.topology.family + " seed " +
               std::to_string(lab.seed));
  std::set<std::string> namespaces, names, addresses, macs;
  const auto data = parse_subnet(lab.topology.data);
  ASSERT_TRUE(data);
  EXPECT_THAT(lab_namespaces(lab), Each(StartsWith("pl-")));
  for (const std::string& netns : lab_namespaces(lab)) {
    EXPECT_TRUE(namespaces.insert(netns).second) << netns;
  }
  std::map<std::string, std::vector<std::string>> of_subnet;
  for (const LabHost& host : lab.hosts) {
    EXPECT_TRUE(names.insert(host.name).second);
    std::set<std::string> interfaces = {"lo"};
    if (!host.control_interface.empty()) interfaces.insert(host.control_interface);
    ASSERT_FALSE(host.links.empty());
    for (const LabLink& link : host.links) {
      EXPECT_LE(link.nic.size(), 15U) << link.nic;
      EXPECT_LE(link.interface.size(), 15U);
      EXPECT_LE(link.port.size(), 15U);
      EXPECT_TRUE(interfaces.insert(link.nic).second) << link.nic;
      EXPECT_TRUE(link.interface == link.nic || interfaces.insert(link.interface).second);
      EXPECT_TRUE(contains(*data, *parse_ip(ip_of(link.data)))) << link.data;
      EXPECT_TRUE(addresses.insert(ip_of(link.data)).second) << link.data;
      EXPECT_TRUE(macs.insert(link.mac).second);
      of_subnet[link.subnet].push_back(host.name);
      const auto subnet = parse_subnet(link.subnet);
      EXPECT_TRUE(subnet && contains(*subnet, *parse_ip(ip_of(link.data))));
      EXPECT_EQ(prefix_of(link.data), subnet->prefix);
    }
  }
  if (lab.topology.shape != "mesh") return;
  const auto cables = static_cast<size_t>(lab.topology.cables);
  EXPECT_EQ(of_subnet.size(), lab.hosts.size() * (lab.hosts.size() - 1) / 2 * cables);
  for (const auto& [subnet, hosts] : of_subnet) EXPECT_EQ(hosts.size(), 2U) << subnet;
  for (const LabHost& host : lab.hosts) {
    for (const LabHost& peer : lab.hosts) {
      if (peer.name == host.name) continue;
      EXPECT_EQ(link_to(host, peer.name).subnet, link_to(peer, host.name).subnet);
    }
    for (const LabLink& link : host.links) {
      const LabLink& back = far_end(lab, link);
      EXPECT_EQ(back.peer, host.name);
      EXPECT_EQ(&far_end(lab, back), &link);
    }
  }
}

TEST(Layout, AMeshMayHaveSeveralCablesAPair) {
  LabTopology topology;
  topology.shape = "mesh";
  topology.size = 3;
  for (int cables = 1; cables <= 4; ++cables) {
    topology.cables = cables;
    EXPECT_EQ(topology_problem(topology), "");
    for (uint64_t seed = 0; seed < 5; ++seed) check_layout(lay_out(topology, seed));
  }
}

TEST(Layout, HoldsForManyDrawnTopologies) {
  for (uint64_t seed = 0; seed < 400; ++seed) check_layout(lay_out(drawn_topology(seed), seed));
}

TEST(Layout, TheSameSeedGivesTheSameLab) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const LabTopology topology = drawn_topology(seed);
    const Lab one = lay_out(topology, seed), two = lay_out(topology, seed);
    EXPECT_EQ(host_file_text(one), host_file_text(two));
    EXPECT_EQ(state_text({one, false, {}}), state_text({two, false, {}}));
    EXPECT_NE(host_file_text(one), host_file_text(lay_out(topology, seed + 1000)));
  }
}

TEST(Layout, TakenNamesAreDrawnAgain) {
  LabTopology topology;
  const Lab first = lay_out(topology, 5);
  std::set<std::string> taken;
  for (const std::string& netns : lab_namespaces(first)) taken.insert(netns);
  const Lab second =
      lay_out(topology, 5, [&](const std::string& netns) { return taken.count(netns) > 0; });
  for (const std::string& netns : lab_namespaces(second)) EXPECT_EQ(taken.count(netns), 0U);
}

TEST(Layout, GivenAddressesAreInOrder) {
  LabTopology topology;
  topology.data = "10.10.0.0/24";
  topology.hosts = {"a", "b", "c"};
  topology.size = 3;
  const Lab lab = lay_out(topology, 9);
  EXPECT_EQ(lab.hosts[0].links[0].data, "10.10.0.1/24");
  EXPECT_EQ(lab.hosts[2].links[0].data, "10.10.0.3/24");
  EXPECT_EQ(lab.ports, (std::vector<int>{29500, 29600, 29601, 29602}));
}

TEST(Layout, LinkLocalAddressesKeepOutOfTheReservedEnds) {
  LabTopology topology;
  topology.family = "link_local";
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (const LabHost& host : lay_out(topology, seed).hosts) {
      const std::string ip = ip_of(host.links[0].data);
      EXPECT_THAT(ip, StartsWith("169.254."));
      EXPECT_NE(ip.substr(0, 10), "169.254.0.") << ip;
      EXPECT_NE(ip.substr(0, 12), "169.254.255.") << ip;
    }
  }
}

// Every command of a creation names namespaces of the lab, and only those.
TEST(Layout, CreationTouchesOnlyItsOwnNamespaces) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Lab lab = lay_out(drawn_topology(seed), seed);
    for (const CreationStep& step : creation_steps(lab)) {
      if (step.what != "namespaces") check_commands(lab, {}, step.script);
    }
  }
}

TEST(HostFile, IsWhatTheOtherCommandsRead) {
  LabTopology topology;
  topology.data = "10.10.0.0/24";
  topology.hosts = {"a", "b"};
  topology.size = 2;
  topology.rate = "1Gbit";
  topology.unprivileged = true;
  const Lab lab = lay_out(topology, 3);
  const auto json = nlohmann::json::parse(host_file_text(lab));
  ASSERT_EQ(json["hosts"].size(), 2U);
  EXPECT_EQ(json["hosts"][0]["name"], "a");
  EXPECT_EQ(json["hosts"][0]["netns"], lab.hosts[0].netns);
  EXPECT_EQ(json["hosts"][0]["data"][0], "10.10.0.1/24");
  EXPECT_EQ(json["hosts"][0]["speed"], "1Gbit");
  EXPECT_EQ(json["hosts"][0]["user"], "nobody");
}

TEST(HostFile, PatchesReplaceAndRemoveKeys) {
  LabTopology topology;
  topology.hosts = {"a", "b"};
  topology.size = 2;
  const Lab lab = lay_out(topology, 3);
  const std::string plain = host_file_text(lab);
  const auto json = nlohmann::json::parse(host_file_text(
      lab, {{"a", "data", "[\"10.0.0.9/8\"]"}, {"a", "netns", ""}, {"b", "interface", "\"x\""}}));
  EXPECT_EQ(json["hosts"][0]["data"][0], "10.0.0.9/8");
  EXPECT_FALSE(json["hosts"][0].contains("netns"));
  EXPECT_EQ(json["hosts"][1]["interface"], "x");
  EXPECT_EQ(host_file_text(lab), plain);
}

TEST(HostFile, EveryHostFindsItselfAndTheOthersByName) {
  LabTopology topology;
  topology.hosts = {"a", "b"};
  topology.size = 2;
  topology.data = "10.10.0.0/24";
  const Lab lab = lay_out(topology, 3);
  const std::string names = names_text(lab, lab.hosts[0]);
  EXPECT_THAT(names, HasSubstr("10.10.0.1 a " + machine_name() + "\n"));
  EXPECT_THAT(names, HasSubstr("10.10.0.2 b\n"));
  EXPECT_THAT(names_text(lab, lab.hosts[0], {{"a", "127.0.1.1"}}), HasSubstr("127.0.1.1 a"));
  EXPECT_THAT(names_text(lab, lab.hosts[0], {{"a", ""}}), ::testing::Not(HasSubstr("10.10.0.1")));
}

TEST(State, SurvivesTheTrip) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    LabState state;
    state.lab = lay_out(drawn_topology(seed), seed);
    state.complete = seed % 2 == 0;
    Injected injected;
    injected.fault = "drop_inbound";
    injected.undo = {"echo 'quoted \" \\ \n'"};
    injected.processes = {{12, 3456789012345LL}};
    state.injected = {injected};
    const auto back = parse_state(state_text(state), "x");
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(state_text(*back), state_text(state));
  }
}

TEST(State, BrokenTextIsAnError) {
  LabState state;
  state.lab = lay_out(LabTopology(), 1);
  const std::string text = state_text(state);
  for (size_t length = 0; length < text.size() - 2; length += 7) {
    EXPECT_FALSE(parse_state(text.substr(0, length), "x")) << length;
  }
  for (const char* wrong :
       {"[]", "{}", "null", R"({"schema":2})", R"({"schema":1,"lab":[]})",
        R"({"schema":1,"lab":{"hosts":[{"links":[]}]}})", R"({"schema":1,"lab":{"seed":-1.5e99}})",
        R"({"schema":1,"injected":{"a":1}})"}) {
    const auto parsed = parse_state(wrong, "file");
    EXPECT_TRUE(!parsed || parsed->lab.hosts.empty()) << wrong;
  }
}

}  // namespace
}  // namespace plumbline
