// Which pair of addresses two ranks use: a table of wirings.
#include "transport/address.h"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

RankAddress ip(const std::string& text, const std::string& interface = {}) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return {text, -1, interface};
  return {text.substr(0, slash), std::stoi(text.substr(slash + 1)), interface};
}

TcpEndpoint host(int rank, const std::string& name, std::vector<RankAddress> addresses) {
  return {rank, name, std::move(addresses), 29600};
}

// "local > remote" of every candidate; "error" when there is none.
std::string choice(const std::vector<RankAddress>& mine, const std::vector<RankAddress>& peer,
                   bool one_host = false) {
  const auto pairs = address_pairs(host(0, "a", mine), host(1, one_host ? "a" : "b", peer));
  if (!pairs) return "error";
  std::string text;
  for (const AddressPair& pair : *pairs) {
    text += (text.empty() ? "" : ", ") + pair.local.ip + " > " + pair.remote.ip;
    if (!pair.shared_subnet) text += " (routed)";
  }
  return text;
}

struct Wiring {
  const char* name;
  std::vector<RankAddress> mine, peer;
  const char* expected;
  bool one_host = false;
};

void PrintTo(const Wiring& wiring, std::ostream* out) { *out << wiring.name; }  // NOLINT

class AddressChoice : public testing::TestWithParam<Wiring> {};

TEST_P(AddressChoice, IsTheSharedSubnet) {
  const Wiring& wiring = GetParam();
  EXPECT_EQ(choice(wiring.mine, wiring.peer, wiring.one_host), wiring.expected);
}

const Wiring kWirings[] = {
    {"one_network", {ip("10.10.0.1/24")}, {ip("10.10.0.2/24")}, "10.10.0.1 > 10.10.0.2"},
    // A mesh of four, one /30 per cable; a's cables go to b, c, d in this order.
    {"mesh_first_cable",
     {ip("10.0.0.1/30"), ip("10.0.0.5/30"), ip("10.0.0.9/30")},
     {ip("10.0.0.2/30"), ip("10.0.0.13/30"), ip("10.0.0.17/30")},
     "10.0.0.1 > 10.0.0.2"},
    {"mesh_last_cable",
     {ip("10.0.0.1/30"), ip("10.0.0.5/30"), ip("10.0.0.9/30")},
     {ip("10.0.0.18/30"), ip("10.0.0.22/30"), ip("10.0.0.10/30")},
     "10.0.0.9 > 10.0.0.10"},
    {"longest_prefix_wins",
     {ip("10.0.0.1/8"), ip("10.10.0.1/30")},
     {ip("10.0.0.2/8"), ip("10.10.0.2/30")},
     "10.10.0.1 > 10.10.0.2"},
    {"host_file_order_among_equals",
     {ip("10.1.0.1/24"), ip("10.2.0.1/24")},
     {ip("10.2.0.2/24"), ip("10.1.0.2/24")},
     "10.1.0.1 > 10.1.0.2"},
    {"order_not_similar_host_bits",
     {ip("10.1.0.1/24"), ip("10.1.0.66/24")},
     {ip("10.1.0.130/24"), ip("10.1.0.67/24")},
     "10.1.0.1 > 10.1.0.130"},
    {"masks_disagree_but_reach",
     {ip("10.10.0.1/24")},
     {ip("10.10.0.2/16")},
     "10.10.0.1 > 10.10.0.2"},
    {"agreeing_masks_before_a_longer_one_sided",
     {ip("10.10.0.1/30"), ip("10.20.0.1/16")},
     {ip("10.10.0.2/31"), ip("10.20.0.2/16")},
     "10.20.0.1 > 10.20.0.2"},
    {"prefix_of_one_side_is_enough",
     {ip("10.10.0.1")},
     {ip("10.10.0.2/24")},
     "10.10.0.1 > 10.10.0.2"},
    {"unknown_prefixes_are_routed",
     {ip("10.10.0.1")},
     {ip("10.10.0.2")},
     "10.10.0.1 > 10.10.0.2 (routed)"},
    {"routed_all_pairs_in_order",
     {ip("10.1.0.1/24"), ip("10.2.0.1/24")},
     {ip("10.3.0.1/24")},
     "10.1.0.1 > 10.3.0.1 (routed), 10.2.0.1 > 10.3.0.1 (routed)"},
    {"first_bit_differs_with_prefix_zero",
     {ip("10.1.0.1/0")},
     {ip("192.0.2.1/0")},
     "10.1.0.1 > 192.0.2.1 (routed)"},
    {"v6", {ip("fd00::1/64")}, {ip("fd00::2/64")}, "fd00::1 > fd00::2"},
    {"v6_other_subnet",
     {ip("fd00::1/64")},
     {ip("fd00:0:0:1::2/64")},
     "fd00::1 > fd00:0:0:1::2 (routed)"},
    {"v4_with_v6_never_pair", {ip("10.1.0.1/24")}, {ip("fd00::2/64")}, "error"},
    {"family_in_common_counts",
     {ip("fd00::1/64"), ip("10.1.0.1/24")},
     {ip("10.1.0.2/24")},
     "10.1.0.1 > 10.1.0.2"},
    {"ordinary_before_link_local",
     {ip("fe80::1/64", "eth0"), ip("10.1.0.1/24")},
     {ip("fe80::2/64", "eth0"), ip("10.1.0.2/24")},
     "10.1.0.1 > 10.1.0.2"},
    {"link_local_v4_is_a_subnet",
     {ip("169.254.7.1/16")},
     {ip("169.254.9.2/16")},
     "169.254.7.1 > 169.254.9.2"},
    {"link_local_v6_alone",
     {ip("fe80::1/64", "en4")},
     {ip("fe80::2/64", "en5")},
     "fe80::1 > fe80::2"},
    {"link_local_before_routed",
     {ip("10.1.0.1/24"), ip("fe80::1/64", "en4")},
     {ip("10.2.0.2/24"), ip("fe80::2/64", "en5")},
     "fe80::1 > fe80::2"},
    {"loopback_does_not_join_hosts",
     {ip("127.0.0.1/8"), ip("10.1.0.1/24")},
     {ip("127.0.0.1/8"), ip("10.2.0.2/24")},
     "10.1.0.1 > 10.2.0.2 (routed)"},
    {"loopback_joins_one_host",
     {ip("127.0.0.1/8")},
     {ip("127.0.0.1/8")},
     "127.0.0.1 > 127.0.0.1",
     true},
    {"one_host_first_data_address",
     {ip("10.1.0.1/24"), ip("127.0.0.1/8")},
     {ip("10.1.0.1/24"), ip("127.0.0.1/8")},
     "10.1.0.1 > 10.1.0.1",
     true},
    {"loopback_as_last_resort",  // {"local": N}: every host has nothing else
     {ip("127.0.0.1/8")},
     {ip("127.0.0.1/8")},
     "127.0.0.1 > 127.0.0.1"},
    {"loopback_never_with_an_ordinary_one_of_another_host",
     {ip("127.0.0.1/8")},
     {ip("10.2.0.2/24")},
     "error"},
    {"same_address_without_prefix",
     {ip("10.1.0.1")},
     {ip("10.1.0.1")},
     "10.1.0.1 > 10.1.0.1",
     true},
    {"nothing", {}, {ip("10.2.0.2/24")}, "error"},
};

INSTANTIATE_TEST_SUITE_P(Wirings, AddressChoice, testing::ValuesIn(kWirings),
                         [](const auto& wiring) { return std::string(wiring.param.name); });

// Both ends come to the same pair wherever a subnet is shared, whoever dials.
TEST(AddressPairs, AreTheSameFromBothEnds) {
  for (const Wiring& wiring : kWirings) {
    const TcpEndpoint a = host(0, "a", wiring.mine);
    const TcpEndpoint b = host(1, wiring.one_host ? "a" : "b", wiring.peer);
    const auto there = address_pairs(a, b), back = address_pairs(b, a);
    ASSERT_EQ(there.has_value(), back.has_value()) << wiring.name;
    if (!there || !there->front().shared_subnet) continue;
    EXPECT_EQ(there->front().local, back->front().remote) << wiring.name;
    EXPECT_EQ(there->front().remote, back->front().local) << wiring.name;
  }
}

TEST(AddressPairs, ErrorsNameRankAndAddress) {
  const auto bad = address_pairs(host(0, "a", {ip("10.1.0.1/24")}), host(3, "b", {ip("mini2/24")}));
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().what,
              testing::AllOf(testing::HasSubstr("\"mini2\""), testing::HasSubstr("rank 3 (b)")));
  EXPECT_EQ(bad.error().ranks, std::vector<int>{3});
  const auto families =
      address_pairs(host(0, "a", {ip("10.1.0.1/24")}), host(1, "b", {ip("fd00::1/64")}));
  EXPECT_THAT(families.error().what,
              testing::AllOf(testing::HasSubstr("10.1.0.1/24"), testing::HasSubstr("fd00::1/64")));
  EXPECT_THAT(families.error().ranks, testing::UnorderedElementsAre(0, 1));
}

// "local > remote" of every cable, as both ends see them.
std::string cables(const std::vector<RankAddress>& mine, const std::vector<RankAddress>& peer,
                   bool one_host = false) {
  const TcpEndpoint a = host(0, "a", mine), b = host(1, one_host ? "a" : "b", peer);
  const std::vector<AddressPair> there = cable_pairs(a, b), back = cable_pairs(b, a);
  std::string text;
  EXPECT_EQ(there.size(), back.size());
  for (size_t i = 0; i < std::min(there.size(), back.size()); ++i) {
    EXPECT_EQ(there[i].local, back[i].remote) << i;
    EXPECT_EQ(there[i].remote, back[i].local) << i;
    text += (text.empty() ? "" : ", ") + there[i].local.ip + " > " + there[i].remote.ip;
  }
  return text;
}

RankAddress with_speed(RankAddress address, uint64_t bps) {
  address.speed_bps = bps;
  return address;
}

TEST(Cables, AreTheSubnetsThatTwoHostsShare) {
  const std::vector<RankAddress> two = {ip("10.0.1.1/24"), ip("10.0.2.1/24")};
  EXPECT_EQ(cables(two, {ip("10.0.1.2/24"), ip("10.0.2.2/24")}),
            "10.0.1.1 > 10.0.1.2, 10.0.2.1 > 10.0.2.2");
  // In whatever order each host lists them.
  EXPECT_EQ(cables(two, {ip("10.0.2.2/24"), ip("10.0.1.2/24")}),
            "10.0.1.1 > 10.0.1.2, 10.0.2.1 > 10.0.2.2");
  EXPECT_EQ(cables(two, {ip("10.0.2.2/24"), ip("10.0.3.2/24")}), "10.0.2.1 > 10.0.2.2");
  EXPECT_EQ(cables(two, {ip("10.0.4.2/24")}), "") << "routed: nothing is known of cables";
  EXPECT_EQ(cables(two, {}), "");
  // A mesh of cables, a /30 each: one per pair of hosts.
  EXPECT_EQ(cables({ip("10.0.0.1/30"), ip("10.0.0.5/30")}, {ip("10.0.0.2/30"), ip("10.0.0.9/30")}),
            "10.0.0.1 > 10.0.0.2");
}

TEST(Cables, ASecondAddressIsNoSecondCable) {
  // Of one subnet on either side, or on both.
  EXPECT_EQ(cables({ip("10.0.1.1/24"), ip("10.0.1.3/24")}, {ip("10.0.1.2/24")}),
            "10.0.1.1 > 10.0.1.2");
  EXPECT_EQ(cables({ip("10.0.1.1/24"), ip("10.0.1.3/24")}, {ip("10.0.1.2/24"), ip("10.0.1.4/24")}),
            "10.0.1.1 > 10.0.1.2");
  // Of the other family.
  EXPECT_EQ(cables({ip("10.0.1.1/24"), ip("fd00::1/120")}, {ip("10.0.1.2/24"), ip("fd00::2/120")}),
            "fd00::1 > fd00::2");
  // Link-local ones: every link has that subnet.
  EXPECT_EQ(cables({ip("fd00::1/64"), ip("fe80::1/64", "en1")},
                   {ip("fd00::2/64"), ip("fe80::2/64", "en2")}),
            "fd00::1 > fd00::2");
  EXPECT_EQ(cables({ip("fe80::1/64", "en1"), ip("fe80::3/64", "en2")},
                   {ip("fe80::2/64", "en1"), ip("fe80::4/64", "en2")}),
            "fe80::1 > fe80::2");
  // Inside a host, and over loopback, there are none.
  EXPECT_EQ(
      cables({ip("10.0.1.1/24"), ip("10.0.2.1/24")}, {ip("10.0.1.1/24"), ip("10.0.2.1/24")}, true),
      "10.0.1.1 > 10.0.1.1");
  EXPECT_EQ(
      cables({ip("127.0.1.1/24"), ip("127.0.2.1/24")}, {ip("127.0.1.2/24"), ip("127.0.2.2/24")}),
      "127.0.1.1 > 127.0.1.2");
}

// Blocks go in turns, so a slow cable beside a fast one would make both slow.
TEST(Cables, AreOfOneSpeedWhereItIsKnown) {
  constexpr uint64_t kFast = 40'000'000'000, kSlow = 1'000'000'000;
  const auto fast = [](const char* text) { return with_speed(ip(text), kFast); };
  const auto slow = [](const char* text) { return with_speed(ip(text), kSlow); };
  EXPECT_EQ(cables({fast("10.0.1.1/24"), slow("10.0.2.1/24"), fast("10.0.3.1/24")},
                   {fast("10.0.1.2/24"), slow("10.0.2.2/24"), fast("10.0.3.2/24")}),
            "10.0.1.1 > 10.0.1.2, 10.0.3.1 > 10.0.3.2");
  // The slower end of a cable counts; an end that does not tell is taken for the other's.
  EXPECT_EQ(cables({fast("10.0.1.1/24"), fast("10.0.2.1/24"), fast("10.0.3.1/24")},
                   {ip("10.0.1.2/24"), slow("10.0.2.2/24"), fast("10.0.3.2/24")}),
            "10.0.1.1 > 10.0.1.2, 10.0.3.1 > 10.0.3.2");
  // One of which nothing is known is no match for one of which it is.
  EXPECT_EQ(
      cables({fast("10.0.1.1/24"), ip("10.0.2.1/24")}, {fast("10.0.1.2/24"), ip("10.0.2.2/24")}),
      "10.0.1.1 > 10.0.1.2");
}

TEST(Endpoints, CarryTheSpeedOfTheirCards) {
  TcpEndpoint endpoint = host(3, "a", {ip("10.0.1.1/24")});
  endpoint.addresses[0].speed_bps = 100'000'000'000;
  const auto read = read_endpoint(endpoint_bytes(endpoint), "rank 3");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->addresses, endpoint.addresses);
}

}  // namespace
}  // namespace plumbline
