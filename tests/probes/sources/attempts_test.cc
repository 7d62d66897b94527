#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/sources/collected.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = SourceOutput::State;

CollectedSection section(const std::string& out, const std::string& errors = "",
                         State state = State::kRead) {
  CollectedSection s;
  s.args = {"10.10.0.2", "29600"};
  s.output.text = out;
  s.output.state = state;
  s.output.why = state == State::kFailed ? "ended with status 1" : "";
  s.errors = errors;
  return s;
}

TEST(Ping, LinuxAndMacos) {
  const auto linux = parse_ping(
      section("PING 10.10.0.2 (10.10.0.2) 56(84) bytes of data.\n"
              "64 bytes from 10.10.0.2: icmp_seq=1 ttl=64 time=0.059 ms\n"
              "64 bytes from 10.10.0.2: icmp_seq=1 ttl=64 time=0.070 ms (DUP!)\n"
              "64 bytes from 10.10.0.2: icmp_seq=3 ttl=64 time=12.5 ms\n\n"
              "--- 10.10.0.2 ping statistics ---\n"
              "3 packets transmitted, 2 received, +1 duplicates, 33.3333% packet loss, time 604ms\n"
              "rtt min/avg/max/mdev = 0.046/0.053/0.059/0.005 ms\n"));
  EXPECT_EQ(linux.sent, 3);
  EXPECT_EQ(linux.received, 2);
  EXPECT_EQ(linux.duplicates, 1);
  EXPECT_THAT(linux.rtt_ns, ElementsAre(59000, 12500000));
  EXPECT_THAT(linux.errors, IsEmpty());
  const auto macos =
      parse_ping(section("PING 10.10.0.2 (10.10.0.2): 56 data bytes\n"
                         "64 bytes from 10.10.0.2: icmp_seq=0 ttl=64 time=0.412 ms\n"
                         "Request timeout for icmp_seq 1\n\n"
                         "--- 10.10.0.2 ping statistics ---\n"
                         "3 packets transmitted, 1 packets received, 66.7% packet loss\n"));
  EXPECT_EQ(macos.sent, 3);
  EXPECT_EQ(macos.received, 1);
  EXPECT_THAT(macos.rtt_ns, ElementsAre(412000));
}

TEST(Ping, TellsWhoAnsweredWithAnError) {
  EXPECT_THAT(parse_ping(section("From 10.10.0.1 icmp_seq=1 Destination Host Unreachable\n"
                                 "From 10.10.0.1 icmp_seq=2 Destination Host Unreachable\n"
                                 "2 packets transmitted, 0 received, +2 errors, 100% packet loss\n",
                                 "", State::kFailed))
                  .errors,
              ElementsAre("from 10.10.0.1: Destination Host Unreachable"));
  EXPECT_THAT(parse_ping(section("92 bytes from 10.10.0.9: Communication prohibited by filter\n"
                                 "2 packets transmitted, 0 packets received\n"))
                  .errors,
              ElementsAre("from 10.10.0.9: Communication prohibited by filter"));
}

TEST(Ping, SaysWhenNothingCouldBeSent) {
  EXPECT_EQ(parse_ping(section("", "ping: connect: Network is unreachable\n", State::kFailed))
                .unavailable,
            "ping: connect: Network is unreachable");
  EXPECT_EQ(parse_ping(section("", "", State::kFailed)).unavailable, "ping did not end in time");
  auto absent = section("", "", State::kAbsent);
  absent.output.why = "there is no ping";
  EXPECT_EQ(parse_ping(absent).unavailable, "there is no ping");
}

TEST(Ping, SurvivesNonsense) {
  const auto ping = parse_ping(section(
      "packets transmitted\n99999999999999999999 packets transmitted, -5 received\n"
      "-7 packets transmitted, 99999999 received\nbytes from time=nan ms\nbytes from time=1e99\n"
      "bytes from time=-3\nFrom \nFrom x unreachable\nfrom unreachable\n"));
  EXPECT_EQ(ping.sent, 0);
  EXPECT_EQ(ping.received, 1000);
  EXPECT_THAT(ping.rtt_ns, IsEmpty());
}

TEST(LargePing, TellsDeliveredLostAndTold) {
  auto s = section("2 packets transmitted, 2 received\n");
  s.args = {"10.10.0.2", "9000"};
  EXPECT_EQ(parse_large_ping(s).largest_delivered, 9000);
  EXPECT_EQ(parse_large_ping(s).interface_mtu, 9000);
  s.output.text = "2 packets transmitted, 0 received, 100% packet loss\n";
  EXPECT_EQ(parse_large_ping(s).smallest_lost, 9000);
  s.output.text =
      "From 10.0.0.1 icmp_seq=1 Frag needed and DF set (mtu = 1400)\n"
      "2 packets transmitted, 0 received, +1 errors\n";
  EXPECT_EQ(parse_large_ping(s).told, 1400);
  EXPECT_EQ(parse_large_ping(s).smallest_lost, 0);
  s.errors = "ping: local error: message too long, mtu=1280\n";
  s.output.text = "2 packets transmitted, 0 received, +2 errors\n";
  EXPECT_EQ(parse_large_ping(s).told, 1280);
  s.errors = "mtu mtu= mtu=999999 mtu";
  EXPECT_EQ(parse_large_ping(s).told, 0);
  s.args = {"10.10.0.2", "-9"};
  EXPECT_EQ(parse_large_ping(s).interface_mtu, 0);
}

std::string result_of(const std::string& errors, State state = State::kFailed) {
  return parse_connect(section("", errors, state)).result;
}

TEST(Connect, KnowsTheWordsOfSeveralTools) {
  EXPECT_EQ(result_of("Connection to 10.10.0.2 29600 port [tcp/*] succeeded!", State::kRead),
            "connected");
  EXPECT_EQ(result_of("nc: connect to 10.10.0.2 port 29600 (tcp) failed: Connection refused"),
            "refused");
  EXPECT_EQ(result_of("nc: connectx to 10.10.0.2 port 29600 (tcp) failed: Connection refused"),
            "refused");
  EXPECT_EQ(result_of("(UNKNOWN) [10.10.0.2] 29600 (?) : Connection refused"), "refused");
  EXPECT_EQ(result_of("nc: connect to 10.10.0.2 port 29600 (tcp) timed out: Operation now in "
                      "progress"),
            "timeout");
  EXPECT_EQ(result_of("Ncat: TIMEOUT."), "timeout");
  EXPECT_EQ(result_of("bash: connect: No route to host\nbash: line 1: /dev/tcp/10.10.0.2/29600: No "
                      "route to host"),
            "unreachable");
  EXPECT_EQ(result_of("Ncat: Network is unreachable."), "unreachable");
  EXPECT_EQ(result_of("bash: connect: Operation not permitted"), "denied");
  EXPECT_EQ(result_of(""), "timeout");
  EXPECT_EQ(result_of("nc: invalid option -- 'z'"), "error");
  EXPECT_EQ(result_of("nc: connect to 10.10.0.2: Verbindungsaufbau abgelehnt"), "error");
  EXPECT_EQ(result_of("", State::kAbsent), "not_tried");
  EXPECT_EQ(parse_connect(section("", "Connection refused", State::kFailed)).error, "ECONNREFUSED");
  EXPECT_EQ(parse_connect(section("", "", State::kRead)).port, 29600);
  auto odd = section("", "");
  odd.args = {"10.10.0.2", "70000"};
  EXPECT_EQ(parse_connect(odd).port, 0);
}

TEST(RouteGet, Linux) {
  auto s = section(R"([{"dst":"10.10.0.2","dev":"v0","prefsrc":"10.10.0.1","flags":[],"uid":0}])");
  s.command = "ip -j route get 10.10.0.2";
  EXPECT_EQ(parse_route_get(s).dev, "v0");
  EXPECT_EQ(parse_route_get(s).source, "10.10.0.1");
  EXPECT_EQ(parse_route_get(s).type, "unicast");
  EXPECT_EQ(parse_route_get(s).error, "");
  s.output.text = "10.10.0.2 dev v0";
  EXPECT_EQ(parse_route_get(s).error, "unreadable");
  s.output.state = State::kFailed;
  s.errors = "RTNETLINK answers: Network is unreachable\n";
  EXPECT_EQ(parse_route_get(s).error, "ENETUNREACH");
  s.errors = "RTNETLINK answers: Invalid argument\n";
  EXPECT_EQ(parse_route_get(s).error, "EINVAL");
}

TEST(RouteGet, Macos) {
  auto s = section(
      "   route to: 10.10.0.2\ndestination: 10.10.0.0\n       mask: 255.255.255.0\n"
      "    gateway: link#18\n  interface: bridge0\n      flags: <UP,DONE,CLONING>\n");
  s.command = "route -n get 10.10.0.2";
  EXPECT_EQ(parse_route_get(s).dev, "bridge0");
  EXPECT_EQ(parse_route_get(s).via, "");
  s.output.text = "    gateway: 192.168.4.1\n  interface: en0\n      flags: <UP,GATEWAY,REJECT>\n";
  EXPECT_EQ(parse_route_get(s).via, "192.168.4.1");
  EXPECT_EQ(parse_route_get(s).type, "unreachable");
  s.output.text = "";
  EXPECT_EQ(parse_route_get(s).error, "ENETUNREACH");
  s.output.state = State::kFailed;
  s.errors = "route: writing to routing socket: not in table\n";
  EXPECT_EQ(parse_route_get(s).error, "ENETUNREACH");
}

TEST(Resolve, GetentAndDscacheutil) {
  auto s =
      section("10.10.0.1       STREAM host1\n10.10.0.1       DGRAM\nfd00::1 STREAM\nnonsense\n");
  s.args = {"host1"};
  const auto name = parse_resolve(s);
  EXPECT_EQ(name.name, "host1");
  EXPECT_EQ(name.role, "own");
  EXPECT_THAT(name.v4, ElementsAre("10.10.0.1"));
  EXPECT_THAT(name.v6, ElementsAre("fd00::1"));
  s.output.text = "name: host1.local\nipv6_address: fe80::1\nip_address: 10.10.0.1\n";
  EXPECT_THAT(parse_resolve(s).v4, ElementsAre("10.10.0.1"));
  EXPECT_THAT(parse_resolve(s).v6, ElementsAre("fe80::1"));
  s.output.text = "";
  EXPECT_EQ(parse_resolve(s).error, "no address");
}

}  // namespace
}  // namespace plumbline
