#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "probes/sources/parsers.h"
#include "sample.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const InterfaceEvidence& get(const HostEvidence& host, const std::string& name) {
  for (const InterfaceEvidence& interface : host.interfaces) {
    if (interface.name == name) return interface;
  }
  throw std::runtime_error("no interface " + name);
}

HostEvidence one_link(const std::string& fields) {
  HostEvidence host;
  const std::string text = R"([{"ifname":"x0","ifindex":7,)" + fields + "}]";
  EXPECT_TRUE(parse_ip_addr(text, host)) << text;
  return host;
}

TEST(IpAddr, ReadsARecordedHost) {
  HostEvidence host;
  ASSERT_TRUE(parse_ip_addr(test::sample("ip_addr.json"), host));
  EXPECT_THAT(host.interfaces, SizeIs(11));
  const auto& lo = get(host, "lo");
  EXPECT_EQ(lo.kind, "loopback");
  EXPECT_EQ(lo.mac, "");
  EXPECT_EQ(lo.mtu, 65536);
  const auto& v0 = get(host, "v0");
  EXPECT_EQ(v0.kind, "veth");
  EXPECT_EQ(v0.index, 2);
  EXPECT_TRUE(v0.up);
  EXPECT_EQ(v0.carrier, true);
  EXPECT_EQ(v0.state, "UP");
  EXPECT_EQ(v0.parent, "");  // its peer is no lower interface
  EXPECT_EQ(v0.carrier_changes, 2);
  EXPECT_EQ(v0.counters.count("rx_packets"), 1U);
  EXPECT_EQ(v0.counters.count("tx_errors"), 1U);
  ASSERT_THAT(v0.addresses, SizeIs(2));
  EXPECT_EQ(v0.addresses[0].ip, "10.10.0.1");
  EXPECT_EQ(v0.addresses[0].prefix, 24);
  EXPECT_EQ(v0.addresses[0].scope, "global");
  EXPECT_EQ(v0.addresses[1].scope, "link");
  EXPECT_EQ(get(host, "br0").kind, "bridge");
  EXPECT_EQ(get(host, "vx0").kind, "tunnel");
  EXPECT_EQ(get(host, "vx0").parent, "d0");
  EXPECT_EQ(get(host, "tun9").kind, "tunnel");
  EXPECT_FALSE(get(host, "tun9").arp);
  EXPECT_EQ(get(host, "tap9").kind, "virtual");
  EXPECT_EQ(get(host, "mv0").kind, "virtual");
  EXPECT_EQ(get(host, "mv0").parent, "d0");
  EXPECT_FALSE(get(host, "mv0").up);
  EXPECT_EQ(get(host, "mv0").carrier, std::nullopt);
  EXPECT_THAT(get(host, "d0").addresses[1].flags, ElementsAre("secondary"));
  EXPECT_TRUE(host.forwarding_loops.empty());
}

TEST(IpAddr, ReadsBridgePorts) {
  HostEvidence host;
  ASSERT_TRUE(parse_ip_addr(test::sample("ip_addr.json"), host));
  const auto& port = get(host, "p0");
  EXPECT_EQ(port.master, "br0");
  EXPECT_EQ(port.master_kind, "bridge");
  EXPECT_EQ(port.port_state, "forwarding");
  EXPECT_TRUE(port.isolated);
  EXPECT_FALSE(port.promiscuous);  // that its bridge counts it is not a user's wish
  EXPECT_EQ(get(host, "p1").master, "");
}

TEST(IpAddr, KnowsKinds) {
  const auto kind = [](const std::string& type, const std::string& info) {
    const std::string linkinfo = info.empty() ? "" : R"(,"linkinfo":{"info_kind":")" + info + "\"}";
    return one_link(R"("link_type":")" + type + "\"" + linkinfo).interfaces.at(0).kind;
  };
  EXPECT_EQ(kind("ether", ""), "ethernet");
  EXPECT_EQ(kind("ether", "bond"), "bond");
  EXPECT_EQ(kind("ether", "vlan"), "vlan");
  EXPECT_EQ(kind("none", "wireguard"), "tunnel");
  EXPECT_EQ(kind("ether", "dummy"), "virtual");
  EXPECT_EQ(kind("ether", "something_new"), "virtual");
  EXPECT_EQ(kind("none", ""), "tunnel");
  EXPECT_EQ(kind("infiniband", ""), "unknown");
}

TEST(IpAddr, TellsUpFromCarrier) {
  EXPECT_EQ(one_link(R"("flags":["UP","NO-CARRIER"])").interfaces[0].carrier, false);
  EXPECT_EQ(one_link(R"("flags":["UP"])").interfaces[0].carrier, false);
  EXPECT_EQ(one_link(R"("flags":["UP","LOWER_UP"])").interfaces[0].carrier, true);
  EXPECT_EQ(one_link(R"("flags":["LOWER_UP"])").interfaces[0].carrier, std::nullopt);
  EXPECT_TRUE(one_link(R"("flags":["UP","PROMISC","NOARP"])").interfaces[0].promiscuous);
  EXPECT_TRUE(one_link(R"("xdp":{"mode":1,"prog":{"id":3}})").interfaces[0].xdp);
  EXPECT_FALSE(one_link(R"("mtu":1)").interfaces[0].xdp);
}

TEST(IpAddr, SurvivesStrangeTypes) {
  const auto host = one_link(
      R"("mtu":"big","flags":"UP","operstate":4,"stats64":[1],"linkinfo":7,"xdp":"on","addr_info":[1,
         {"local":5},{"local":"10.0.0.1","prefixlen":999999999999,"scope":null},
         {"family":"inet6","local":"fd00::1","prefixlen":-4}])");
  ASSERT_THAT(host.interfaces, SizeIs(1));
  ASSERT_THAT(host.interfaces[0].addresses, SizeIs(2));
  EXPECT_EQ(host.interfaces[0].addresses[0].prefix, 32);
  EXPECT_EQ(host.interfaces[0].addresses[1].prefix, 0);
}

TEST(IpAddr, RefusesWhatIsNoJson) {
  const std::string whole = test::sample("ip_addr.json");
  for (const std::string& text :
       {whole.substr(0, whole.size() / 2), std::string("1: lo: <LOOPBACK,UP> mtu 65536"),
        std::string("{}"), std::string("\"text\""), std::string("[{\"ifname\":\"\xff\"}]")}) {
    HostEvidence host;
    const auto status = parse_ip_addr(text, host);
    EXPECT_FALSE(status) << text.substr(0, 40);
    EXPECT_TRUE(host.interfaces.empty());
  }
  HostEvidence host;
  EXPECT_TRUE(parse_ip_addr("[{},{\"ifname\":\"\"},4]", host));  // iproute2 prints {} now and then
  EXPECT_TRUE(host.interfaces.empty());
}

// A veth pair between two bridges: PORT of BRIDGE, and its PEER.
std::string port(const std::string& name, const std::string& peer, const std::string& bridge,
                 const std::string& state = "forwarding", const std::string& more = "") {
  return R"({"ifname":")" + name + R"(","link":")" + peer + R"(","master":")" + bridge +
         R"(","linkinfo":{"info_kind":"veth","info_slave_kind":"bridge","info_slave_data":{"state":")" +
         state + "\"}}" + more + "}";
}

TEST(BridgeLoops, FindsTwoWaysBetweenBridges) {
  const std::string first = port("a1", "b1", "br0") + "," + port("b1", "a1", "br1");
  const std::string second = port("a2", "b2", "br0") + "," + port("b2", "a2", "br1");
  EXPECT_TRUE(bridge_loops("[" + first + "]").empty());
  const auto loops = bridge_loops("[" + first + "," + second + "]");
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_THAT(loops[0], HasSubstr("a2 and b2"));
}

TEST(BridgeLoops, FindsABridgeWiredToItselfAndATriangle) {
  EXPECT_THAT(bridge_loops("[" + port("a", "b", "br0") + "," + port("b", "a", "br0") + "]"),
              ElementsAre(HasSubstr("wired to itself")));
  const std::string triangle = port("a", "b", "x") + "," + port("b", "a", "y") + "," +
                               port("c", "d", "y") + "," + port("d", "c", "z") + "," +
                               port("e", "f", "z") + "," + port("f", "e", "x");
  EXPECT_THAT(bridge_loops("[" + triangle + "]"), SizeIs(1));
}

TEST(BridgeLoops, SpanningTreeAndForeignPeersAreNoLoop) {
  const std::string first = port("a1", "b1", "br0") + "," + port("b1", "a1", "br1");
  const std::string blocked = port("a2", "b2", "br0") + "," + port("b2", "a2", "br1", "blocking");
  EXPECT_TRUE(bridge_loops("[" + first + "," + blocked + "]").empty());
  // The peer "b2" is one of another namespace, which happens to have the same name.
  const std::string foreign =
      port("a2", "b2", "br0", "forwarding", R"(,"link_netnsid":0)") + "," + port("b2", "a2", "br1");
  EXPECT_TRUE(bridge_loops("[" + first + "," + foreign + "]").empty());
  EXPECT_TRUE(bridge_loops("nonsense").empty());
}

// ---- /sys/class/net ----

HostEvidence card(const std::string& kind, int index, const std::string& mac) {
  HostEvidence host;
  InterfaceEvidence interface;
  interface.name = "x0";
  interface.kind = kind;
  interface.index = index;
  interface.mac = mac;
  host.interfaces.push_back(interface);
  return host;
}

const char* const kCard =
    "/sys/class/net/x0/ifindex:3\n/sys/class/net/x0/address:02:00:00:00:00:01\n"
    "/sys/class/net/x0/speed:10000\n/sys/class/net/x0/duplex:full\n"
    "/sys/class/net/x0/uevent:INTERFACE=x0\n";

TEST(SysClassNet, ReadsSpeedAndDuplex) {
  auto host = card("ethernet", 3, "02:00:00:00:00:01");
  const std::string text = std::string(kCard) + "/sys/class/net/x0/device/uevent:DRIVER=ixgbe\n";
  ASSERT_TRUE(parse_sys_class_net(text, host));
  EXPECT_EQ(host.interfaces[0].kind, "ethernet");
  EXPECT_EQ(host.interfaces[0].speed_bps, 10'000'000'000);
  EXPECT_EQ(host.interfaces[0].duplex, "full");
}

TEST(SysClassNet, KnowsWifiThunderboltAndNothingBehind) {
  auto host = card("ethernet", 3, "02:00:00:00:00:01");
  ASSERT_TRUE(parse_sys_class_net(std::string(kCard) + "/sys/class/net/x0/uevent:DEVTYPE=wlan\n" +
                                      "/sys/class/net/x0/device/uevent:DRIVER=iwlwifi\n",
                                  host));
  EXPECT_EQ(host.interfaces[0].kind, "wifi");
  host = card("ethernet", 3, "02:00:00:00:00:01");
  ASSERT_TRUE(parse_sys_class_net(
      std::string(kCard) + "/sys/class/net/x0/device/uevent:DRIVER=thunderbolt-net\n", host));
  EXPECT_EQ(host.interfaces[0].kind, "thunderbolt");
  host = card("ethernet", 3, "02:00:00:00:00:01");
  ASSERT_TRUE(parse_sys_class_net(kCard, host));
  EXPECT_EQ(host.interfaces[0].kind, "virtual");
  EXPECT_EQ(host.interfaces[0].speed_bps, std::nullopt);  // what a virtual one reports is invented
}

TEST(SysClassNet, IsNotBelievedAboutAnotherNamespace) {
  const std::string text = std::string(kCard) + "/sys/class/net/x0/device/uevent:DRIVER=ixgbe\n";
  for (auto host :
       {card("ethernet", 4, "02:00:00:00:00:01"), card("ethernet", 3, "02:00:00:00:00:02")}) {
    ASSERT_TRUE(parse_sys_class_net(text, host));
    EXPECT_EQ(host.interfaces[0].speed_bps, std::nullopt);
    EXPECT_EQ(host.interfaces[0].kind, "ethernet");
  }
}

TEST(SysClassNet, IgnoresNonsense) {
  for (const char* speed : {"-1", "0", "99999999999999999999", "fast", ""}) {
    auto host = card("ethernet", 3, "");
    ASSERT_TRUE(
        parse_sys_class_net(std::string("/sys/class/net/x0/ifindex:3\n") +
                                "/sys/class/net/x0/device/uevent:DRIVER=e1000\n" +
                                "/sys/class/net/x0/duplex:unknown\nno colon\n:\n/sys/x:1\n" +
                                "/sys/class/net/x0/speed:" + speed + "\n",
                            host));
    EXPECT_EQ(host.interfaces[0].speed_bps, std::nullopt) << speed;
    EXPECT_EQ(host.interfaces[0].duplex, "");
  }
}

}  // namespace
}  // namespace plumbline
