#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sources/parsers.h"
#include "sample.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

HostEvidence recorded() {
  HostEvidence host;
  EXPECT_TRUE(parse_ifconfig(test::sample("macos/ifconfig.txt"), host));
  EXPECT_TRUE(parse_netstat_interfaces(test::sample("macos/netstat_interfaces.txt"), host));
  EXPECT_TRUE(parse_hardware_ports(test::sample("macos/networksetup.txt"), host));
  return host;
}

const InterfaceEvidence& named(const HostEvidence& host, const std::string& name) {
  for (const InterfaceEvidence& interface : host.interfaces) {
    if (interface.name == name) return interface;
  }
  static const InterfaceEvidence kNone;
  ADD_FAILURE() << "no interface " << name;
  return kNone;
}

InterfaceEvidence only(const std::string& text) {
  HostEvidence host;
  EXPECT_TRUE(parse_ifconfig(text, host));
  EXPECT_EQ(host.interfaces.size(), 1U);
  return host.interfaces.empty() ? InterfaceEvidence() : host.interfaces[0];
}

TEST(Ifconfig, AWiredCard) {
  const HostEvidence host = recorded();
  const InterfaceEvidence& card = named(host, "en0");
  EXPECT_EQ(card.kind, "ethernet");
  EXPECT_EQ(card.mac, "36:00:00:00:02:20");
  EXPECT_EQ(card.mtu, 1500);
  EXPECT_TRUE(card.up);
  EXPECT_EQ(card.carrier, true);
  EXPECT_EQ(card.state, "UP");
  EXPECT_EQ(card.speed_bps, 10'000'000'000);
  EXPECT_EQ(card.duplex, "full");
  EXPECT_EQ(card.index, 6);
  ASSERT_EQ(card.addresses.size(), 3U);
  EXPECT_EQ(card.addresses[0].ip, "fe80::c2:1");
  EXPECT_EQ(card.addresses[0].scope, "link");
  EXPECT_EQ(card.addresses[1].ip, "192.168.4.12");
  EXPECT_EQ(card.addresses[1].prefix, 24);
  EXPECT_EQ(card.addresses[1].scope, "global");
  EXPECT_THAT(card.addresses[2].flags, ElementsAre("temporary", "dynamic"));
}

TEST(Ifconfig, AThunderboltBridgeAndItsMembers) {
  const HostEvidence host = recorded();
  const InterfaceEvidence& bridge = named(host, "bridge0");
  EXPECT_EQ(bridge.kind, "bridge");
  EXPECT_EQ(bridge.addresses.at(0).ip, "10.10.0.2");
  EXPECT_EQ(bridge.speed_bps, std::nullopt);
  for (const char* name : {"en2", "en3"}) {
    EXPECT_EQ(named(host, name).kind, "thunderbolt");
    EXPECT_EQ(named(host, name).master, "bridge0");
    EXPECT_EQ(named(host, name).master_kind, "bridge");
    EXPECT_EQ(named(host, name).port_state, "");
  }
  EXPECT_EQ(named(host, "en2").carrier, true);
  EXPECT_EQ(named(host, "en3").carrier, false);
  EXPECT_EQ(named(host, "en3").state, "DOWN");
  EXPECT_EQ(named(host, "en0").master, "");
}

TEST(Ifconfig, WhatIsNoCard) {
  const HostEvidence host = recorded();
  EXPECT_EQ(named(host, "lo0").kind, "loopback");
  EXPECT_EQ(named(host, "lo0").addresses.at(0).scope, "host");
  EXPECT_EQ(named(host, "lo0").carrier, true);
  EXPECT_EQ(named(host, "utun0").kind, "tunnel");
  EXPECT_EQ(named(host, "utun0").addresses.at(0).prefix, 32);
  EXPECT_EQ(named(host, "anpi0").kind, "virtual");
  EXPECT_EQ(named(host, "gif0").carrier, std::nullopt);
  EXPECT_EQ(named(host, "en1").kind, "wifi");
  EXPECT_FALSE(named(host, "en1").up);
  EXPECT_EQ(named(host, "en1").carrier, std::nullopt);  // switched off: nobody knows
}

TEST(Ifconfig, HalfDuplexVlanBondAndSpanningTree) {
  EXPECT_EQ(only("en5: flags=8863<UP,RUNNING> mtu 1500\n"
                 "\tmedia: autoselect (100baseTX <half-duplex>)\n\tstatus: active\n")
                .duplex,
            "half");
  EXPECT_EQ(only("en5: flags=8863<UP,RUNNING> mtu 9000\n\tmedia: 2500Base-T <full-duplex>\n"
                 "\tstatus: active\n")
                .speed_bps,
            2'500'000'000);
  EXPECT_EQ(only("en5: flags=8863<UP> mtu 1500\n\tmedia: 1000baseT <full-duplex>\n"
                 "\tstatus: inactive\n")
                .speed_bps,
            std::nullopt);
  const auto vlan = only("vlan0: flags=8843<UP> mtu 1500\n\tvlan: 5 parent interface: en0\n");
  EXPECT_EQ(vlan.kind, "vlan");
  EXPECT_EQ(vlan.parent, "en0");
  HostEvidence host;
  ASSERT_TRUE(
      parse_ifconfig("bond0: flags=8843<UP> mtu 1500\n\tbond interfaces: en1 en2\n"
                     "bridge1: flags=8843<UP> mtu 1500\n"
                     "\tmember: en3 flags=40b<LEARNING,DISCOVER,STP,PRIVATE>\n"
                     "\t        ifmaxaddr 0 port 8 priority 128 path cost 4\n"
                     "\t        role alternate state discarding\n"
                     "en1: flags=8843<UP> mtu 1500\nen3: flags=8843<UP,NOARP> mtu 1500\n",
                     host));
  EXPECT_EQ(named(host, "en1").master_kind, "bond");
  EXPECT_EQ(named(host, "en3").port_state, "discarding");
  EXPECT_TRUE(named(host, "en3").isolated);
  EXPECT_FALSE(named(host, "en3").arp);
}

TEST(Ifconfig, AddressesThatMakeNoSenseAreLeftOut) {
  const auto card = only(
      "en5: flags=8863<UP,RUNNING> mtu 99999999999999999999\n"
      "\tinet 10.0.0.1 netmask 0xff00ff00\n\tinet 10.0.0.2 netmask 0xfffffffff\n"
      "\tinet 300.0.0.1 netmask 0xff000000\n\tinet fe80::1 netmask 0xff000000\n"
      "\tinet6 10.0.0.3 prefixlen 64\n\tinet6 fe80::1 prefixlen 200\n\tinet6 fe80::1\n\tinet\n"
      "\tinet 10.0.0.4 netmask 255.255.0.0\n\tinet 10.0.0.5/33\n\tinet 10.0.0.6/8\n"
      "\tinet6 fe80::2%en5 prefixlen 64 duplicated\n");
  EXPECT_EQ(card.mtu, 0);
  ASSERT_EQ(card.addresses.size(), 3U);
  EXPECT_EQ(card.addresses[0].prefix, 16);
  EXPECT_EQ(card.addresses[1].prefix, 8);
  EXPECT_THAT(card.addresses[2].flags, ElementsAre("dadfailed"));
}

TEST(Ifconfig, NothingKnownIsAnError) {
  HostEvidence host;
  EXPECT_FALSE(parse_ifconfig("", host));
  EXPECT_FALSE(parse_ifconfig("eth0      Link encap:Ethernet  HWaddr 00:00\n", host));
  EXPECT_THAT(host.interfaces, IsEmpty());
}

TEST(NetstatInterfaces, CountersAreReadFromTheEnd) {
  const HostEvidence host = recorded();
  EXPECT_EQ(named(host, "en2").counters.at("rx_errors"), 3);
  EXPECT_EQ(named(host, "en2").counters.at("tx_errors"), 1);
  EXPECT_EQ(named(host, "en2").counters.at("tx_dropped"), 2);
  EXPECT_EQ(named(host, "lo0").counters.at("rx_packets"), 5120);  // no hardware address
  EXPECT_EQ(named(host, "gif0").index, 2);                        // "gif0*"
  EXPECT_EQ(named(host, "en0").counters.at("rx_bytes"), 81234567);
}

TEST(NetstatInterfaces, WithoutTitlesNothingIsGuessed) {
  HostEvidence host;
  ASSERT_TRUE(parse_ifconfig("en5: flags=8863<UP> mtu 1500\n", host));
  EXPECT_FALSE(parse_netstat_interfaces("en5 1500 <Link#4> 1 2 3 4 5 6 7 8\n", host));
  EXPECT_THAT(host.interfaces[0].counters, IsEmpty());
  ASSERT_TRUE(
      parse_netstat_interfaces("Name Mtu Network Address Ipkts Ierrs Opkts Oerrs Coll\n"
                               "en5 1500 <Link#4> a:b:c 7 1 - 99999999999999999999 0\n",
                               host));
  EXPECT_EQ(host.interfaces[0].counters.at("rx_errors"), 1);
  EXPECT_EQ(host.interfaces[0].counters.count("tx_packets"), 0U);
  EXPECT_EQ(host.interfaces[0].counters.count("tx_errors"), 0U);
}

TEST(HardwarePorts, TranslatedAndUnknownOnes) {
  HostEvidence host;
  ASSERT_TRUE(
      parse_ifconfig("en0: flags=8863<UP> mtu 1500\nen1: flags=8863<UP> mtu 1500\n"
                     "en2: flags=8863<UP> mtu 1500\nen3: flags=8863<UP> mtu 1500\n"
                     "en4: flags=8863<UP> mtu 1500\nbridge0: flags=8863<UP> mtu 1500\n",
                     host));
  ASSERT_TRUE(parse_hardware_ports(
      "Hardwareport: WLAN\nGer\xc3\xa4t: en0\nEthernet-Adresse: 00:00:00:00:00:01\n\n"
      "Hardwareport: Thunderbolt-Anschluss 1\nGer\xc3\xa4t: en1\n\n"
      "Hardware Port: Thunderbolt Ethernet Slot 1\nDevice: en2\n\n"
      "Hardware Port: iPhone USB\nDevice: en3\n\nHardware Port: USB 10/100/1000 LAN\n"
      "Device: en4\r\n\nHardware Port: Thunderbolt Bridge\nDevice: bridge0\n\n"
      "Hardware Port: Wi-Fi\nDevice: en99\nDevice\n\n: \n",
      host));
  EXPECT_EQ(named(host, "en0").kind, "wifi");
  EXPECT_EQ(named(host, "en1").kind, "thunderbolt");
  EXPECT_EQ(named(host, "en2").kind, "ethernet");
  EXPECT_EQ(named(host, "en3").kind, "unknown");
  EXPECT_EQ(named(host, "en4").kind, "ethernet");
  EXPECT_EQ(named(host, "bridge0").kind, "bridge");
}

TEST(Thunderbolt, TheSpeedOfTheOnlyLink) {
  HostEvidence host = recorded();
  ASSERT_TRUE(
      parse_thunderbolt_profile(test::sample("macos/system_profiler_thunderbolt.txt"), host));
  EXPECT_EQ(named(host, "en2").speed_bps, 80'000'000'000);
  EXPECT_EQ(named(host, "en3").speed_bps, std::nullopt);
  EXPECT_FALSE(host.rdma);  // Thunderbolt 5 may well
}

std::string bus(const std::string& speed, const std::string& items,
                const std::string& status = "receptacle_connected") {
  return R"({"_name":"b","receptacle_1_tag":{"current_speed_key":")" + speed +
         R"(","receptacle_status_key":")" + status + "\"},\"_items\":" + items + "}";
}

Expected<HostEvidence> profile(const std::string& buses) {
  HostEvidence host = recorded();
  const Status status =
      parse_thunderbolt_profile("{\"SPThunderboltDataType\":" + buses + "}", host);
  if (!status) return fail(status.error());
  return host;
}

TEST(Thunderbolt, TwoLinksOfDifferentSpeedAreAmbiguous) {
  const std::string mac = R"([{"domain_uuid_key":"B"}])";
  const auto host = profile("[" + bus("80 Gb/s", mac) + "," + bus("40 Gb/s", mac) + "]");
  ASSERT_TRUE(host);
  EXPECT_EQ(named(*host, "en2").speed_bps, std::nullopt);
  const auto same = profile("[" + bus("40 Gb/s", mac) + "," + bus("40 Gb/s", mac) + "]");
  EXPECT_EQ(named(*same, "en2").speed_bps, 40'000'000'000);
}

TEST(Thunderbolt, AMacBehindAHubIsFoundAndADockIsNone) {
  const auto hub = profile("[" + bus("40 Gb/s", R"([{"_items":[{"domain_uuid_key":"B"}]}])") + "]");
  EXPECT_EQ(named(*hub, "en2").speed_bps, 40'000'000'000);
  const auto dock = profile("[" + bus("40 Gb/s", R"([{"_name":"dock"}])") + "]");
  EXPECT_EQ(named(*dock, "en2").speed_bps, std::nullopt);
}

TEST(Thunderbolt, OldHardwareCannotDoRdma) {
  const auto idle =
      profile("[" + bus("Up to 40 Gb/s", "[]", "receptacle_no_devices_connected") + "]");
  ASSERT_TRUE(idle && idle->rdma);
  EXPECT_EQ(idle->rdma->hardware,
            "the Thunderbolt ports of this Mac do 40 Gb/s at most; RDMA needs Thunderbolt 5");
  const auto linked = profile("[" + bus("40 Gb/s", "[]") + "]");
  ASSERT_TRUE(linked && linked->rdma);
  EXPECT_THAT(linked->rdma->hardware, ::testing::HasSubstr("in both Macs and in the cable"));
}

TEST(Thunderbolt, MissingKeysAndWrongTypesTellNothing) {
  for (const char* buses :
       {"[]", "{}", "null", "[1,null,\"x\",[]]", "[{}]", R"([{"receptacle_1_tag":7}])",
        R"([{"receptacle_1_tag":{"current_speed_key":80}}])",
        R"([{"receptacle_1_tag":{"current_speed_key":"99999999999999999999 Gb/s"}}])",
        R"([{"receptacle_1_tag":{"current_speed_key":"schnell"},"_items":{"a":[]}}])"}) {
    const auto host = profile(buses);
    ASSERT_TRUE(host) << buses;
    EXPECT_FALSE(host->rdma) << buses;
    EXPECT_EQ(named(*host, "en2").speed_bps, std::nullopt) << buses;
  }
  HostEvidence host;
  EXPECT_FALSE(parse_thunderbolt_profile("", host));
  EXPECT_FALSE(parse_thunderbolt_profile("[]", host));
  EXPECT_FALSE(parse_thunderbolt_profile("{\"SPThunderboltDataType\":[", host));
}

TEST(Thunderbolt, DeepNestingIsBounded) {
  std::string items = "[]";
  for (int i = 0; i < 20'000; ++i) items = "[{\"_items\":" + items + "}]";
  EXPECT_TRUE(profile("[" + bus("40 Gb/s", items) + "]"));
}

}  // namespace
}  // namespace plumbline
