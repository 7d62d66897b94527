#include <gtest/gtest.h>

#include "probes/actions/host_state.h"

namespace plumbline {
namespace {

TEST(Counters, OfSnmp) {
  Counters out;
  parse_snmp(
      "Ip: Forwarding InReceives InDelivers\nIp: 1 200 150\n"
      "Tcp: MaxConn OutSegs\nTcp: -1 77\n"
      "TcpExt: ListenDrops TCPNew\nTcpExt: 3 4\n",
      out);
  EXPECT_EQ(out.at("ip.in_receives"), 200);
  EXPECT_EQ(out.at("ip.in_delivers"), 150);
  EXPECT_EQ(out.at("tcp.out_segments"), 77);
  EXPECT_EQ(out.at("tcp.listen_drops"), 3);
  EXPECT_EQ(out.at("TcpExt.TCPNew"), 4);
  EXPECT_EQ(out.at("Tcp.MaxConn"), -1);
}

TEST(Counters, BrokenTextIsLeftOut) {
  Counters out;
  for (const char* text : {"", "\n\n", "Ip: A B\nIp: 1\n", "Ip: A\nTcp: 1\n", "Ip A\nIp 1\n",
                           "Ip: A\n", "Ip: A\nIp: 1x\n", "Ip: A\nIp: 99999999999999999999999\n"}) {
    parse_snmp(text, out);
  }
  parse_snmp6("Ip6InReceives\nIp6InReceives x\nNoDigit 5\n 1 2 3\n", out);
  parse_net_devices("eth0: 1 2 3\n: \nInter-| Receive\n eth1:1 2 3 4 5 6 7 8 9 10 11 12 13 14\n",
                    out);
  EXPECT_TRUE(out.empty());
}

TEST(Counters, OfSnmp6AndDevices) {
  Counters out;
  parse_snmp6("Ip6InReceives                   \t12\nIcmp6InMsgs\t5\n", out);
  EXPECT_EQ(out.at("ip6.in_receives"), 12);
  EXPECT_EQ(out.at("Icmp6.InMsgs"), 5);
  parse_net_devices(
      "Inter-|   Receive                      |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets\n"
      "  eth0: 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25\n"
      "wl:a:1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
      out);
  EXPECT_EQ(out.at("if.eth0.rx_packets"), 11);
  EXPECT_EQ(out.at("if.eth0.rx_dropped"), 13);
  EXPECT_EQ(out.at("if.eth0.tx_packets"), 19);
  EXPECT_EQ(out.at("if.wl:a:1.rx_bytes"), 1);
}

TEST(Counters, OnlyWhatIsWanted) {
  // By our names, whatever the kernel's are.
  const auto wanted = [](std::string_view name) {
    return name == "tcp.out_segments" || name == "Icmp6.InMsgs" || name == "if.eth0.tx_bytes";
  };
  Counters out;
  parse_snmp("Tcp: OutSegs InSegs\nTcp: 77 78\nIp: Forwarding\nIp: 1\n", out, wanted);
  parse_snmp6("Ip6InReceives 12\nIcmp6InMsgs 5\n", out, wanted);
  parse_net_devices("eth0: 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25\n", out, wanted);
  EXPECT_EQ(out,
            (Counters{{"tcp.out_segments", 77}, {"Icmp6.InMsgs", 5}, {"if.eth0.tx_bytes", 18}}));
}

TEST(Counters, Difference) {
  const Counters out =
      counters_difference({{"a", 5}, {"b", 9}, {"gone", 1}}, {{"a", 8}, {"b", 3}, {"new", 7}});
  EXPECT_EQ(out, (Counters{{"a", 3}}));
}

TEST(Counters, OfThisHost) {
  const auto out = read_counters();
  if (!out) GTEST_SKIP() << out.error().message();
  EXPECT_GT(out->count("tcp.out_segments"), 0u);
  EXPECT_GT(out->count("ip.in_receives"), 0u);
}

}  // namespace
}  // namespace plumbline
