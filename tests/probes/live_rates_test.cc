// Rates out of two looks at a host, which may lie, wrap its counters or make an interface anew.
#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "core/clock.h"
#include "core/json.h"
#include "probes/gather/host_watcher.h"

namespace plumbline {
namespace {

using testing::DoubleNear;
using testing::IsEmpty;
using testing::Optional;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

WatchState state(int64_t at_s) {
  WatchState out;
  Nic nic;
  nic.name = "en1";
  nic.index = 3;
  nic.kind = "ethernet";
  nic.up = nic.carrier = true;
  nic.mtu = 1500;
  nic.speed_bps = 10'000'000'000;
  out.nics = {nic};
  out.carrier_changes = {{"en1", 4}};
  out.counters = {{"if.en1.rx_bytes", 1000},  {"if.en1.tx_bytes", 5000}, {"if.en1.rx_packets", 10},
                  {"if.en1.tx_packets", 20},  {"if.en1.rx_dropped", 1},  {"if.en1.tx_dropped", 2},
                  {"if.en1.queue_drops", 3},  {"if.en1.rx_errors", 0},   {"tcp.retransmitted", 100},
                  {"tcp.out_segments", 1000}, {"tcp.timeouts", 0},       {"ip.in_discards", 0}};
  out.at_ns = at_s * kSecond;
  out.neighbours = {{"10.0.0.2", "en1", "REACHABLE"},
                    {"10.0.0.3", "en1", "FAILED"},
                    {"10.0.0.4", "en2", "STALE"}};
  return out;
}

// The second look, two seconds after state(), which was changed.
LiveHost after(const std::function<void(WatchState&)>& change, int64_t seconds = 2) {
  LiveHistory history("node1");
  history.look(state(100), 100 * kSecond);
  WatchState later = state(100 + seconds);
  change(later);
  // Our clock runs differently: the host's own counts.
  return history.look(later, 103 * kSecond);
}

TEST(LiveRates, TheFirstLookHasNone) {
  LiveHistory history("node1");
  const LiveHost host = history.look(state(100), 1);
  EXPECT_EQ(host.name, "node1");
  EXPECT_EQ(host.interval_s, std::nullopt);
  EXPECT_EQ(host.retransmitted_per_s, std::nullopt);
  ASSERT_EQ(host.links.size(), 1u);
  EXPECT_EQ(host.links[0].rx_Bps, std::nullopt);
  EXPECT_EQ(host.links[0].signal_changes, std::optional<int64_t>(0));
  EXPECT_THAT(host.changes, IsEmpty());
}

TEST(LiveRates, AreDifferencesPerSecondOfTheHostsClock) {
  const LiveHost host = after([](WatchState& s) {
    s.counters["if.en1.rx_bytes"] += 2'000'000;
    s.counters["if.en1.tx_bytes"] += 10;
    s.counters["if.en1.rx_packets"] += 6;
    s.counters["if.en1.rx_dropped"] += 4;
    s.counters["if.en1.tx_dropped"] += 2;
    s.counters["if.en1.queue_drops"] += 6;
    s.counters["if.en1.rx_errors"] += 2;
    s.counters["tcp.retransmitted"] += 30;
    s.counters["tcp.out_segments"] += 3000;
    s.carrier_changes["en1"] += 2;
  });
  EXPECT_THAT(host.interval_s, Optional(DoubleNear(2, 1e-9)));
  EXPECT_THAT(host.retransmitted_per_s, Optional(15.0));
  EXPECT_THAT(host.segments_per_s, Optional(1500.0));
  EXPECT_THAT(host.timeouts_per_s, Optional(0.0));
  EXPECT_THAT(host.discards_per_s, Optional(0.0));
  const LiveLink& link = host.links.at(0);
  EXPECT_THAT(link.rx_Bps, Optional(1e6));
  EXPECT_THAT(link.tx_Bps, Optional(5.0));
  EXPECT_THAT(link.rx_packets_per_s, Optional(3.0));
  EXPECT_THAT(link.rx_drops_per_s, Optional(2.0));
  EXPECT_THAT(link.tx_drops_per_s, Optional(4.0)) << "with those of the queue";
  EXPECT_THAT(link.errors_per_s, Optional(1.0));
  EXPECT_EQ(link.signal_changes, std::optional<int64_t>(2));
  EXPECT_EQ(link.neighbours, std::optional<int>(1));
  EXPECT_EQ(link.lost_neighbours, std::optional<int>(1));
}

TEST(LiveRates, ACounterThatWrapsOrGoesBackwardsHasNoRateAndHarmsNoOther) {
  const LiveHost host = after([](WatchState& s) {
    s.counters["if.en1.rx_bytes"] = 7;
    s.counters["if.en1.tx_bytes"] += 8;
    s.counters.erase("if.en1.tx_dropped");
    s.counters["tcp.retransmitted"] = 0;
  });
  EXPECT_EQ(host.links.at(0).rx_Bps, std::nullopt);
  EXPECT_THAT(host.links.at(0).tx_Bps, Optional(4.0));
  EXPECT_THAT(host.links.at(0).tx_drops_per_s, Optional(0.0)) << "the queue's are known";
  EXPECT_EQ(host.retransmitted_per_s, std::nullopt);
}

TEST(LiveRates, AHostThatLiesAboutNumbersGetsNoneAndNothingOverflows) {
  LiveHistory history("liar");
  WatchState first = state(100);
  first.counters["if.en1.rx_bytes"] = std::numeric_limits<int64_t>::min();
  first.counters["if.en1.tx_bytes"] = 0;
  first.carrier_changes["en1"] = -5;
  history.look(first, kSecond);
  WatchState later = state(101);
  later.counters["if.en1.rx_bytes"] = kMost;
  later.counters["if.en1.tx_bytes"] = kMost;
  later.carrier_changes["en1"] = kMost;
  const LiveHost host = history.look(later, 2 * kSecond);
  EXPECT_EQ(host.links.at(0).rx_Bps, std::nullopt);
  EXPECT_THAT(host.links.at(0).tx_Bps, Optional(static_cast<double>(kMost)));
  EXPECT_GE(host.links.at(0).signal_changes.value_or(0), 0);
  // A clock that stands, goes backwards, or leaps.
  for (const int64_t at_ns :
       {101 * kSecond, int64_t{1}, int64_t{-1}, kMost, std::numeric_limits<int64_t>::min()}) {
    SCOPED_TRACE(at_ns);
    LiveHistory other("liar");
    WatchState now = state(101);
    other.look(now, kSecond);
    now.at_ns = at_ns;
    const LiveHost seen = other.look(now, 2 * kSecond);
    // Who tells no time has ours.
    EXPECT_EQ(seen.interval_s.has_value(), at_ns < 0);
  }
}

TEST(LiveRates, AHostThatTellsNoTimeHasOurs) {
  LiveHistory history("node1");
  WatchState first = state(0), later = state(0);
  later.counters["if.en1.rx_bytes"] += 300;
  history.look(first, 5 * kSecond);
  EXPECT_THAT(history.look(later, 8 * kSecond).links.at(0).rx_Bps, Optional(100.0));
}

TEST(LiveRates, AnotherInterfaceOfTheSameNameBeginsAnew) {
  const LiveHost host = after([](WatchState& s) {
    s.nics[0].index = 9;
    s.counters["if.en1.rx_bytes"] += 2'000'000;
    s.carrier_changes["en1"] = 1;
  });
  EXPECT_EQ(host.links.at(0).rx_Bps, std::nullopt);
  EXPECT_EQ(host.links.at(0).signal_changes, std::optional<int64_t>(0));
}

TEST(LiveRates, ChangesAreToldOnceAndCountersAreNone) {
  LiveHistory history("node1");
  history.look(state(100), 0);
  WatchState later = state(101);
  later.nics[0].carrier = false;
  later.carrier_changes["en1"] += 1;
  later.counters["if.en1.rx_errors"] = 50;
  const LiveHost lost = history.look(later, 0);
  ASSERT_EQ(lost.changes.size(), 1u);
  EXPECT_EQ(lost.changes[0].text, "en1 lost its signal");
  EXPECT_TRUE(lost.links.at(0).was_up);
  later.at_ns += kSecond;
  EXPECT_THAT(history.look(later, 0).changes, IsEmpty());
}

TEST(LiveRates, AHostThatDoesNotAnswerSaysSoOnceAndComesBack) {
  LiveHistory history("node1");
  history.look(state(100), 0);
  const LiveHost lost = history.lost("its agent ended");
  EXPECT_EQ(lost.lost, "its agent ended");
  ASSERT_EQ(lost.changes.size(), 1u);
  EXPECT_EQ(lost.changes[0].text, "cannot be observed: its agent ended");
  EXPECT_THAT(history.lost("its agent ended").changes, IsEmpty());
  const LiveHost back = history.look(state(110), 0);
  EXPECT_EQ(back.lost, "");
  ASSERT_EQ(back.changes.size(), 1u);
  EXPECT_EQ(back.changes[0].text, "can be observed again");
  EXPECT_NE(LiveHistory("x").lost("").lost, "") << "a host that is lost says so";
}

TEST(LiveRates, WhatASystemDoesNotTellIsUnknownAndNotNought) {
  LiveHistory history("mac");
  WatchState bare = state(1);
  bare.counters.clear();
  bare.carrier_changes.clear();
  bare.neighbours.reset();
  history.look(bare, 0);
  bare.at_ns += kSecond;
  const LiveHost host = history.look(bare, 0);
  EXPECT_EQ(host.retransmitted_per_s, std::nullopt);
  EXPECT_EQ(host.links.at(0).rx_drops_per_s, std::nullopt);
  EXPECT_EQ(host.links.at(0).tx_drops_per_s, std::nullopt);
  EXPECT_EQ(host.links.at(0).errors_per_s, std::nullopt);
  EXPECT_EQ(host.links.at(0).signal_changes, std::nullopt);
  EXPECT_EQ(host.links.at(0).neighbours, std::nullopt);
}

}  // namespace
}  // namespace plumbline
