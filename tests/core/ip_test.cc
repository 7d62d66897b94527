#include "core/host/ip.h"

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tests/support/source_lines.h"

namespace plumbline {
namespace {

TEST(IpValue, IsReadStrictly) {
  for (const char* text : {"0.0.0.0", "10.10.0.7", "255.255.255.255", "::", "::1", "fd00::7",
                           "fe80::1:2", "2001:db8:1:2:3:4:5:6", "::ffff:10.0.0.1"}) {
    const auto ip = parse_ip(text);
    ASSERT_TRUE(ip) << text;
    EXPECT_EQ(to_text(*ip), text);
    EXPECT_EQ(ip->v6, is_v6(text));
  }
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "10.10.0"sv, "10.10.0.256"sv, "10.10.0.7 "sv, " 10.10.0.7"sv, "10.10.0.7/24"sv,
        "10.10.0.7\0"sv, "10.10.0.7\0x"sv, "fe80::1%eth0"sv, "::1::"sv, "1:2:3:4:5:6:7:8:9"sv,
        "%"sv, "hello"sv, "[::1]"sv, "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"sv}) {
    EXPECT_FALSE(parse_ip(text)) << text;
  }
  EXPECT_EQ(parse_zoned_ip("fe80::1%eth0"), parse_ip("fe80::1"));
  EXPECT_FALSE(parse_zoned_ip("%eth0"));
  EXPECT_EQ(parse_ip("FD00::A"), parse_ip("fd00:0::000a"));
}

TEST(IpValue, IsOrderedByFamilyAndNumber) {
  const char* ordered[] = {"0.0.0.0", "9.255.0.0", "10.0.0.1", "10.0.0.2", "255.0.0.0",
                           "::",      "::1",       "fd00::1",  "fd00::1:0"};
  for (size_t i = 0; i < std::size(ordered); ++i) {
    for (size_t j = 0; j < std::size(ordered); ++j) {
      EXPECT_EQ(*parse_ip(ordered[i]) < *parse_ip(ordered[j]), i < j) << ordered[i] << ordered[j];
    }
  }
  EXPECT_EQ(common_bits(*parse_ip("10.10.0.0"), *parse_ip("10.10.128.0")), 16);
  EXPECT_EQ(common_bits(*parse_ip("10.10.0.0"), *parse_ip("10.10.0.0")), 32);
  EXPECT_EQ(common_bits(*parse_ip("fd00::1"), *parse_ip("fd00::2")), 126);
  EXPECT_EQ(common_bits(*parse_ip("0.0.0.0"), *parse_ip("::")), -1);
}

TEST(IpValue, SubnetsAreReadStrictlyAndHoldWhatIsInThem) {
  for (const char* text : {"10.10.0.7/24", "0.0.0.0/0", "10.0.0.1/32", "fd00::1/64", "::/0"}) {
    const auto subnet = parse_ip_subnet(text);
    ASSERT_TRUE(subnet) << text;
    EXPECT_EQ(to_text(*subnet), text);
  }
  for (const char* text :
       {"", "/24", "10.10.0.7", "10.10.0.7/", "10.10.0.7/33", "10.10.0.7/-0", "10.10.0.7/+8",
        "10.10.0.7/24x", "10.10.0.7/ 24", "fd00::1/129", "fe80::1%eth0/64", "10.10.0.7/24/24"}) {
    EXPECT_FALSE(parse_ip_subnet(text)) << text;
  }
  for (int prefix = 0; prefix <= 128; ++prefix) {
    const Subnet subnet{*parse_ip("fd00:1:2:3:ffff:ffff:ffff:ffff"), prefix};
    const Subnet network = network_of(subnet);
    EXPECT_TRUE(contains(network, subnet.ip)) << prefix;
    EXPECT_TRUE(overlap(network, subnet)) << prefix;
    EXPECT_EQ(network_of(network), network) << prefix;
    EXPECT_EQ(common_bits(netmask(prefix, true), netmask(128, true)), prefix);
  }
  EXPECT_EQ(to_text(netmask(17, false)), "255.255.128.0");
  EXPECT_FALSE(contains(*parse_ip_subnet("0.0.0.0/0"), *parse_ip("::1")));
}

TEST(IpValue, IsMadeOfTextInOnePlace) {
  if (test::kSanitized) GTEST_SKIP() << test::kSources;
  expect_only_in({"core/host/ip.cc"}, std::regex(R"(\binet_(pton|ntop|aton|addr|ntoa)\b)"));
}

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
  EXPECT_TRUE(overlap(Cidr{"10.10.0.1", 24}, Cidr{"10.10.9.9", 16}));
  EXPECT_FALSE(overlap(Cidr{"10.10.0.1", 24}, Cidr{"10.10.1.1", 24}));
  EXPECT_FALSE(overlap(Cidr{"10.10.0.1", 24}, Cidr{"fd00::1", 24}));
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
