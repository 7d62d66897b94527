// Path MTU, losses and rates on real links, on two hosts of the test's own.
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
using test::nft;
using test::on_two_hosts;
using test::run;
using test::TwoHosts;

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
  ASSERT_GT(fast.sent, 0) << out;
  ASSERT_GT(slow.sent, 0) << out;
  EXPECT_GT(fast.received, 0) << out;
  EXPECT_GT(slow.received, 0) << out;
  // As shares: how long the streams take, and so the ration lets through, depends on the machine.
  const auto share = [](const DatagramEvidence& one) {
    return static_cast<double>(one.received) / static_cast<double>(one.sent);
  };
  EXPECT_LT(share(fast), 0.5 * share(slow)) << out;
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
