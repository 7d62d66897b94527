// Link cells over real sockets on loopback, with ranks as threads.
#include "collectives/links/link_measure.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "collectives/links/link_session.h"
#include "tests/support/collective_case.h"
#include "tests/support/sanitized.h"
#include "tests/transport/tcp_world.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

constexpr int64_t kTimeNs = 60 * kMillisecond;

Cell link_cell(const std::string& measure, int ranks) {
  Cell cell;
  cell.kind = CellKind::kLink;
  cell.op = "link";
  cell.measure = measure;
  cell.ranks = ranks;
  cell.bytes = measure == "udp" ? 1200 : 64;
  cell.outstanding = measure == "parallel" ? 3 : 1;
  cell.rate_bps = measure == "udp" ? 8'000'000 : 0;
  return cell;
}

// The cell on all ranks of a TCP world; the links of all, judged.
Measurement run_links(const Cell& cell, const std::vector<std::string>& reasons = {},
                      const std::vector<RankPair>& apart = {}, int64_t time_ns = kTimeNs) {
  test::TcpWorld world(cell.ranks);
  world.apart = apart;
  const std::vector<RankEndpoint> endpoints = test::claimed(world.endpoints);
  std::vector<Measurement> parts(static_cast<size_t>(cell.ranks));
  world.run([&](Group& group) {
    Executor executor(group, test_kernels(), apart);
    MeasureContext context;
    context.group = &group;
    context.executor = &executor;
    context.options = &world.options;
    context.endpoints = &endpoints;
    MeasureSettings settings;
    settings.throughput_time_ns = time_ns;
    settings.pair_reasons = reasons;
    const Expected<Measurement> measured = measure_links(cell, settings, context);
    ASSERT_TRUE(measured) << measured.error().message();
    parts[static_cast<size_t>(group.rank())] = *measured;
  });
  Measurement all = parts.front();
  for (size_t rank = 1; rank < parts.size(); ++rank) {
    all.links.insert(all.links.end(), parts[rank].links.begin(), parts[rank].links.end());
  }
  judge_links(all);
  return all;
}

class LinkMeasureOf : public testing::TestWithParam<std::string> {};

TEST_P(LinkMeasureOf, FillsEveryOrderedPair) {
  const std::string& measure = GetParam();
  for (const int ranks : {2, 3}) {
    const Measurement m = run_links(link_cell(measure, ranks));
    EXPECT_EQ(m.outcome, Outcome::kPassed) << m.reason;
    ASSERT_EQ(m.links.size(), static_cast<size_t>(ranks * (ranks - 1)));
    std::set<std::pair<int, int>> seen;
    for (const LinkResult& link : m.links) {
      seen.insert({link.from, link.to});
      EXPECT_EQ(link.error, "");
      EXPECT_EQ(link.from_host, "host" + std::to_string(link.from));
      EXPECT_EQ(link.local, "127.0.0.1");
      EXPECT_TRUE(link.direct);
      const bool streams = measure != "latency" && measure != "udp";
      EXPECT_EQ(link.rate_Bps.has_value(), streams);
      EXPECT_EQ(link.rtt.has_value(), measure == "latency" || measure == "loaded_rtt");
      EXPECT_EQ(link.loaded_rtt.has_value(), measure == "loaded_rtt");
      EXPECT_EQ(link.udp.has_value(), measure == "udp");
    }
    EXPECT_EQ(seen.size(), m.links.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Measures, LinkMeasureOf,
                         testing::Values("latency", "stream", "duplex", "parallel", "loaded_rtt",
                                         "incast", "udp", "all_pairs"),
                         [](const auto& each) { return each.param; });

TEST(LinkMeasure, TableOfMeasuresIsTheOneThatIsTestedHere) {
  EXPECT_EQ(usual_link_measures().size(), 8u);  // the others: link_verbs_linux_test.cc
}

TEST(LinkMeasure, StreamHasASeriesThatAddsUp) {
  const Measurement m = run_links(link_cell("parallel", 2));
  for (const LinkResult& link : m.links) {
    ASSERT_EQ(link.streams.size(), 3u);
    EXPECT_EQ(link.interval_ns, series_interval_ns(kTimeNs));
    for (const LinkStream& stream : link.streams) {
      uint64_t sum = 0;
      for (const uint64_t bytes : stream.series) sum += bytes;
      EXPECT_EQ(sum, stream.bytes);
      EXPECT_GT(stream.bytes, 0u);
      // 60 ms in intervals of 12 ms; the last byte may fall on the end itself.
      EXPECT_LE(stream.series.size(), 6u);
    }
    EXPECT_GT(*link.rate_Bps, 1e6);
    EXPECT_LE(link.elapsed_ns, kTimeNs);
  }
}

TEST(LinkMeasure, RoundTripsHaveHonestQuantiles) {
  const Measurement m = run_links(link_cell("latency", 2));
  for (const LinkResult& link : m.links) {
    ASSERT_TRUE(link.rtt);
    EXPECT_GT(*link.rtt->min, 0);
    EXPECT_LE(*link.rtt->min, *link.rtt->p50);
    EXPECT_LE(*link.rtt->p50, *link.rtt->max);
    EXPECT_EQ(link.rtt->p99.has_value(), link.rtt->n >= 1000);
  }
}

TEST(LinkMeasure, DatagramsArriveAtTheRateThatWasAsked) {
  constexpr int64_t kDatagramsNs = test::kSanitized ? 5 * kTimeNs : kTimeNs;
  // 8 Mbit/s of 1200 bytes: one every 1.2 ms.
  constexpr auto kAsked = static_cast<uint64_t>(kDatagramsNs / 1'200'000);
  const Measurement m = run_links(link_cell("udp", 2), {}, {}, kDatagramsNs);
  for (const LinkResult& link : m.links) {
    ASSERT_TRUE(link.udp);
    // A late scheduler may send fewer.
    EXPECT_LE(link.udp->sent, kAsked + 2);
    EXPECT_GE(link.udp->sent, kAsked / 10);
    EXPECT_LE(link.udp->received, link.udp->sent);
    EXPECT_EQ(link.udp->lost(), 0u) << "loopback loses nothing on the way";
  }
}

TEST(LinkMeasure, PairsWithAReasonAreSkippedAndSayIt) {
  std::vector<std::string> reasons(9);
  reasons[0 * 3 + 2] = reasons[2 * 3 + 0] = "leaves of a star";
  for (const char* measure : {"stream", "incast"}) {
    const Measurement m = run_links(link_cell(measure, 3), reasons);
    ASSERT_EQ(m.links.size(), 6u);
    EXPECT_EQ(m.outcome, Outcome::kPassed) << m.reason;
    for (const LinkResult& link : m.links) {
      const bool leaves = link.from != 1 && link.to != 1;
      EXPECT_EQ(link.skipped, leaves ? "leaves of a star" : "");
      EXPECT_EQ(link.rate_Bps.has_value(), !leaves);
    }
  }
}

// Ranks without a path between them: the cell needs none, whoever is in the middle.
TEST(LinkMeasure, LeavesOfAStarNeedNoConnection) {
  for (const int hub : {0, 1, 2}) {
    std::vector<std::string> reasons(9);
    const int a = (hub + 1) % 3, b = (hub + 2) % 3;
    reasons[pair_index(3, a, b)] = reasons[pair_index(3, b, a)] = "leaves";
    for (const char* measure : {"latency", "incast", "all_pairs"}) {
      const Measurement m = run_links(link_cell(measure, 3), reasons, {std::minmax(a, b)});
      EXPECT_EQ(m.outcome, Outcome::kPassed) << m.reason;
      ASSERT_EQ(m.links.size(), 6u);
      for (const LinkResult& link : m.links) {
        EXPECT_EQ(link.measured(), link.from == hub || link.to == hub) << measure;
      }
    }
  }
}

TEST(LinkMeasure, AllPairsSkippedIsASkippedCell) {
  const Measurement m = run_links(link_cell("stream", 2), {"", "no", "no", ""});
  EXPECT_EQ(m.outcome, Outcome::kSkipped);
  EXPECT_NE(m.reason.find("no"), std::string::npos);
}

TEST(LinkMeasure, OneRankHasNoLink) {
  const Measurement m = run_links(link_cell("stream", 1));
  EXPECT_EQ(m.outcome, Outcome::kSkipped);
  EXPECT_EQ(m.reason, "a link needs two ranks");
}

TEST(LinkMeasure, MemoryHasNoSocketsAndSaysSo) {
  World world = make_memory_groups(2, channel_options_for(kWireShapes[0]), {0, true}, 1 << 16,
                                   [](int, int, std::unique_ptr<ByteStream> s) { return s; });
  const OptionSet options;
  std::vector<Measurement> parts(2);
  on_every_rank(world, [&](int rank, Group& group) -> std::string {
    Executor executor(group, test_kernels());
    MeasureContext context;
    context.group = &group;
    context.executor = &executor;
    context.options = &options;
    MeasureSettings settings;
    settings.throughput_time_ns = kTimeNs;
    const auto measured = measure_links(link_cell("stream", 2), settings, context);
    if (!measured) return measured.error().message();
    parts[static_cast<size_t>(rank)] = *measured;
    return {};
  });
  judge_links(parts[0]);
  EXPECT_EQ(parts[0].outcome, Outcome::kFailed);
  EXPECT_NE(parts[0].reason.find("transport tcp"), std::string::npos) << parts[0].reason;
}

// --- one pair's sockets
// ------------------------------------------------------------------------------

class LinkSocketsTest : public testing::Test {
 protected:
  void SetUp() override {
    wait_.ended = [this] { return broken_; };
    for (LinkSession* session : {&from_, &to_}) {
      session->path.local = session->path.remote = *make_socket_address("127.0.0.1", 0);
      session->nonce = 4711;
      session->name = "a > b";
    }
    Expected<Fd> listener = listen_on(to_.path.local, {});
    ASSERT_TRUE(listener);
    from_.port = local_address(listener->get()).port();
    to_.listener = std::move(*listener);
  }
  // Both ends from one thread: connections wait in the listener's queue.
  void connect_both(int data) {
    std::vector<LinkSession*> from = {&from_}, to = {&to_};
    connect_sessions(from, data, {}, Deadline::after_ms(2000));
    accept_sessions(to, data, {}, wait_.until(Deadline::after_ms(300)));
  }
  Fd stranger() {
    SocketAddress address = to_.path.local;
    address.set_port(from_.port);
    Expected<Fd> fd = start_connect(address, nullptr, "", {});
    EXPECT_TRUE(fd);
    return std::move(*fd);
  }

  LinkSession from_, to_;
  Patience wait_;
  bool broken_ = false;
};

TEST_F(LinkSocketsTest, ConnectionsFindTheirPlaces) {
  connect_both(3);
  EXPECT_TRUE(from_.usable) << from_.error.message();
  EXPECT_TRUE(to_.usable) << to_.error.message();
  EXPECT_EQ(to_.data.size(), 3u);
}

TEST_F(LinkSocketsTest, StrangersDoNotGetIn) {
  const Fd silent = stranger(), rude = stranger();
  const std::string rubbish(24, 'x');
  ::send(rude.get(), rubbish.data(), rubbish.size(), MSG_NOSIGNAL);
  connect_both(1);
  EXPECT_TRUE(to_.usable) << to_.error.message();
  char byte = 0;
  EXPECT_LE(::recv(rude.get(), &byte, 1, 0), 0);
}

TEST_F(LinkSocketsTest, WrongNonceIsAStranger) {
  from_.nonce = 4712;
  connect_both(0);
  EXPECT_FALSE(to_.usable);
  EXPECT_NE(to_.error.what.find("did not connect"), std::string::npos);
}

TEST_F(LinkSocketsTest, NobodyListeningIsRefusedByName) {
  to_.listener.reset();
  std::vector<LinkSession*> from = {&from_};
  connect_sessions(from, 1, {}, Deadline::after_ms(2000));
  EXPECT_FALSE(from_.usable);
  EXPECT_EQ(from_.error.code, ErrorCode::kRefused);
  EXPECT_EQ(from_.error.what.rfind("a > b: ", 0), 0u) << from_.error.what;
}

TEST_F(LinkSocketsTest, ReceiverWithoutAPortIsToldApart) {
  from_.port = 0;
  std::vector<LinkSession*> from = {&from_};
  connect_sessions(from, 0, {}, Deadline::after_ms(100));
  EXPECT_NE(from_.error.what.find("could not listen"), std::string::npos);
}

TEST_F(LinkSocketsTest, ReportsHaveABound) {
  connect_both(0);
  ASSERT_TRUE(to_.usable);
  const Patience patience = wait_.until(Deadline::after_ms(1000));
  ASSERT_TRUE(send_numbers(to_.control.get(), {1, 2, ~uint64_t{0}}, patience));
  const auto got = receive_numbers(from_.control.get(), 3, patience);
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, (std::vector<uint64_t>{1, 2, ~uint64_t{0}}));
  ASSERT_TRUE(send_numbers(to_.control.get(), {1, 2, 3, 4}, patience));
  const auto more = receive_numbers(from_.control.get(), 3, patience);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::kProtocol);
}

TEST_F(LinkSocketsTest, SilenceLostPeersAndABrokenGroupEndEveryWait) {
  connect_both(0);
  ASSERT_TRUE(to_.usable);
  char byte = 0;
  const int fd = from_.control.get();
  EXPECT_EQ(receive_all(fd, &byte, 1, wait_.until(Deadline::after_ms(50))).error().code,
            ErrorCode::kTimeout);
  broken_ = true;
  EXPECT_EQ(receive_all(fd, &byte, 1, wait_.until(Deadline::after_ms(5000))).error().code,
            ErrorCode::kAborted);
  broken_ = false;
  to_.control.reset();
  EXPECT_EQ(receive_all(fd, &byte, 1, wait_.until(Deadline::after_ms(5000))).error().code,
            ErrorCode::kPeerLost);
}

// The receiver takes the connections and then says nothing: the sender's own deadlines end it.
TEST_F(LinkSocketsTest, SilentReceiverEndsAStreamWithAnError) {
  connect_both(1);
  ASSERT_TRUE(from_.usable);
  FlowSettings settings;
  settings.time_ns = 20 * kMillisecond;
  settings.wait = wait_;
  std::thread closer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    to_.control.reset();
  });
  LinkResult result;
  const Status done = streams_from(from_, settings, result);
  closer.join();
  EXPECT_FALSE(done);
  EXPECT_FALSE(result.rate_Bps);
}

// A receiver that is kept waiting for a core finds bytes of the time before: a link of 20 Mb/s was
// measured with 27 on a crowded machine.
TEST_F(LinkSocketsTest, WhatCameBeforeTheReceiverLookedIsNoPartOfTheRate) {
  connect_both(1);
  ASSERT_TRUE(from_.usable && to_.usable);
  const int fd = from_.data[0].get();
  const Patience patience = wait_.until(Deadline::after_ms(5000));
  const std::string early(60'000, 'e'), later(100, 'l');
  ASSERT_TRUE(send_all(fd, early.data(), early.size(), patience));
  FlowSettings settings;
  settings.time_ns = 200 * kMillisecond;
  settings.wait = wait_;
  Status received;
  std::thread receiver([&] { received = streams_to(to_, settings); });
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(send_all(fd, later.data(), later.size(), patience));
  }
  from_.data[0].reset();
  const auto report = receive_numbers(from_.control.get(), 100, patience);
  receiver.join();
  ASSERT_TRUE(received) << received.error().message();
  ASSERT_TRUE(report);
  EXPECT_GT((*report)[0], 0u);
  EXPECT_LE((*report)[0], 20 * later.size());
}

// All that there is to know of a stream that was over before the receiver looked.
TEST_F(LinkSocketsTest, AStreamThatIsOverBeforeTheReceiverLooksCountsWhole) {
  connect_both(1);
  ASSERT_TRUE(from_.usable && to_.usable);
  const Patience patience = wait_.until(Deadline::after_ms(5000));
  const std::string early(60'000, 'e');
  ASSERT_TRUE(send_all(from_.data[0].get(), early.data(), early.size(), patience));
  from_.data[0].reset();
  FlowSettings settings;
  settings.time_ns = 20 * kMillisecond;
  settings.wait = wait_;
  ASSERT_TRUE(streams_to(to_, settings));
  const auto report = receive_numbers(from_.control.get(), 100, patience);
  ASSERT_TRUE(report);
  EXPECT_EQ(*report, (std::vector<uint64_t>{60'000, 20 * kMillisecond, 60'000}));
}

// On a crowded machine a sender was kept waiting for a core as long as it was to send, and its link
// was said to carry nothing.
TEST_F(LinkSocketsTest, ASenderWhoseTimeIsOverBeforeItBeginsSendsAllTheSame) {
  connect_both(1);
  ASSERT_TRUE(from_.usable && to_.usable);
  FlowSettings short_time;
  short_time.time_ns = 1;
  short_time.wait = wait_;
  FlowSettings settings = short_time;
  settings.time_ns = 20 * kMillisecond;
  Status received;
  std::thread receiver([&] { received = streams_to(to_, settings); });
  LinkResult result;
  const Status sent = streams_from(from_, short_time, result);
  receiver.join();
  ASSERT_TRUE(received) << received.error().message();
  ASSERT_TRUE(sent) << sent.error().message();
  EXPECT_GT(result.rate_Bps.value_or(0), 0);
}

TEST(LinkAddress, TextsOfConnections) {
  std::string ip, interface;
  EXPECT_TRUE(address_of_text("10.0.0.1:40000", ip, interface));
  EXPECT_EQ(ip, "10.0.0.1");
  EXPECT_TRUE(address_of_text("[::1]:40000", ip, interface));
  EXPECT_EQ(ip, "::1");
  EXPECT_FALSE(address_of_text("", ip, interface));
  EXPECT_FALSE(address_of_text("memory", ip, interface));
}

}  // namespace
}  // namespace plumbline
