#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sources/parsers.h"
#include "probes/sources/source.h"
#include "sample.h"

namespace plumbline {
namespace {

HostEvidence ss(const std::string& text) {
  HostEvidence host;
  EXPECT_TRUE(parse_ss(text, host));
  return host;
}

TEST(Ss, ReadsARecordedHost) {
  const auto host = ss(test::sample("ss.txt"));
  ASSERT_EQ(host.sockets.size(), 8U);
  EXPECT_EQ(host.sockets[0].protocol, "udp");
  EXPECT_EQ(host.sockets[0].port, 5353);
  EXPECT_EQ(host.sockets[0].state, "UNCONN");
  EXPECT_EQ(host.sockets[1].ip, "127.0.0.1");
  EXPECT_EQ(host.sockets[1].state, "LISTEN");
  EXPECT_EQ(host.sockets[1].process, "python3");
  EXPECT_EQ(host.sockets[1].pid, 18972);
  EXPECT_EQ(host.sockets[1].peer, "");
  EXPECT_EQ(host.sockets[2].state, "ESTABLISHED");
  EXPECT_EQ(host.sockets[2].peer, "127.0.0.1:32924");
  EXPECT_EQ(host.sockets[2].pid, 0);
  EXPECT_EQ(host.sockets[4].ip, "::1");
  EXPECT_EQ(host.sockets[5].ip, "::");
  EXPECT_EQ(host.sockets[5].port, 29600);
  EXPECT_EQ(host.sockets[6].peer, "[::1]:29600");
}

TEST(Ss, ReadsZonesAndMappedAddresses) {
  const auto host =
      ss("tcp LISTEN 0 5 127.0.0.53%lo:53 0.0.0.0:*\n"
         "tcp LISTEN 0 5 [fe80::1]%eth0:546 [::]:*\n"
         "tcp TIME-WAIT 0 0 [::ffff:10.0.0.1]:22 [::ffff:10.0.0.2]:4000\n");
  ASSERT_EQ(host.sockets.size(), 3U);
  EXPECT_EQ(host.sockets[0].ip, "127.0.0.53");
  EXPECT_EQ(host.sockets[1].ip, "fe80::1");
  EXPECT_EQ(host.sockets[2].state, "TIME-WAIT");
  EXPECT_EQ(host.sockets[2].peer, "[::ffff:10.0.0.2]:4000");
}

TEST(Ss, ProcessNamesMayHoldAnything) {
  const auto host =
      ss("tcp LISTEN 0 5 10.0.0.1:1 0.0.0.0:* users:((\"a b\",pid=12,fd=3))\n"
         "tcp LISTEN 0 5 10.0.0.1:2 0.0.0.0:* users:((\"x\",pid=-3,fd=3))\n"
         "tcp LISTEN 0 5 10.0.0.1:3 0.0.0.0:* users:((\"x\",pid=99999999999999999999,fd=3))\n"
         "tcp LISTEN 0 5 10.0.0.1:4 0.0.0.0:* users:((\"x\n");
  ASSERT_EQ(host.sockets.size(), 4U);
  EXPECT_EQ(host.sockets[0].process, "a b");
  EXPECT_EQ(host.sockets[0].pid, 12);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(host.sockets[i].pid, 0);
}

TEST(Ss, OfSeveralHoldersTheParentCounts) {
  const auto host =
      ss("tcp LISTEN 0 5 10.0.0.1:1 0.0.0.0:* users:((\"b\",pid=31,fd=3),(\"a\",pid=12,fd=3),"
         "(\"c\",pid=40,fd=3))\n");
  ASSERT_EQ(host.sockets.size(), 1U);
  EXPECT_EQ(host.sockets[0].process, "a");
  EXPECT_EQ(host.sockets[0].pid, 12);
}

TEST(Ss, NonsenseIsAnErrorAndEmptyIsNot) {
  HostEvidence host;
  EXPECT_FALSE(parse_ss("Netzid Status\nfoo bar\n", host));
  EXPECT_FALSE(parse_ss("tcp LISTEN 0 5 10.0.0.1:99999 0.0.0.0:*\n", host));
  EXPECT_FALSE(parse_ss("tcp LISTEN 0 5 :1 0.0.0.0:*\n", host));
  EXPECT_TRUE(parse_ss("", host));
  EXPECT_TRUE(parse_ss("\n \n", host));
  EXPECT_TRUE(host.sockets.empty());
}

TEST(ProcNet, AgreesWithSsOnTheSameHost) {
  HostEvidence host;
  ASSERT_TRUE(parse_proc_net_sockets(test::sample("proc_net.txt"), host));
  const auto other = ss(test::sample("ss.txt"));
  ASSERT_EQ(host.sockets.size(), other.sockets.size());
  for (const SocketEvidence& socket : host.sockets) {
    const auto same = [&](const SocketEvidence& o) {
      return o.protocol == socket.protocol && o.ip == socket.ip && o.port == socket.port &&
             o.state == socket.state && o.peer == socket.peer;
    };
    EXPECT_TRUE(std::any_of(other.sockets.begin(), other.sockets.end(), same))
        << socket.ip << ":" << socket.port << " " << socket.state << " " << socket.peer;
  }
}

TEST(ProcNet, IgnoresNonsense) {
  HostEvidence host;
  ASSERT_TRUE(parse_proc_net_sockets(
      "/proc/net/tcp: 0: 0100007F:1F90 00000000:0000 ZZ x\n"
      "/proc/net/tcp: 0: 0100007F 00000000:0000 0A\n/proc/net/tcp: 0: 0100007G:1F90 0:0 0A\n"
      "/proc/net/tcp: 0: 0100007F:FFFFFF 00000000:0000 0A\n/proc/net/tcp:\nx\n",
      host));
  ASSERT_EQ(host.sockets.size(), 1U);
  EXPECT_EQ(host.sockets[0].state, "?");
}

TEST(PsAges, GoToTheHolders) {
  auto host =
      ss("tcp LISTEN 0 5 10.0.0.1:1 0.0.0.0:* users:((\"a\",pid=12,fd=3))\n"
         "tcp LISTEN 0 5 10.0.0.1:2 0.0.0.0:*\n");
  ASSERT_TRUE(parse_ps_ages("   12  345 python3\n    0 7 x\n  13 -5 y\nPID ELAPSED\n", host));
  EXPECT_EQ(host.sockets[0].age_s, 345);
  EXPECT_EQ(host.sockets[1].age_s, std::nullopt);  // pid 0 is nobody
}

TEST(Sockets, OnlyThoseOfThePortsAndListenersAreKept) {
  auto host =
      ss("tcp LISTEN 0 5 10.0.0.1:22 0.0.0.0:*\n"
         "tcp ESTAB 0 0 10.0.0.1:22 10.0.0.9:5000\n"
         "tcp ESTAB 0 0 10.0.0.1:29600 10.0.0.9:5000\n"
         "tcp ESTAB 0 0 10.0.0.1:4000 [fd00::1]:29600\n"
         "udp UNCONN 0 0 10.0.0.1:53 0.0.0.0:*\n");
  keep_sockets_of_interest(host, {29600});
  ASSERT_EQ(host.sockets.size(), 4U);
  EXPECT_EQ(host.sockets[1].port, 29600);
  EXPECT_EQ(host.sockets[2].port, 4000);
}

}  // namespace
}  // namespace plumbline
