// Which host ranks run on, and which may not be in one collective.
#include "scenarios/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<size_t> place(const std::vector<ScenarioHost>& hosts, int ranks,
                          const std::string& distribution = "", const std::string& named = "") {
  WorldShape world;
  world.ranks = ranks;
  world.hosts = named;
  world.distribution = distribution;
  return place_ranks(hosts, world);
}

TEST(Placement, BlockWiseOverHosts) {
  std::vector<ScenarioHost> hosts = local_hosts(2);
  hosts[0].ranks = 3;
  EXPECT_THAT(place(hosts, 2), ElementsAre(0, 0));
  EXPECT_THAT(place(hosts, 4), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(place(hosts, 4, "block"), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(place(local_hosts(4), 2), ElementsAre(0, 1));
  // More ranks than places.
  EXPECT_THAT(place(local_hosts(2), 5), ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(place(local_hosts(1), 3), ElementsAre(0, 0, 0));
}

TEST(Placement, CyclicTakesTheHostsInTurn) {
  std::vector<ScenarioHost> hosts = local_hosts(3);
  for (ScenarioHost& host : hosts) host.ranks = 2;
  EXPECT_THAT(place(hosts, 6, "cyclic"), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(place(hosts, 4, "cyclic"), ElementsAre(0, 1, 2, 0));
  hosts[1].ranks = 1;  // full after the first turn
  EXPECT_THAT(place(hosts, 5, "cyclic"), ElementsAre(0, 1, 2, 0, 2));
  EXPECT_THAT(place(local_hosts(2), 5, "cyclic"), ElementsAre(0, 1, 0, 1, 1));
}

TEST(Placement, OnTheNamedHostsAlone) {
  std::vector<ScenarioHost> hosts = local_hosts(12);
  EXPECT_THAT(hosts_of(hosts, ""), testing::SizeIs(12));
  // local1 is not local11.
  EXPECT_THAT(hosts_of(hosts, "local1+local3"), ElementsAre(1, 3));
  EXPECT_THAT(place(hosts, 2, "", "local1+local3"), ElementsAre(1, 3));
  EXPECT_THAT(place(hosts, 4, "cyclic", "local1+local3"), ElementsAre(1, 3, 1, 3));
  EXPECT_EQ(places_in(hosts, "local1+local3"), 2);
  EXPECT_THAT(place(hosts, 2, "", "nobody"), IsEmpty());
}

TEST(Placement, LeavesOfAStarAreApart) {
  std::vector<ScenarioHost> hosts = local_hosts(3);
  hosts[1].group = {"left"};
  hosts[2].group = {"right"};
  WorldShape world;
  world.ranks = 3;
  EXPECT_THAT(apart_reason(hosts, world), HasSubstr("local1"));
  world.ranks = 2;  // the centre and one leaf
  EXPECT_EQ(apart_reason(hosts, world), "");
  world.hosts = "local1+local2";
  EXPECT_THAT(apart_reason(hosts, world), HasSubstr("local2"));
}

// A /30 for each pair, as cables between machines are addressed.
std::vector<ScenarioHost> mesh(size_t size) {
  std::vector<ScenarioHost> hosts = local_hosts(static_cast<int>(size));
  for (ScenarioHost& host : hosts) host.data.clear();
  int cable = 0;
  for (size_t a = 0; a < size; ++a) {
    for (size_t b = a + 1; b < size; ++b, cable += 4) {
      hosts[a].data.push_back("10.10.0." + std::to_string(cable + 1) + "/30");
      hosts[b].data.push_back("10.10.0." + std::to_string(cable + 2) + "/30");
    }
  }
  return hosts;
}

TEST(Placement, EveryTwoOfAMeshHaveACableOfTheirOwn) {
  EXPECT_TRUE(have_own_cables(mesh(4), {0, 1, 2, 3}));
  EXPECT_TRUE(have_own_cables(mesh(4), {3, 1, 0})) << "of some hosts";
  EXPECT_FALSE(have_own_cables(mesh(4), {0, 1, 2, 2})) << "two ranks share the cables of a host";
  EXPECT_FALSE(have_own_cables(local_hosts(3), {0, 1, 2})) << "loopback";

  std::vector<ScenarioHost> hosts = mesh(4);
  hosts[0].data.push_back("10.11.0.1/30");
  hosts[1].data.push_back("10.11.0.2/30");
  EXPECT_TRUE(have_own_cables(hosts, {0, 1, 2, 3})) << "two cables between a pair";
  hosts[2].data.front() = "10.12.0.1/30";  // to host 0
  EXPECT_FALSE(have_own_cables(hosts, {0, 1, 2, 3})) << "a pair without";
  hosts[2].data.clear();
  EXPECT_FALSE(have_own_cables(hosts, {0, 1, 2, 3})) << "no address is known";

  hosts = local_hosts(3);
  for (size_t i = 0; i < 3; ++i) hosts[i].data = {"10.10.0." + std::to_string(i + 1) + "/24"};
  EXPECT_FALSE(have_own_cables(hosts, {0, 1, 2})) << "one switch";
  hosts = mesh(3);
  for (size_t i = 0; i < 3; ++i)
    hosts[i].data.push_back("10.20.0." + std::to_string(i + 1) + "/24");
  EXPECT_FALSE(have_own_cables(hosts, {0, 1, 2})) << "a switch beside the cables";
}

}  // namespace
}  // namespace plumbline
