#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "probes/sources/parsers.h"
#include "sample.h"

namespace plumbline {
namespace {

std::vector<RouteEvidence> to(const HostEvidence& host, const std::string& destination) {
  std::vector<RouteEvidence> out;
  for (const RouteEvidence& route : host.routes) {
    if (route.destination == destination) out.push_back(route);
  }
  return out;
}

TEST(IpRoute, ReadsARecordedHost) {
  HostEvidence host;
  ASSERT_TRUE(parse_ip_route(test::sample("ip_route.json"), host));
  const auto lan = to(host, "10.10.0.0/24");
  ASSERT_EQ(lan.size(), 1U);
  EXPECT_EQ(lan[0].type, "unicast");
  EXPECT_EQ(lan[0].dev, "v0");
  EXPECT_EQ(lan[0].source, "10.10.0.1");
  EXPECT_EQ(lan[0].table, "main");
  EXPECT_EQ(lan[0].scope, "link");
  EXPECT_EQ(lan[0].protocol, "kernel");
  ASSERT_EQ(to(host, "default").size(), 1U);
  EXPECT_EQ(to(host, "default")[0].via, "10.20.0.254");
  EXPECT_EQ(to(host, "default")[0].metric, 100);
  EXPECT_EQ(to(host, "10.30.0.0/16")[0].type, "blackhole");
  EXPECT_EQ(to(host, "10.50.0.0/16")[0].type, "unreachable");
  EXPECT_EQ(to(host, "10.41.0.0/16")[0].via, "fd00:1::9");
  EXPECT_EQ(to(host, "fd00:1::/64")[0].dev, "d0");
  EXPECT_EQ(to(host, "10.20.0.1")[0].table, "local");
}

TEST(IpRoute, SplitsSeveralWaysAndDropsNoise) {
  HostEvidence host;
  ASSERT_TRUE(parse_ip_route(test::sample("ip_route.json"), host));
  const auto ways = to(host, "10.40.0.0/16");
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_EQ(ways[0].via, "10.20.0.2");
  EXPECT_EQ(ways[1].via, "10.20.0.3");
  EXPECT_EQ(ways[1].dev, "d0");
  EXPECT_TRUE(std::none_of(host.routes.begin(), host.routes.end(), [](const RouteEvidence& route) {
    return route.type == "broadcast" || route.type == "multicast";
  }));
}

TEST(IpRoute, KeepsFlagsAndSurvivesStrangeTypes) {
  HostEvidence host;
  ASSERT_TRUE(parse_ip_route(
      R"([{"dst":"10.0.0.0/8","dev":"e0","flags":["linkdown",7]},{"dst":5},7,null,
          {"dst":"10.1.0.0/16","nexthops":[4,{"dev":"e1"}],"metric":"x","flags":{}}])",
      host));
  ASSERT_EQ(host.routes.size(), 3U);
  EXPECT_THAT(host.routes[0].flags, ::testing::ElementsAre("linkdown"));
  EXPECT_EQ(host.routes[2].dev, "e1");
  EXPECT_FALSE(parse_ip_route("default via 10.0.0.1 dev e0\n", host));
  EXPECT_TRUE(parse_ip_route("", host));  // no routes, no output
}

TEST(IpRule, ReadsARecordedHost) {
  HostEvidence host;
  ASSERT_TRUE(parse_ip_rule(test::sample("ip_rule.json"), host));
  ASSERT_EQ(host.policy_rules.size(), 5U);
  EXPECT_EQ(host.policy_rules[0].text, "0: from all lookup local");
  EXPECT_EQ(host.policy_rules[1].action, "blackhole");
  EXPECT_EQ(host.policy_rules[1].text, "99: from all fwmark 0x1 blackhole");
  EXPECT_EQ(host.policy_rules[2].from, "10.9.0.0/16");
  EXPECT_EQ(host.policy_rules[2].table, "100");
  EXPECT_EQ(host.policy_rules[2].action, "lookup");
}

TEST(IpRule, KeepsConditionsInItsText) {
  HostEvidence host;
  ASSERT_TRUE(parse_ip_rule(
      R"([{"priority":5,"not":null,"src":"all","dst":"10.2.0.0","dstlen":24,"iif":"e0",
           "ipproto":"tcp","dport":80,"action":"prohibit"},{},3])",
      host));
  ASSERT_EQ(host.policy_rules.size(), 1U);
  EXPECT_EQ(host.policy_rules[0].text,
            "5: not from all to 10.2.0.0/24 iif e0 ipproto tcp dport 80 prohibit");
  EXPECT_FALSE(parse_ip_rule("0:\tfrom all lookup local", host));
}

TEST(IpNeigh, ReadsStates) {
  HostEvidence host;
  ASSERT_TRUE(parse_ip_neigh(
      R"([{"dst":"10.20.0.9","dev":"d0","lladdr":"02:00:00:00:00:01","state":["PERMANENT"]},
          {"dst":"fd00::1","dev":"e0","state":["FAILED"]},{"dst":"10.0.0.3","dev":"e0","state":[]},
          {"dev":"e0"},7])",
      host));
  ASSERT_EQ(host.neighbours.size(), 3U);
  EXPECT_EQ(host.neighbours[0].mac, "02:00:00:00:00:01");
  EXPECT_EQ(host.neighbours[0].state, "PERMANENT");
  EXPECT_EQ(host.neighbours[1].state, "FAILED");
  EXPECT_EQ(host.neighbours[1].mac, "");
  EXPECT_EQ(host.neighbours[2].state, "");
}

}  // namespace
}  // namespace plumbline
