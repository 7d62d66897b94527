#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sources/parsers.h"
#include "sample.h"

namespace plumbline {
namespace {

const SocketEvidence* find_socket(const HostEvidence& host, int port, const std::string& ip) {
  for (const SocketEvidence& socket : host.sockets) {
    if (socket.port == port && socket.ip == ip) return &socket;
  }
  return nullptr;
}

TEST(NetstatSockets, OwnersInOneColumn) {
  HostEvidence host;
  ASSERT_TRUE(parse_netstat_sockets(test::sample("macos/netstat_sockets.txt"), host));
  const SocketEvidence* listener = find_socket(host, 29600, "10.10.0.2");
  ASSERT_NE(listener, nullptr);
  EXPECT_EQ(listener->state, "LISTEN");
  EXPECT_EQ(listener->protocol, "tcp");
  EXPECT_EQ(listener->process, "python3");
  EXPECT_EQ(listener->pid, 412);
  EXPECT_EQ(listener->peer, "");
  EXPECT_EQ(find_socket(host, 5000, "::")->process, "ControlCenter");
  EXPECT_EQ(find_socket(host, 8021, "fe80::1")->pid, 1);
  const SocketEvidence* browser = find_socket(host, 52000, "192.168.4.12");
  EXPECT_EQ(browser->process, "Google Chrome");
  EXPECT_EQ(browser->peer, "17.0.0.5:443");
  EXPECT_EQ(find_socket(host, 29601, "10.10.0.2")->state, "TIME-WAIT");
  EXPECT_EQ(find_socket(host, 29601, "10.10.0.2")->pid, 0);
}

TEST(NetstatSockets, OlderReleases) {
  HostEvidence host;
  ASSERT_TRUE(parse_netstat_sockets(
      "Proto Recv-Q Send-Q  Local Address  Foreign Address  (state)  rhiwat shiwat  pid  epid\n"
      "tcp4 0 0 *.22 *.* LISTEN 131072 131072 77 0\n"
      "tcp6 0 0 fe80::aede:48ff:.49152 *.* LISTEN 131072 131072 78 0\n"
      "tcp4 0 0 10.0.0.1.99999 *.* LISTEN 1 1 79 0\ntcp4 0 0\n"
      "tcp6 0 0 fe80::1%en0.22 fe80::2%en0.50000 SYN_RCVD 1 1 99999999999999999999 0\n",
      host));
  ASSERT_EQ(host.sockets.size(), 2U);
  EXPECT_EQ(host.sockets[0].ip, "0.0.0.0");
  EXPECT_EQ(host.sockets[0].pid, 77);
  EXPECT_EQ(host.sockets[1].state, "SYN-RECV");
  EXPECT_EQ(host.sockets[1].peer, "[fe80::2]:50000");
  EXPECT_EQ(host.sockets[1].pid, 0);
  HostEvidence none;
  ASSERT_TRUE(parse_netstat_sockets(
      "Proto Recv-Q Send-Q Local Address Foreign Address (state)\ntcp4 0 0 *.22 *.* LISTEN\n",
      none));
  EXPECT_EQ(none.sockets.at(0).pid, 0);
  EXPECT_FALSE(parse_netstat_sockets("tcp4 0 0 *.22 *.* LISTEN 1 1 77 0\n", none));
}

TEST(Lsof, CompletesWhatNetstatKnows) {
  HostEvidence host;
  ASSERT_TRUE(parse_netstat_sockets(test::sample("macos/netstat_sockets.txt"), host));
  const size_t before = host.sockets.size();
  find_socket(host, 29600, "10.10.0.2");
  for (SocketEvidence& socket : host.sockets) {
    socket.pid = 0;
    socket.process.clear();
  }
  ASSERT_TRUE(parse_lsof(test::sample("macos/lsof.txt"), host));
  EXPECT_EQ(find_socket(host, 29600, "10.10.0.2")->pid, 412);  // not its child, 413
  EXPECT_EQ(find_socket(host, 29600, "10.10.0.2")->process, "python3");
  EXPECT_EQ(find_socket(host, 5000, "::")->process, "ControlCenter");
  EXPECT_EQ(find_socket(host, 6463, "127.0.0.1")->process, "Some Helper");
  EXPECT_EQ(host.sockets.size(), before + 1);
}

TEST(Lsof, NonsenseIsLeftOut) {
  HostEvidence host;
  ASSERT_TRUE(
      parse_lsof("COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n(LISTEN)\n"
                 "x -1 u 5u IPv4 0x1 0t0 TCP *:22 (LISTEN)\n"
                 "x 5 u 5u IPv4 0x1 0t0 TCP *:99999 (LISTEN)\n"
                 "x 5 u 5u IPv4 0x1 0t0 TCP *:ssh (LISTEN)\n"
                 "x 5 u 5u IPv4 0x1 0t0 UDP *:22 (LISTEN)\n"
                 "x 5 u 5u IPv6 0x1 0t0 TCP [::1]:22 (LISTEN)\n",
                 host));
  ASSERT_EQ(host.sockets.size(), 1U);
  EXPECT_EQ(host.sockets[0].ip, "::1");
  EXPECT_FALSE(parse_lsof("lsof: WARNING: something\n", host));
  EXPECT_FALSE(parse_lsof("", host));
}

TEST(PsEtimes, AgesAndNames) {
  HostEvidence host;
  for (const int pid : {1, 412, 802, 9}) {
    SocketEvidence socket;
    socket.pid = pid;
    host.sockets.push_back(socket);
  }
  ASSERT_TRUE(
      parse_ps_etimes(test::sample("macos/ps.txt") + "9 1:2:3:4 x\n9 -5:00 x\n9\n9 60 x\n", host));
  EXPECT_EQ(host.sockets[0].age_s, 12 * 86400 + 3 * 3600 + 4 * 60 + 5);
  EXPECT_EQ(host.sockets[1].age_s, 90);
  EXPECT_EQ(host.sockets[1].process, "python3.12");
  EXPECT_EQ(host.sockets[2].age_s, 3723);
  EXPECT_EQ(host.sockets[3].age_s, std::nullopt);
  EXPECT_EQ(host.sockets[3].process, "");
}

}  // namespace
}  // namespace plumbline
