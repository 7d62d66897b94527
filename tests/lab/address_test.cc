#include "lab/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TEST(Address, SubnetsAreReadAndWritten) {
  for (const char* text : {"10.10.0.0/24", "0.0.0.0/0", "10.0.0.1/32", "fd00:1::/64", "::/0",
                           "169.254.0.0/16", "fe80::/64"}) {
    const auto subnet = parse_subnet(text);
    ASSERT_TRUE(subnet) << text;
    EXPECT_EQ(to_text(*subnet), text);
  }
}

TEST(Address, WrongSubnetsAreRefused) {
  for (const char* text : {"", "10.10.0.0", "10.10.0.0/", "10.10.0.0/33", "10.10.0/24", "x/24",
                           "10.10.0.0/-1", "10.10.0.0/24x", "fd00::/129", "fd00::1:/64", "/24",
                           "10.10.0.0/ 24", "10.10.0.0/99999999999999999999"}) {
    EXPECT_FALSE(parse_subnet(text)) << text;
  }
  const auto address = parse_subnet("10.10.0.7/24");
  ASSERT_FALSE(address);
  EXPECT_THAT(address.error().message(), HasSubstr("10.10.0.0/24"));
}

TEST(Address, NumbersCarryOverBytes) {
  const Subnet subnet = *parse_subnet("10.10.0.0/16");
  EXPECT_EQ(nth_address(subnet, 1), "10.10.0.1");
  EXPECT_EQ(nth_address(subnet, 255), "10.10.0.255");
  EXPECT_EQ(nth_address(subnet, 256), "10.10.1.0");
  EXPECT_EQ(nth_address(subnet, 65279), "10.10.254.255");
  const Subnet six = *parse_subnet("fd00:1::/64");
  EXPECT_EQ(nth_address(six, 1), "fd00:1::1");
  EXPECT_EQ(nth_address(six, 0x12345), "fd00:1::1:2345");
}

TEST(Address, SubnetsOfSubnets) {
  const Subnet subnet = *parse_subnet("10.10.0.0/24");
  EXPECT_EQ(count_subnets(subnet, 30), 64U);
  EXPECT_EQ(count_subnets(subnet, 23), 0U);
  EXPECT_EQ(to_text(nth_subnet(subnet, 30, 63)), "10.10.0.252/30");
  EXPECT_EQ(to_text(nth_subnet(subnet, 25, 1)), "10.10.0.128/25");
  EXPECT_EQ(to_text(nth_subnet(*parse_subnet("10.30.0.0/23"), 24, 1)), "10.30.1.0/24");
  EXPECT_EQ(to_text(nth_subnet(*parse_subnet("fd00::/64"), 126, 3)), "fd00::c/126");
  // Every part lies in the whole, and no two meet.
  std::vector<Subnet> parts;
  for (uint64_t i = 0; i < 64; ++i) parts.push_back(nth_subnet(subnet, 30, i));
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_TRUE(overlap(subnet, parts[i]));
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(parts[i], parts[j])) << i << " " << j;
  }
}

TEST(Address, OverlapAndContents) {
  const Subnet subnet = *parse_subnet("192.168.4.0/22");
  EXPECT_TRUE(contains(subnet, *parse_ip("192.168.7.255")));
  EXPECT_FALSE(contains(subnet, *parse_ip("192.168.8.0")));
  EXPECT_FALSE(contains(subnet, *parse_ip("fd00::1")));
  EXPECT_TRUE(overlap(subnet, *parse_subnet("192.168.6.0/24")));
  EXPECT_TRUE(overlap(*parse_subnet("0.0.0.0/0"), subnet));
  EXPECT_FALSE(overlap(subnet, *parse_subnet("::/0")));
}

TEST(Address, Capacity) {
  EXPECT_EQ(host_capacity(*parse_subnet("10.0.0.0/24")), 254U);
  EXPECT_EQ(host_capacity(*parse_subnet("10.0.0.0/30")), 2U);
  EXPECT_EQ(host_capacity(*parse_subnet("10.0.0.0/31")), 0U);
  EXPECT_EQ(host_capacity(*parse_subnet("10.0.0.0/32")), 0U);
  EXPECT_GT(host_capacity(*parse_subnet("fd00::/64")), 1000U);
}

TEST(Address, Parts) {
  EXPECT_EQ(ip_of("10.0.0.1/24"), "10.0.0.1");
  EXPECT_EQ(ip_of("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(prefix_of("10.0.0.1/24"), 24);
  EXPECT_EQ(prefix_of("10.0.0.1"), -1);
  EXPECT_EQ(prefix_of("10.0.0.1/x"), -1);
  EXPECT_TRUE(is_v6("fe80::1"));
  EXPECT_FALSE(is_v6("1.2.3.4"));
}

}  // namespace
}  // namespace plumbline
