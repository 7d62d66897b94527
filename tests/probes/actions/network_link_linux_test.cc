// Routes, neighbours and addresses of real links, on two hosts of the test's own.
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
using test::kTwoHostsPort;
using test::nft;
using test::on_two_hosts;
using test::run;
using test::TwoHosts;

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
                               {"ports", {kTwoHostsPort}}});
    const Json params = {{"from_ip", "fe80::77:1"},  {"interface", "cable0"},
                         {"port", kTwoHostsPort},    {"to_ip", "fe80::77:2"},
                         {"ports", {kTwoHostsPort}}, {"count", 2}};
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

}  // namespace
}  // namespace plumbline
