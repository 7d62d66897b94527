#include "probes/subnet.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Subnet, NetworkOf) {
  EXPECT_EQ(network_of("10.10.0.7", 24), "10.10.0.0/24");
  EXPECT_EQ(network_of("10.10.255.255", 17), "10.10.128.0/17");
  EXPECT_EQ(network_of("10.10.0.7", 32), "10.10.0.7/32");
  EXPECT_EQ(network_of("10.10.0.7", 0), "0.0.0.0/0");
  EXPECT_EQ(network_of("fd00:10:1:2:3::4", 60), "fd00:10:1::/60");
  EXPECT_EQ(network_of("fe80::1%eth0", 64), "fe80::/64");
  for (const char* bad : {"", "10.10.0", "10.10.0.300", "hello", "::1::"}) {
    EXPECT_EQ(network_of(bad, 24), "") << bad;
  }
  EXPECT_EQ(network_of("10.10.0.7", 33), "");
  EXPECT_EQ(network_of("10.10.0.7", -1), "");
}

TEST(Subnet, ParseCidr) {
  EXPECT_EQ(parse_cidr("10.0.0.1/8").prefix, 8);
  EXPECT_EQ(parse_cidr("10.0.0.1/8").ip, "10.0.0.1");
  EXPECT_EQ(parse_cidr("fd00::1").prefix, 0);
  for (const char* bad : {"10.0.0.1/", "10.0.0.1/x", "10.0.0.1/8x", "10.0.0.1/-1",
                          "10.0.0.1/99999999999", "10.0.0.1/129"}) {
    EXPECT_EQ(parse_cidr(bad).prefix, 0) << bad;
  }
}

TEST(Subnet, Covers) {
  EXPECT_EQ(covers("default", "10.0.0.1"), 0);
  EXPECT_EQ(covers("0.0.0.0/0", "10.0.0.1"), 0);
  EXPECT_EQ(covers("0.0.0.0/0", "fd00::1"), -1);
  EXPECT_EQ(covers("10.10.0.0/24", "10.10.0.2"), 24);
  EXPECT_EQ(covers("10.10.0.0/24", "10.10.1.2"), -1);
  EXPECT_EQ(covers("10.10.0.2", "10.10.0.2"), 32);
  EXPECT_EQ(covers("fd00::/8", "fd00::1"), 8);
  EXPECT_EQ(covers("nonsense", "10.0.0.1"), -1);
  EXPECT_EQ(covers("default", "nonsense"), -1);
}

TEST(Subnet, EdgesAndOverlap) {
  EXPECT_TRUE(is_edge_of_network("10.10.0.3", 30));
  EXPECT_TRUE(is_edge_of_network("10.10.0.0", 24));
  EXPECT_FALSE(is_edge_of_network("10.10.0.2", 30));
  EXPECT_FALSE(is_edge_of_network("10.10.0.1", 31));
  EXPECT_FALSE(is_edge_of_network("fd00::", 64));
  EXPECT_TRUE(is_edge_of_network("255.255.255.255", 0));
  EXPECT_TRUE(overlap({"10.10.0.1", 24}, {"10.10.9.9", 16}));
  EXPECT_FALSE(overlap({"10.10.0.1", 24}, {"10.10.1.1", 24}));
  EXPECT_FALSE(overlap({"10.10.0.1", 24}, {"fd00::1", 24}));
}

TEST(Subnet, Kinds) {
  EXPECT_TRUE(is_loopback_ip("127.1.2.3"));
  EXPECT_TRUE(is_loopback_ip("::1"));
  EXPECT_FALSE(is_loopback_ip("128.0.0.1"));
  EXPECT_TRUE(is_link_local_ip("169.254.3.4"));
  EXPECT_TRUE(is_link_local_ip("fe80::1%en0"));
  EXPECT_FALSE(is_link_local_ip("169.255.0.1"));
}

}  // namespace
}  // namespace plumbline
