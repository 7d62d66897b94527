#include "launch/data_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/address.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr uint64_t kGbit = 1'000'000'000;

Nic nic(const std::string& name, const std::vector<std::string>& addresses, uint64_t gbit = 0,
        const std::string& kind = "ethernet") {
  Nic out;
  out.name = name;
  out.kind = kind;
  out.up = out.carrier = true;
  if (gbit > 0) out.speed_bps = gbit * kGbit;
  for (const std::string& text : addresses) {
    NicAddress address;
    const size_t slash = text.find('/');
    address.ip = text.substr(0, slash);
    address.prefix = std::stoi(text.substr(slash + 1));
    address.v6 = text.find(':') != std::string::npos;
    address.link_local = text.rfind("fe80", 0) == 0 || text.rfind("169.254", 0) == 0;
    address.loopback = text.rfind("127.", 0) == 0;
    out.addresses.push_back(address);
  }
  return out;
}

Nic loopback() { return nic("lo", {"127.0.0.1/8"}, 0, "loopback"); }

// Rank i on machine i.
std::vector<RankNics> machines(const std::vector<std::vector<Nic>>& all) {
  std::vector<RankNics> ranks;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string name = "node" + std::to_string(i);
    ranks.push_back({static_cast<int>(i), name, name, all[i]});
  }
  return ranks;
}

std::vector<std::string> ips(const AddressChoice& choice) {
  std::vector<std::string> out;
  for (const RankAddress& address : choice.addresses) out.push_back(address.ip);
  return out;
}

std::vector<AddressChoice> chosen(const std::vector<RankNics>& ranks) {
  const auto choices = choose_data_addresses(ranks);
  EXPECT_TRUE(choices) << choices.error().message();
  return choices ? *choices : std::vector<AddressChoice>(ranks.size());
}

TEST(DataAddresses, OneHostUsesLoopback) {
  std::vector<RankNics> ranks =
      machines({{loopback(), nic("eth0", {"10.0.0.1/24"})}, {loopback()}});
  ranks[1].machine = ranks[0].machine;
  for (const AddressChoice& choice : chosen(ranks))
    EXPECT_THAT(ips(choice), ElementsAre("127.0.0.1"));
}

TEST(DataAddresses, EqualNamesAreNotOneHost) {
  std::vector<RankNics> ranks = machines(
      {{loopback(), nic("eth0", {"10.0.0.1/24"})}, {loopback(), nic("eth0", {"10.0.0.2/24"})}});
  ranks[1].host = ranks[0].host;
  const auto choices = chosen(ranks);
  EXPECT_THAT(ips(choices[0]), ElementsAre("10.0.0.1"));
  EXPECT_THAT(ips(choices[1]), ElementsAre("10.0.0.2"));
}

TEST(DataAddresses, FastestSharedLink) {
  const auto choices = chosen(machines(
      {{loopback(), nic("eth0", {"192.168.1.1/24"}, 1), nic("eth1", {"10.0.0.1/24"}, 25)},
       {loopback(), nic("eth0", {"192.168.1.2/24"}, 1), nic("eth1", {"10.0.0.2/24"}, 25)}}));
  EXPECT_THAT(ips(choices[0]), ElementsAre("10.0.0.1"));
  EXPECT_THAT(choices[0].reason, HasSubstr("25 Gbit/s"));
  EXPECT_THAT(choices[0].reason, HasSubstr("shared with node1"));
}

TEST(DataAddresses, TheSlowerEndDecides) {
  // eth1 is 100 Gbit/s here and 1 there; eth0 is 10 on both ends.
  const auto choices =
      chosen(machines({{nic("eth0", {"10.1.0.1/24"}, 10), nic("eth1", {"10.2.0.1/24"}, 100)},
                       {nic("eth0", {"10.1.0.2/24"}, 10), nic("eth1", {"10.2.0.2/24"}, 1)}}));
  EXPECT_THAT(ips(choices[0]), ElementsAre("10.1.0.1"));
}

TEST(DataAddresses, AFastLinkThatNobodySharesDoesNotCount) {
  const auto choices =
      chosen(machines({{nic("eth0", {"10.1.0.1/24"}, 1), nic("eth1", {"10.2.0.1/24"}, 100)},
                       {nic("eth0", {"10.1.0.2/24"}, 1), nic("eth1", {"10.3.0.2/24"}, 100)}}));
  EXPECT_THAT(ips(choices[0]), ElementsAre("10.1.0.1"));
  EXPECT_THAT(ips(choices[1]), ElementsAre("10.1.0.2"));
}

TEST(DataAddresses, NeverContainersVpnLoopbackOrDeadLinks) {
  const auto host = [](const std::string& n) {
    Nic down = nic("eth7", {"10.7.0." + n + "/24"}, 400);
    down.carrier = false;
    return std::vector<Nic>{loopback(),
                            nic("docker0", {"172.17.0." + n + "/16"}, 0, "bridge"),
                            nic("br-0a1b2c3d4e5f", {"172.18.0." + n + "/16"}, 0, "bridge"),
                            nic("wg0", {"10.8.0." + n + "/24"}, 0, "unknown"),
                            nic("tun0", {"10.9.0." + n + "/24"}, 0, "tunnel"),
                            nic("utun3", {"10.10.0." + n + "/24"}, 0, "unknown"),
                            nic("virbr0", {"192.168.122." + n + "/24"}, 0, "bridge"),
                            down,
                            nic("eth0", {"10.0.0." + n + "/24", "fe80::" + n + "/64"}, 1)};
  };
  const auto choices = chosen(machines({host("1"), host("2")}));
  EXPECT_THAT(ips(choices[0]), ElementsAre("10.0.0.1"));
  EXPECT_THAT(ips(choices[1]), ElementsAre("10.0.0.2"));
}

TEST(DataAddresses, ABridgeOfCablesIsData) {
  // Thunderbolt Bridge, and a Linux bridge with a name of its owner's.
  EXPECT_EQ(why_excluded(nic("bridge0", {}, 0, "bridge")), "");
  EXPECT_EQ(why_excluded(nic("br0", {}, 0, "bridge")), "");
  EXPECT_EQ(why_excluded(nic("tunnelvision", {}, 0, "ethernet")), "");
}

TEST(DataAddresses, AnAddressThatSeveralMachinesHaveNamesNone) {
  const auto choices =
      chosen(machines({{nic("br1", {"192.168.5.1/24"}), nic("eth0", {"10.0.0.1/24"})},
                       {nic("br1", {"192.168.5.1/24"}), nic("eth0", {"10.0.0.2/24"})}}));
  EXPECT_THAT(ips(choices[0]), ElementsAre("10.0.0.1"));
}

TEST(DataAddresses, AMeshOfCablesPublishesOneAddressPerCable) {
  const std::vector<RankNics> ranks =
      machines({{nic("to1", {"10.77.0.1/30"}), nic("to2", {"10.77.1.1/30"})},
                {nic("to0", {"10.77.0.2/30"}), nic("to2", {"10.77.2.1/30"})},
                {nic("to0", {"10.77.1.2/30"}), nic("to1", {"10.77.2.2/30"})}});
  const auto choices = chosen(ranks);
  EXPECT_THAT(ips(choices[0]), UnorderedElementsAre("10.77.0.1", "10.77.1.1"));
  EXPECT_THAT(ips(choices[2]), UnorderedElementsAre("10.77.1.2", "10.77.2.2"));
  // And every pair then finds its cable.
  std::vector<TcpEndpoint> ends;
  for (size_t i = 0; i < 3; ++i) {
    ends.push_back({static_cast<int>(i), ranks[i].host, choices[i].addresses, 1});
  }
  for (size_t a = 0; a < 3; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      if (a == b) continue;
      const auto pairs = address_pairs(ends[a], ends[b]);
      ASSERT_TRUE(pairs);
      ASSERT_EQ(pairs->size(), 1u) << a << b;
      EXPECT_TRUE(pairs->front().shared_subnet) << a << b;
    }
  }
}

TEST(DataAddresses, RoutedMachinesPublishWhatTheyHave) {
  const auto choices = chosen(machines(
      {{loopback(), nic("eth0", {"10.1.0.1/24"})}, {loopback(), nic("eth0", {"10.2.0.1/24"})}}));
  EXPECT_THAT(ips(choices[0]), ElementsAre("10.1.0.1"));
  EXPECT_THAT(choices[0].reason, HasSubstr("routed"));
}

TEST(DataAddresses, WiredBeforeWirelessAndOrdinaryBeforeLinkLocal) {
  const auto choices =
      chosen(machines({{nic("wlan0", {"10.1.0.1/24"}, 0, "wifi"), nic("en4", {"169.254.3.1/16"}),
                        nic("en5", {"10.3.0.1/24"})},
                       {nic("wlan0", {"10.1.0.2/24"}, 0, "wifi"), nic("en4", {"169.254.3.2/16"}),
                        nic("en5", {"10.3.0.2/24"})}}));
  EXPECT_THAT(ips(choices[0]), ElementsAre("10.3.0.1"));
}

TEST(DataAddresses, AMachineWithoutAnyIsNamedWithWhatItHas) {
  const auto choices = choose_data_addresses(
      machines({{loopback(), nic("eth0", {"10.1.0.1/24"})},
                {loopback(), nic("docker0", {"172.17.0.1/16"}, 0, "bridge")}}));
  ASSERT_FALSE(choices);
  EXPECT_THAT(choices.error().message(), HasSubstr("node1"));
  EXPECT_THAT(choices.error().message(), HasSubstr("docker0 (a container's bridge)"));
}

TEST(DataAddresses, NonsenseOfAPeerDoesNoHarm) {
  Nic odd = nic("eth0", {"10.1.0.1/24"});
  odd.addresses.push_back({"not an address", 24, false, false, false});
  odd.addresses.push_back({"10.1.0.9", 77, false, false, false});
  odd.addresses.push_back({"::", -3, true, false, false});
  const auto choices = chosen(machines({{odd}, {nic("eth0", {"10.1.0.2/24"})}}));
  EXPECT_THAT(ips(choices[0]), ElementsAre("10.1.0.1"));
}

}  // namespace
}  // namespace plumbline
