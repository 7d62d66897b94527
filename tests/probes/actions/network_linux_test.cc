// The actions against real packet filters, routes and links: two hosts in network namespaces of
// this test's own, joined by a cable of two virtual interfaces. Nothing outside them changes, and
// they end with the process that made them.
#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mutex>

#include "actions/support.h"
#include "core/clock.h"
#include "core/command.h"
#include "probes/actions/actions.h"
#include "probes/actions/burst.h"
#include "probes/actions/neighbour.h"
#include "probes/actions/ping_program.h"
#include "probes/evidence.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;
using test::in_namespace;

constexpr int kPort = 29600;

bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

// Host b: a thread with a namespace of its own, which runs what it is given.
class OtherHost {
 public:
  OtherHost() {
    std::promise<int> ready;
    thread_ = std::thread([this, &ready] {
      good_ = ::unshare(CLONE_NEWNET) == 0 && run("ip link set lo up");
      ready.set_value(::gettid());
      std::unique_lock lock(mutex_);
      while (!ending_) {
        if (job_) (*std::exchange(job_, nullptr))();
        changed_.notify_all();
        if (!job_ && !ending_) changed_.wait(lock);
      }
    });
    id_ = ready.get_future().get();
  }
  ~OtherHost() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  bool good() const { return good_; }
  int id() const { return id_; }
  void call(const std::function<void()>& job) {
    std::unique_lock lock(mutex_);
    job_ = &job;
    changed_.notify_all();
    changed_.wait(lock, [this] { return job_ == nullptr; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;
  bool ending_ = false, good_ = false;
  int id_ = 0;
  std::thread thread_;
};

struct TwoHosts {
  OtherHost b;
  std::unique_ptr<AgentSession> session_a, session_b;
  std::unique_ptr<HostAgent> agent_a, agent_b;

  bool up() {
    const std::string id = std::to_string(b.id());
    if (!b.good() || !run("ip link add cable0 type veth peer name cable1 && ip link set cable1 "
                          "netns " +
                          id +
                          " && ip addr add 10.77.0.1/24 dev cable0 && ip addr add "
                          "fd77::1/64 dev cable0 nodad && ip link set cable0 up")) {
      return false;
    }
    session_a = std::make_unique<AgentSession>();
    agent_a = make_in_process_agent("a", session_a->requests());
    bool good = false;
    b.call([&] {
      good =
          run("ip addr add 10.77.0.2/24 dev cable1 && ip addr add fd77::2/64 dev cable1 nodad "
              "&& ip link set cable1 up");
      session_b = std::make_unique<AgentSession>();
      agent_b = make_in_process_agent("b", session_b->requests());
    });
    return good && settled() && on_b("true") && listen();
  }
  // The kernel tells of a carrier up to a second later, and sends nothing before.
  static bool settled() {
    return run(
        "for i in $(seq 60); do ip -o link show dev cable0 | grep -q 'state UP' && exit 0; "
        "sleep 0.05; done; exit 1");
  }
  bool listen() {
    return ask_b("listen", {{"id", "x"},
                            {"addresses",
                             {{{"ip", "10.77.0.2"}, {"interface", "cable1"}},
                              {{"ip", "fd77::2"}, {"interface", "cable1"}}}},
                            {"ports", {kPort, kPort + 1}}})["ports"][0]["listener"] == "up";
  }
  bool on_b(const std::string& command) {
    bool good = false;
    b.call([&] { good = run(command); });
    return good;
  }
  Json ask_a(const std::string& request, const Json& params) {
    return answer(agent_a->call(request, params, Deadline::after_ms(15'000)));
  }
  Json ask_b(const std::string& request, const Json& params) {
    Json out;
    b.call([&] { out = answer(agent_b->call(request, params, Deadline::after_ms(15'000))); });
    return out;
  }
  static Json answer(const Expected<Json>& reply) {
    return reply ? *reply : Json{{"error", reply.error()}};
  }
  static Json towards_b(bool v6 = false) {
    return {{"from_ip", v6 ? "fd77::1" : "10.77.0.1"},
            {"interface", "cable0"},
            {"to_ip", v6 ? "fd77::2" : "10.77.0.2"},
            {"port", kPort},
            {"ports", {kPort, kPort + 1}},
            {"timeout_ms", 400},
            {"count", 4},
            {"interval_ms", 20}};
  }
};

// Runs `body` on the two hosts, after `setup_b` on b; skips the test where that is not possible.
Json on_two_hosts(const std::string& setup_b, const std::function<Json(TwoHosts&)>& body) {
  return in_namespace("", [&]() -> Json {
    TwoHosts hosts;
    if (!hosts.up()) return "two hosts joined by virtual interfaces cannot be made here";
    if (!setup_b.empty() && !hosts.on_b(setup_b)) return "cannot run on the other host: " + setup_b;
    return body(hosts);
  });
}

std::string nft(const std::string& hook, const std::string& rule) {
  return "nft 'table inet t { chain c { type filter hook " + hook + " priority 0; " + rule +
         "; }; }'";
}

#define NEED_HOSTS(result)                                                          \
  if ((result).is_null()) GTEST_SKIP() << "network namespaces cannot be made here"; \
  if ((result).is_string()) GTEST_SKIP() << (result).get<std::string>()

TEST(Network, HealthyPair) {
  const Json out = on_two_hosts("", [](TwoHosts& hosts) -> Json {
    Json all;
    all["connect"] = hosts.ask_a("connect", TwoHosts::towards_b());
    all["connect6"] = hosts.ask_a("connect", TwoHosts::towards_b(true));
    all["ping"] = hosts.ask_a("ping", TwoHosts::towards_b());
    all["ping6"] = hosts.ask_a("ping", TwoHosts::towards_b(true));
    all["route"] = hosts.ask_a("route", TwoHosts::towards_b());
    all["neighbour"] = hosts.ask_a("neighbour", TwoHosts::towards_b());
    all["neighbour6"] = hosts.ask_a("neighbour", TwoHosts::towards_b(true));
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

// What connecting says, by what the receiver's filter does.
Json connect_behind(const std::string& rule, bool v6 = false) {
  return on_two_hosts(nft("input", rule), [v6](TwoHosts& hosts) {
    return hosts.ask_a("connect", TwoHosts::towards_b(v6))["ports"];
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
  EXPECT_EQ(out["heard"]["half_open"][0]["port"], kPort);
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
      return Json{{"id", "c"}, {"own", {own}}, {"peers", {peer}}, {"ports", {kPort, kPort + 1}}};
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
    EXPECT_EQ(handshakes,
              (std::map<int, std::string>{{kPort, "no_answer"}, {kPort + 1, "complete"}}))
        << where << out[where];
  }
}

TEST(Network, SmallerMtuAtThePeer) {
  const Json out = on_two_hosts("ip link set cable1 mtu 1400", [](TwoHosts& hosts) -> Json {
    Json params = TwoHosts::towards_b();
    params["interface_mtu"] = 1500;
    params["transfer_bytes"] = 300'000;
    params["timeout_ms"] = 1500;
    return hosts.ask_a("mtu", params);
  });
  NEED_HOSTS(out);
  const auto mtu = out.get<MtuEvidence>();
  EXPECT_EQ(mtu.method, "udp") << out;
  // Ethernet drivers let a VLAN tag's four bytes more through.
  EXPECT_THAT(mtu.largest_delivered, testing::AllOf(testing::Ge(1400), testing::Le(1404))) << out;
  EXPECT_EQ(mtu.smallest_lost, mtu.largest_delivered + 1);
  EXPECT_EQ(mtu.told, 0);
}

TEST(Network, BlackHoleForLargePackets) {
  const Json out = on_two_hosts(nft("input", "meta length > 1300 drop"), [](TwoHosts& hosts) {
    Json params = TwoHosts::towards_b();
    params["interface_mtu"] = 1500;
    params["transfer_bytes"] = 300'000;
    params["timeout_ms"] = 5000;  // a dozen sizes, each waited for, on a busy machine
    return Json{{"v4", hosts.ask_a("mtu", params)}};
  });
  NEED_HOSTS(out);
  const auto mtu = out["v4"].get<MtuEvidence>();
  EXPECT_EQ(mtu.largest_delivered, 1300);
  EXPECT_EQ(mtu.smallest_lost, 1301);
  EXPECT_LT(mtu.transferred, 300'000);
  EXPECT_GT(mtu.stalled_ns, kSecond);
}

TEST(Network, RoutesThatLeadNowhere) {
  const Json out = on_two_hosts("", [](TwoHosts& hosts) -> Json {
    Json all;
    for (const std::string type : {"blackhole", "unreachable", "prohibit"}) {
      if (!run("ip route add " + type + " 10.88.0.0/24")) return "no route of type " + type;
      all[type] = hosts.ask_a("route", {{"to_ip", "10.88.0.1"}, {"from_ip", ""}});
      all[type]["connect"] = hosts.ask_a("connect", {{"to_ip", "10.88.0.1"}, {"ports", {80}}});
      run("ip route del " + type + " 10.88.0.0/24");
    }
    all["none"] = hosts.ask_a("route", {{"to_ip", "10.88.0.1"}, {"from_ip", "10.77.0.1"}});
    all["none6"] = hosts.ask_a("route", {{"to_ip", "fd88::1"}, {"from_ip", ""}});
    all["own"] = hosts.ask_a("route", {{"to_ip", "10.77.0.1"}, {"from_ip", ""}});
    run("ip route add 10.88.0.0/24 via 10.77.0.2");
    all["via"] = hosts.ask_a("route", {{"to_ip", "10.88.0.1"}, {"from_ip", ""}});
    all["behind"] = hosts.ask_a("neighbour", {{"to_ip", "10.88.0.1"}, {"from_ip", ""}});
    return all;
  });
  NEED_HOSTS(out);
  EXPECT_EQ(out["blackhole"]["error"], "EINVAL");
  EXPECT_EQ(out["blackhole"]["type"], "blackhole");
  EXPECT_EQ(out["unreachable"]["error"], "EHOSTUNREACH");
  EXPECT_EQ(out["prohibit"]["error"], "EACCES");
  EXPECT_EQ(out["blackhole"]["connect"]["ports"][0]["result"], "unreachable") << out;
  EXPECT_EQ(out["unreachable"]["connect"]["ports"][0]["result"], "unreachable") << out;
  EXPECT_EQ(out["prohibit"]["connect"]["ports"][0]["result"], "denied") << out;
  EXPECT_EQ(out["none"]["error"], "ENETUNREACH");
  EXPECT_EQ(out["none6"]["error"], "ENETUNREACH") << out["none6"];
  EXPECT_EQ(out["own"]["type"], "local");
  EXPECT_EQ(out["via"]["via"], "10.77.0.2");
  EXPECT_EQ(out["behind"]["on_link"], false);
}

TEST(Network, NobodyAnswersOnTheLink) {
  const Json out = on_two_hosts("ip link set cable1 arp off", [](TwoHosts& hosts) -> Json {
    Json params = TwoHosts::towards_b();
    params["to_ip"] = "10.77.0.99";
    return hosts.ask_a("neighbour", params);
  });
  NEED_HOSTS(out);
  EXPECT_TRUE(out.get<NeighbourProbe>().macs.empty()) << out;
  EXPECT_EQ(out["method"], "arp");
}

// Without root nothing but the kernel can ask; its giving up is an answer.
TEST(Network, AnOrdinaryUserLearnsFromTheKernelThatNobodyAnswers) {
  const Json out = on_two_hosts("", [](TwoHosts&) -> Json {
    constexpr uid_t kNobody = 65534;
    if (::setresuid(kNobody, kNobody, kNobody) != 0) return "cannot become an ordinary user";
    const auto ask = [](const std::string& from, const std::string& to, int64_t ms) {
      const PairEnds ends = make_ends(from, to, "cable0", 0).value();
      return Json(probe_neighbour(ends, {false, ms}, test::call_within(10'000)));
    };
    return Json{{"there", ask("10.77.0.1", "10.77.0.2", 500)},
                {"nobody", ask("10.77.0.1", "10.77.0.99", 6000)},
                {"nobody6", ask("fd77::1", "fd77::99", 6000)},
                {"hasty", ask("10.77.0.1", "10.77.0.98", 300)}};
  });
  NEED_HOSTS(out);
  const auto there = out["there"].get<NeighbourProbe>();
  EXPECT_EQ(there.macs.size(), 1u) << out;
  EXPECT_EQ(there.error, "");
  for (const char* which : {"nobody", "nobody6"}) {
    const auto probe = out[which].get<NeighbourProbe>();
    EXPECT_EQ(probe.method, "kernel");
    EXPECT_EQ(probe.kernel_state, "FAILED") << out;
    EXPECT_TRUE(probe.macs.empty());
    EXPECT_EQ(probe.error, "");
  }
  // It has not given up yet: that is no answer.
  const auto hasty = out["hasty"].get<NeighbourProbe>();
  EXPECT_EQ(hasty.kernel_state, "INCOMPLETE") << out;
  EXPECT_THAT(hasty.error, testing::HasSubstr("CAP_NET_RAW"));
}

TEST(Network, PingByProgramDoesNotWaitForAnswersThatDoNotCome) {
  if (find_program("ping").empty()) GTEST_SKIP() << "there is no ping here";
  const Json out = on_two_hosts(nft("input", "meta l4proto icmp drop"), [](TwoHosts&) -> Json {
    const PairEnds ends = make_ends("10.77.0.1", "10.77.0.2", "cable0", 0).value();
    return Json(ping_by_program(ends, {10, 40, 1000, 56}, test::call_within(4500)));
  });
  NEED_HOSTS(out);
  EXPECT_EQ(out["unavailable"], "") << out;
  EXPECT_EQ(out["sent"], 10);
  EXPECT_EQ(out["received"], 0);
}

TEST(Network, PingByProgramSendsNoMoreThanThereIsTimeFor) {
  if (find_program("ping").empty()) GTEST_SKIP() << "there is no ping here";
  const Json out = on_two_hosts("", [](TwoHosts&) -> Json {
    const PairEnds ends = make_ends("10.77.0.1", "10.77.0.2", "cable0", 0).value();
    return Json(ping_by_program(ends, {100, 40, 1000, 56}, test::call_within(4000)));
  });
  NEED_HOSTS(out);
  EXPECT_EQ(out["unavailable"], "") << out;
  EXPECT_GE(out["sent"], 5);
  EXPECT_LE(out["sent"], 10);
  EXPECT_EQ(out["received"], out["sent"]);
}

TEST(Network, ASecondOwnerOfOurAddressIsFound) {
  const Json out = on_two_hosts(
      "ip addr add 10.77.0.1/24 dev cable1 && ip addr add fd77::1/64 dev cable1 nodad",
      [](TwoHosts& hosts) -> Json {
        const auto ask = [&](const char* ip) {
          return hosts.ask_a(
              "neighbour",
              {{"from_ip", ip}, {"interface", "cable0"}, {"duplicate", true}, {"timeout_ms", 500}});
        };
        return Json{{"v4", ask("10.77.0.1")}, {"v6", ask("fd77::1")}};
      });
  NEED_HOSTS(out);
  EXPECT_EQ(out["v4"]["macs"].size(), 1u) << out;
  EXPECT_EQ(out["v6"]["macs"].size(), 1u) << out;
}

TEST(Network, NoSecondOwnerIsNobody) {
  const Json out = on_two_hosts("", [](TwoHosts& hosts) -> Json {
    return hosts.ask_a("neighbour", {{"from_ip", "10.77.0.1"},
                                     {"interface", "cable0"},
                                     {"duplicate", true},
                                     {"timeout_ms", 300}});
  });
  NEED_HOSTS(out);
  EXPECT_TRUE(out["macs"].empty()) << out;
  EXPECT_EQ(out["error"], "");
}

TEST(Network, LinkLocalAddresses) {
  const Json out = on_two_hosts("", [](TwoHosts& hosts) -> Json {
    run("ip addr add fe80::77:1/64 dev cable0 nodad");
    if (!hosts.on_b("ip addr add fe80::77:2/64 dev cable1 nodad")) return "no link-local address";
    Json all;
    all["listen"] =
        hosts.ask_b("listen", {{"id", "ll"},
                               {"addresses", {{{"ip", "fe80::77:2"}, {"interface", "cable1"}}}},
                               {"ports", {kPort}}});
    const Json params = {{"from_ip", "fe80::77:1"}, {"interface", "cable0"}, {"port", kPort},
                         {"to_ip", "fe80::77:2"},   {"ports", {kPort}},      {"count", 2}};
    for (const char* request : {"connect", "ping", "neighbour", "route", "mtu"}) {
      all[request] = hosts.ask_a(request, params);
    }
    return all;
  });
  NEED_HOSTS(out);
  EXPECT_EQ(out["listen"]["ports"][0]["listener"], "up") << out;
  EXPECT_EQ(out["connect"]["ports"][0]["answer"], "ours") << out;
  EXPECT_EQ(out["ping"]["received"], 2) << out["ping"];
  EXPECT_EQ(out["neighbour"]["macs"].size(), 1u) << out["neighbour"];
  EXPECT_EQ(out["route"]["dev"], "cable0") << out["route"];
  EXPECT_EQ(out["mtu"]["largest_delivered"], 1500) << out["mtu"];
}

TEST(Network, LossIsNoBlackHole) {
  // A third of all, whatever its size: the search must not take a size for too large by chance.
  const std::string lossy = nft("input", "meta l4proto udp numgen random mod 100 < 33 drop");
  const Json out = on_two_hosts(lossy, [](TwoHosts& hosts) {
    Json params = TwoHosts::towards_b();
    params["interface_mtu"] = 1500;
    params["transfer_bytes"] = 1000;
    params["timeout_ms"] = 5000;
    Json all = Json::array();
    for (int i = 0; i < 8; ++i) all.push_back(hosts.ask_a("mtu", params));
    return all;
  });
  NEED_HOSTS(out);
  for (const Json& entry : out) {
    const auto mtu = entry.get<MtuEvidence>();
    if (mtu.method != "udp") continue;  // all of the first five were lost: 1 in 250
    EXPECT_EQ(mtu.largest_delivered, 1500) << entry;
    EXPECT_EQ(mtu.smallest_lost, 0) << entry;
  }
}

// A stream of datagrams from a to b, or back.
Json count_datagrams(TwoHosts& hosts, bool back, int64_t count, int64_t rate) {
  const char* own = back ? "10.77.0.2" : "10.77.0.1";
  const char* peer = back ? "10.77.0.1" : "10.77.0.2";
  const Json receiver = {{"id", "d"}, {"ip", peer}, {"interface", back ? "cable0" : "cable1"}};
  const Json opened =
      back ? hosts.ask_a("datagrams.open", receiver) : hosts.ask_b("datagrams.open", receiver);
  if (opened.contains("error")) return opened;
  const Json sender = {{"from_ip", own},
                       {"interface", back ? "cable1" : "cable0"},
                       {"to_ip", peer},
                       {"port", opened["port"]},
                       {"token", opened["token"]},
                       {"count", count},
                       {"rate_per_s", rate}};
  Json out = back ? hosts.ask_b("datagrams.send", sender) : hosts.ask_a("datagrams.send", sender);
  const Json close = {{"id", "d"}, {"expected", out["sent"]}};
  const Json counted =
      back ? hosts.ask_a("datagrams.close", close) : hosts.ask_b("datagrams.close", close);
  out["received"] = counted.value("received", int64_t{-1});
  out["overflow"] = counted.value("overflow", int64_t{-1});
  return out;
}

TEST(Network, DatagramsTellTheDirectionOfALoss) {
  // Where it enters b, and where it leaves b: there the sender is told (EPERM), or not.
  for (const char* where : {"input", "output"}) {
    const bool back = std::string(where) == "output";
    const std::string lossy = nft(where, "ip protocol udp numgen random mod 100 < 20 drop");
    const Json out = on_two_hosts(lossy, [&](TwoHosts& hosts) -> Json {
      return {{"lossy", count_datagrams(hosts, back, 400, 2000)},
              {"sound", count_datagrams(hosts, !back, 400, 2000)}};
    });
    NEED_HOSTS(out);
    const auto lossy_way = out["lossy"].get<DatagramEvidence>();
    const auto sound_way = out["sound"].get<DatagramEvidence>();
    EXPECT_EQ(lossy_way.sent, 400) << out;
    // 80 are expected, 8 is a standard deviation.
    EXPECT_GT(lossy_way.sent - lossy_way.received, 40) << out;
    EXPECT_LT(lossy_way.sent - lossy_way.received, 120) << out;
    EXPECT_EQ(lossy_way.refused > 0, back) << out;
    EXPECT_EQ(sound_way.sent, 400) << out;
    EXPECT_EQ(sound_way.received + sound_way.overflow, 400) << out;
  }
}

TEST(Network, AShapedLinkLosesNoDatagrams) {
  const std::string shaped =
      "tc qdisc add dev cable1 root tbf rate 200mbit burst 32kbit latency 20ms";
  const Json out = on_two_hosts(
      shaped, [](TwoHosts& hosts) -> Json { return count_datagrams(hosts, true, 300, 1250); });
  NEED_HOSTS(out);
  const auto counted = out.get<DatagramEvidence>();
  EXPECT_EQ(counted.sent, 300) << out;
  EXPECT_EQ(counted.received + counted.overflow, 300) << out;
}

TEST(Network, ARationOfDatagramsIsKinderToASlowerStream) {
  // What the rules call rationed, made for real.
  const std::string ration =
      nft("input", "ip protocol udp limit rate 100/second accept; ip protocol udp drop");
  const Json out = on_two_hosts(ration, [](TwoHosts& hosts) -> Json {
    return {{"fast", count_datagrams(hosts, false, 300, 1250)},
            {"slow", count_datagrams(hosts, false, 200, 200)}};
  });
  NEED_HOSTS(out);
  const auto fast = out["fast"].get<DatagramEvidence>(), slow = out["slow"].get<DatagramEvidence>();
  EXPECT_GT(fast.received, 0) << out;
  EXPECT_LT(fast.received, 100) << out;
  EXPECT_GT(slow.received, 80) << out;
  EXPECT_LT(slow.received, 140) << out;
}

TEST(Network, SegmentsAreCountedAtBothEnds) {
  // On the own way out: dropped before the wire, which is no retransmission.
  for (const char* rule : {"", "tcp dport 29600 numgen random mod 100 < 10 drop"}) {
    const Json out = on_two_hosts("", [&](TwoHosts& hosts) -> Json {
      if (*rule != '\0' && !run(nft("output", rule))) return "no rule can be made here";
      Json params = TwoHosts::towards_b();
      params["kind"] = "paced";
      params["duration_ms"] = 500;
      params["rate_per_s"] = 1000;
      return hosts.ask_a("stream", params);
    });
    NEED_HOSTS(out);
    const auto stream = out.get<StreamEvidence>();
    EXPECT_EQ(stream.error, "");
    EXPECT_GT(stream.segments_out, 50) << out;  // a busy machine joins messages
    const int64_t lost = stream.segments_out - stream.segments_in;
    if (*rule == '\0') {
      EXPECT_LE(lost, 2) << "probes of the tail may still be under way: " << out;
      EXPECT_GE(lost, -2) << out;
    } else {
      EXPECT_GE(lost, 3) << out;
      EXPECT_LT(lost, stream.segments_out / 4) << out;
    }
  }
}

TEST(Network, LossIsCountedByTheSender) {
  const std::string lossy = nft("input", "tcp dport 29600 numgen random mod 100 < 5 drop");
  const Json out = on_two_hosts(lossy, [](TwoHosts& hosts) -> Json {
    Json params = TwoHosts::towards_b();
    params["kind"] = "paced";
    params["duration_ms"] = 1000;
    params["rate_per_s"] = 1000;
    params["bytes"] = 200;
    return hosts.ask_a("stream", params);
  });
  NEED_HOSTS(out);
  const auto stream = out.get<StreamEvidence>();
  EXPECT_EQ(stream.error, "");
  EXPECT_GT(stream.segments_out, 100) << out;
  const double share =
      static_cast<double>(stream.retransmitted) / static_cast<double>(stream.segments_out);
  EXPECT_GT(share, 0.01) << out;
  EXPECT_LT(share, 0.25) << out;
}

}  // namespace
}  // namespace plumbline
