#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sources/parsers.h"
#include "sample.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const RouteEvidence* find_route(const HostEvidence& host, const std::string& destination,
                                const std::string& dev) {
  for (const RouteEvidence& route : host.routes) {
    if (route.destination == destination && route.dev == dev) return &route;
  }
  return nullptr;
}

const NeighbourEvidence* find_neighbour(const HostEvidence& host, const std::string& ip) {
  for (const NeighbourEvidence& neighbour : host.neighbours) {
    if (neighbour.ip == ip) return &neighbour;
  }
  return nullptr;
}

TEST(ExpandDestination, FillsInWhatNetstatLeavesOut) {
  EXPECT_EQ(expand_destination("default", false), "default");
  EXPECT_EQ(expand_destination("10.10/24", false), "10.10.0.0/24");
  EXPECT_EQ(expand_destination("127", false), "127.0.0.0/8");
  EXPECT_EQ(expand_destination("169.254", false), "169.254.0.0/16");
  EXPECT_EQ(expand_destination("192.168.4", false), "192.168.4.0/24");
  EXPECT_EQ(expand_destination("10.10.0.2", true), "10.10.0.2");
  EXPECT_EQ(expand_destination("10.10.0.2/32", false), "10.10.0.2");
  EXPECT_EQ(expand_destination("128.0/1", false), "128.0.0.0/1");
  EXPECT_EQ(expand_destination("0/1", false), "0.0.0.0/1");
  EXPECT_EQ(expand_destination("fe80::%en0/64", false), "fe80::/64");
  EXPECT_EQ(expand_destination("::1", true), "::1");
  EXPECT_EQ(expand_destination("ff00::/8", false), "ff00::/8");
}

TEST(ExpandDestination, RefusesNonsense) {
  for (const char* text :
       {"", "/", "/24", "10.10/", "10.10/33", "10.10/-1", "1.2.3.4.5", "256/8", "fe80::/129",
        "fe80:::/64", "(10.0.0.1)", "x", "10..1/8", "10/99999999999999999999"}) {
    EXPECT_EQ(expand_destination(text, false), "") << text;
  }
}

TEST(NetstatRoutes, BothFamilies) {
  HostEvidence host;
  ASSERT_TRUE(parse_netstat_routes(test::sample("macos/netstat_routes.txt"), host));
  const RouteEvidence* out = find_route(host, "default", "en0");
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->via, "192.168.4.1");
  EXPECT_EQ(out->type, "unicast");
  EXPECT_EQ(out->table, "main");
  EXPECT_THAT(out->flags, ElementsAre("U", "G", "S", "c", "g"));
  const RouteEvidence* data = find_route(host, "10.10.0.0/24", "bridge0");
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->via, "");
  EXPECT_EQ(data->scope, "link");
  EXPECT_NE(find_route(host, "fe80::/64", "bridge0"), nullptr);
  EXPECT_NE(find_route(host, "2001:db8:4::/64", "en0"), nullptr);
}

TEST(NetstatRoutes, ScopedDefaultsAreNotTheDefault) {
  HostEvidence host;
  ASSERT_TRUE(parse_netstat_routes(test::sample("macos/netstat_routes.txt"), host));
  EXPECT_EQ(find_route(host, "default", "bridge0")->table, "ifscope bridge0");
  EXPECT_EQ(find_route(host, "default", "utun0")->table, "ifscope utun0");
}

TEST(NetstatRoutes, NeighboursAreNoRoutes) {
  HostEvidence host;
  ASSERT_TRUE(parse_netstat_routes(test::sample("macos/netstat_routes.txt"), host));
  EXPECT_EQ(find_route(host, "10.10.0.1", "bridge0"), nullptr);
  EXPECT_EQ(host.routes.size(), 15U);
}

TEST(NetstatRoutes, BlackholesAndOtherColumns) {
  HostEvidence host;
  ASSERT_TRUE(
      parse_netstat_routes("Destination Gateway Flags Refs Use Mtu Netif Expire\n"
                           "10.10/24 link#4 UCSB 1 0 1500 en5\n10.20/24 link#4 UCSR 1 0 1500 en6\n"
                           "10.30/24 link#4 CS 1 0 1500 en7\nshort line\n",
                           host));
  ASSERT_EQ(host.routes.size(), 2U);
  EXPECT_EQ(host.routes[0].type, "blackhole");
  EXPECT_EQ(host.routes[0].dev, "en5");
  EXPECT_EQ(host.routes[1].type, "unreachable");
}

TEST(NetstatRoutes, WithoutTitlesItIsAnError) {
  HostEvidence host;
  EXPECT_FALSE(parse_netstat_routes("Ziel Gateway Flags\n10.10/24 link#4 UCS en5\n", host));
  EXPECT_FALSE(parse_netstat_routes("", host));
  EXPECT_THAT(host.routes, IsEmpty());
}

TEST(Arp, IncompletePermanentAndUnpadded) {
  HostEvidence host;
  ASSERT_TRUE(parse_arp(test::sample("macos/arp.txt"), host));
  EXPECT_EQ(find_neighbour(host, "10.10.0.1")->state, "INCOMPLETE");
  EXPECT_EQ(find_neighbour(host, "10.10.0.1")->mac, "");
  EXPECT_EQ(find_neighbour(host, "10.10.0.1")->dev, "bridge0");
  EXPECT_EQ(find_neighbour(host, "10.10.0.2")->state, "PERMANENT");
  EXPECT_EQ(find_neighbour(host, "10.10.0.2")->mac, "36:00:00:00:02:01");
  EXPECT_EQ(find_neighbour(host, "192.168.4.1")->state, "REACHABLE");
  EXPECT_EQ(find_neighbour(host, "192.168.4.1")->mac, "a8:0b:0c:0d:0e:0f");
}

TEST(Arp, NonsenseIsLeftOut) {
  HostEvidence host;
  ASSERT_TRUE(
      parse_arp("at\n? at x\n? () at 1:2:3:4:5:6 on en0\n? (10.0.0.1) at\n"
                "? (10.0.0.1) at 1:2:3 on en0\n? (10.0.0.1) at 1:2:3:4:5:6:7 on en0\n"
                "? (10.0.0.1) at 1:2:3:4:5:ggg on en0\n? (999.0.0.1) at (incomplete)\n"
                "? (10.0.0.2) at 1.2.3.4.5.AF on en0\n",
                host));
  ASSERT_EQ(host.neighbours.size(), 1U);
  EXPECT_EQ(host.neighbours[0].mac, "01:02:03:04:05:af");
}

TEST(Ndp, StatesAndZones) {
  HostEvidence host;
  ASSERT_TRUE(parse_ndp(test::sample("macos/ndp.txt"), host));
  ASSERT_EQ(host.neighbours.size(), 3U);  // not those of lo0
  EXPECT_EQ(find_neighbour(host, "fe80::1c:2")->state, "PERMANENT");
  EXPECT_EQ(find_neighbour(host, "fe80::1c:1")->state, "STALE");
  EXPECT_EQ(find_neighbour(host, "fe80::1c:1")->mac, "36:00:00:00:01:01");
  EXPECT_EQ(find_neighbour(host, "fe80::99")->state, "INCOMPLETE");
}

}  // namespace
}  // namespace plumbline
