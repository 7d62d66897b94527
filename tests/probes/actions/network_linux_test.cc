// Connecting, echo, counters and captures against real packet filters, on two hosts of the test's
// own.
#include <gmock/gmock.h>

#include "actions/two_hosts.h"
#include "core/clock.h"
#include "core/command.h"
#include "probes/actions/connector.h"
#include "probes/actions/neighbour.h"
#include "probes/actions/ping.h"
#include "probes/evidence.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;
using test::kMustSucceedMs;
using test::kTwoHostsPort;
using test::nft;
using test::on_two_hosts;
using test::TwoHosts;

TEST(Network, HealthyPair) {
  const Json out = on_two_hosts("", [](TwoHosts& hosts) -> Json {
    const auto ask = [&hosts](const char* request, bool v6 = false) {
      return hosts.ask_a(request, TwoHosts::towards_b(v6, kMustSucceedMs));
    };
    Json all;
    all["connect"] = ask("connect");
    all["connect6"] = ask("connect", true);
    all["ping"] = ask("ping");
    all["ping6"] = ask("ping", true);
    all["route"] = ask("route");
    all["neighbour"] = ask("neighbour");
    all["neighbour6"] = ask("neighbour", true);
    all["heard"] = hosts.ask_b("listened", {{"id", "x"}});
    return all;
  });
  NEED_HOSTS(out);
  for (const char* which : {"connect", "connect6"}) {
    for (const Json& entry : out[which]["ports"]) EXPECT_EQ(entry["answer"], "ours") << out;
  }
  EXPECT_EQ(out["ping"]["received"], 4) << out["ping"];
  EXPECT_EQ(out["ping6"]["received"], 4) << out["ping6"];
  const auto route = out["route"].get<RouteLookup>();
  EXPECT_EQ(route.error, "");
  EXPECT_EQ(route.type, "unicast");
  EXPECT_EQ(route.dev, "cable0");
  EXPECT_EQ(route.via, "");
  EXPECT_EQ(route.table, "main");
  EXPECT_TRUE(route.with_source);
  for (const char* which : {"neighbour", "neighbour6"}) {
    const auto probe = out[which].get<NeighbourProbe>();
    EXPECT_TRUE(probe.on_link);
    EXPECT_EQ(probe.error, "");
    ASSERT_EQ(probe.macs.size(), 1u) << out[which];
    EXPECT_EQ(probe.method, "arp");
    EXPECT_EQ(probe.macs[0].size(), 17u);
    EXPECT_EQ(probe.kernel_mac, probe.macs[0]);
  }
  EXPECT_EQ(out["heard"]["accepted"].size(), 4u);
}

// What connecting says, by what the receiver's filter does to one of the two ports.
Json connect_behind(const std::string& rule, bool v6 = false) {
  return on_two_hosts(nft("input", rule), [v6](TwoHosts& hosts) {
    return hosts.ask_a("connect", TwoHosts::towards_b(v6, kMustSucceedMs))["ports"];
  });
}

// The kernel sends only so many ICMP errors at a time (icmp_ratelimit and its global limit), so
// that the first SYN may stay without one on a busy machine; the second goes out after a second.
Json connect_until_second_syn(const std::string& rule, bool v6 = false) {
  return on_two_hosts(nft("input", rule), [v6](TwoHosts& hosts) {
    Json params = TwoHosts::towards_b(v6);
    params["timeout_ms"] = 3500;
    return hosts.ask_a("connect", params)["ports"];
  });
}

TEST(Network, DropIsATimeout) {
  const Json out = connect_behind("tcp dport 29600 drop");
  NEED_HOSTS(out);
  EXPECT_EQ(out[0]["result"], "timeout");
  EXPECT_EQ(out[0]["error"], "ETIMEDOUT");
  EXPECT_TRUE(out[0]["icmp"].is_null());
  EXPECT_GT(out[0]["source_port"], 0);
  EXPECT_EQ(out[1]["answer"], "ours");
}

// A filter that knows a connection for a second after its last packet, and drops what it does not.
TEST(Network, AForgettingFilterKillsIdleConnections) {
  const std::string filter =
      "sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=1 "
      "net.netfilter.nf_conntrack_tcp_loose=0 2>/dev/null && " +
      nft("input",
          "ct state established accept; tcp flags & (syn | ack) == syn accept; "
          "meta l4proto tcp drop");
  const Json out = on_two_hosts(filter, [](TwoHosts& hosts) -> Json {
    Json params = TwoHosts::towards_b();
    params["timeout_ms"] = 1500;
    params["idle_ms"] = 10;
    const Json busy = hosts.ask_a("idle", params);
    params["idle_ms"] = 3500;
    return Json{{"busy", busy}, {"idle", hosts.ask_a("idle", params)}};
  });
  NEED_HOSTS(out);
  EXPECT_EQ(out["busy"]["answer"], "ours") << out;
  EXPECT_EQ(out["idle"]["result"], "timeout") << out;
}

TEST(Network, RejectWithResetLooksLikeNobody) {
  const Json out = connect_behind("tcp dport 29600 reject with tcp reset");
  NEED_HOSTS(out);
  EXPECT_EQ(out[0]["result"], "refused");
  EXPECT_TRUE(out[0]["icmp"].is_null());
}

TEST(Network, RejectWithIcmpIsToldWithItsSender) {
  struct Row {
    const char* code;
    int number;
    const char* result;
  };
  for (const Row& row :
       {Row{"port-unreachable", 3, "refused"}, Row{"admin-prohibited", 13, "unreachable"},
        Row{"host-unreachable", 1, "unreachable"}}) {
    const Json out = connect_until_second_syn(
        std::string("meta l4proto tcp ip protocol tcp tcp dport 29600 reject with icmp ") +
        row.code);
    NEED_HOSTS(out);
    EXPECT_EQ(out[0]["result"], row.result) << row.code;
    ASSERT_TRUE(out[0]["icmp"].is_object()) << out;
    EXPECT_EQ(out[0]["icmp"]["from"], "10.77.0.2");
    EXPECT_EQ(out[0]["icmp"]["type"], 3);
    EXPECT_EQ(out[0]["icmp"]["code"], row.number);
    EXPECT_LT(out[0]["took_ns"], 3300 * kMillisecond);
  }
}

TEST(Network, RejectWithIcmpv6) {
  const Json out =
      connect_until_second_syn("tcp dport 29600 reject with icmpv6 admin-prohibited", true);
  NEED_HOSTS(out);
  EXPECT_EQ(out[0]["result"], "unreachable");
  ASSERT_TRUE(out[0]["icmp"].is_object()) << out;
  EXPECT_EQ(out[0]["icmp"]["from"], "fd77::2");
  EXPECT_EQ(out[0]["icmp"]["type"], 1);
  EXPECT_EQ(out[0]["icmp"]["v6"], true);
}

TEST(Network, AnswersThatAreDroppedLeaveHalfOpenConnections) {
  const Json out = on_two_hosts(nft("output", "tcp sport 29600 drop"), [](TwoHosts& hosts) -> Json {
    const Json tried = hosts.ask_a("connect", TwoHosts::towards_b())["ports"];
    return Json{{"tried", tried}, {"heard", hosts.ask_b("listened", {{"id", "x"}})}};
  });
  NEED_HOSTS(out);
  EXPECT_EQ(out["tried"][0]["result"], "timeout");
  ASSERT_EQ(out["heard"]["half_open"].size(), 1u) << out;
  EXPECT_EQ(out["heard"]["half_open"][0]["peer_ip"], "10.77.0.1");
  EXPECT_EQ(out["heard"]["half_open"][0]["peer_port"], out["tried"][0]["source_port"]);
  EXPECT_EQ(out["heard"]["half_open"][0]["port"], kTwoHostsPort);
}

TEST(Network, PingThatIsRejected) {
  const Json out = on_two_hosts(
      nft("input", "ip protocol icmp icmp type echo-request reject with icmp admin-prohibited"),
      [](TwoHosts& hosts) { return hosts.ask_a("ping", TwoHosts::towards_b()); });
  NEED_HOSTS(out);
  EXPECT_EQ(out["received"], 0);
  EXPECT_EQ(out["sent"], 4);
  ASSERT_EQ(out["errors"].size(), 1u) << out;
  EXPECT_EQ(out["errors"][0], "from 10.77.0.2: administratively prohibited");
}

// In a network namespace, where sysfs tells of another one's interfaces.
TEST(Network, CountersTellHowOftenASignalCameOrWent) {
  const Json out = on_two_hosts("", [](TwoHosts& hosts) -> Json {
    const Json before = hosts.ask_b("counters", Json::object());
    if (!hosts.on_b("for s in down up down up; do ip link set cable1 $s || exit 1; done")) {
      return "ip link set failed";
    }
    const Json after = hosts.ask_b("counters", Json::object());
    const Json watched = hosts.ask_b("watch", Json::object());
    return Json{{"before", before}, {"after", after}, {"watched", watched}};
  });
  NEED_HOSTS(out);
  const char* name = "if.cable1.carrier_changes";
  EXPECT_EQ(out["after"].at(name).get<int64_t>() - out["before"].at(name).get<int64_t>(), 4) << out;
  EXPECT_EQ(out["watched"]["carrier_changes"]["cable1"], out["after"][name]);
}

TEST(Network, BurstCountersTellWhereSynsWent) {
  const Json out = on_two_hosts(nft("input", "tcp dport 29600 drop"), [](TwoHosts& hosts) -> Json {
    Json params = TwoHosts::towards_b();
    params["attempts"] = 25;
    const Json before = hosts.ask_b("counters", Json::object());
    const Json burst = hosts.ask_a("burst", params);
    const Json after = hosts.ask_b("counters", Json::object());
    return Json{{"burst", burst}, {"before", before}, {"after", after}};
  });
  NEED_HOSTS(out);
  const auto difference =
      counters_difference(out["before"].get<Counters>(), out["after"].get<Counters>());
  EXPECT_EQ(out["burst"]["attempts"], 25);
  EXPECT_GE(out["burst"]["counters"]["tcp.out_segments"], 25);
  EXPECT_GE(difference.at("if.cable1.rx_packets"), 25);
  EXPECT_GE(difference.at("ip.in_receives"), 25);
  EXPECT_LT(difference.at("ip.in_delivers"), 10);
}

TEST(Network, CaptureOnBothEnds) {
  const Json out = on_two_hosts(nft("input", "tcp dport 29600 drop"), [](TwoHosts& hosts) -> Json {
    const auto start = [](const char* own, const char* peer) {
      return Json{{"id", "c"},
                  {"own", {own}},
                  {"peers", {peer}},
                  {"ports", {kTwoHostsPort, kTwoHostsPort + 1}}};
    };
    Json all;
    all["a"] = hosts.ask_a("capture.start", start("10.77.0.1", "10.77.0.2"));
    all["b"] = hosts.ask_b("capture.start", start("10.77.0.2", "10.77.0.1"));
    hosts.ask_a("connect", TwoHosts::towards_b());
    const Json stop = {{"id", "c"}, {"settle_ms", 50}};
    all["here"] = hosts.ask_a("capture.stop", stop);
    all["there"] = hosts.ask_b("capture.stop", stop);
    return all;
  });
  NEED_HOSTS(out);
  if (!out["a"].value("running", false)) GTEST_SKIP() << out["a"].value("reason", "");
  for (const char* where : {"here", "there"}) {
    std::map<int, std::string> handshakes;
    for (const Json& flow : out[where]["summary"]["flows"]) {
      if (flow["protocol"] == "tcp") handshakes[flow["b_port"]] = flow["handshake"];
    }
    EXPECT_EQ(handshakes, (std::map<int, std::string>{{kTwoHostsPort, "no_answer"},
                                                      {kTwoHostsPort + 1, "complete"}}))
        << where << out[where];
  }
}

}  // namespace
}  // namespace plumbline
