#include "probes/actions/stream.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>

#include <thread>

#include "actions/support.h"
#include "core/clock.h"
#include "probes/actions/connector.h"

namespace plumbline {
namespace {

using test::call_within;
using test::ends_on_loopback;
using test::Stranger;
using testing::HasSubstr;

TEST(Stream, OneWayCountsWhatThePeerGot) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const StreamEvidence out = run_stream(ends, {"one_way", 200, 0, 0}, call_within(10'000));
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.kind, "one_way");
  EXPECT_GT(out.bytes, 1 << 20);
  EXPECT_GT(out.duration_ns, 100 * kMillisecond);
  EXPECT_LT(out.duration_ns, 2 * kSecond);
  EXPECT_GT(out.segments_out, 10);
  EXPECT_GT(out.rtt_ns, 0);
  EXPECT_GT(out.receive_window, 0);
  EXPECT_GT(out.send_buffer, 0);
  EXPECT_GT(out.cpu_sender, 0);
  EXPECT_LT(out.cpu_sender, 1.5);
  EXPECT_GT(out.cpu_receiver, 0);
  EXPECT_LT(out.cpu_receiver, 1.5);
}

TEST(Stream, EndsAfterItsBytes) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const StreamEvidence out = run_stream(ends, {"one_way", 20'000, 100'000, 0}, call_within(10'000));
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.bytes, 100'000);
}

TEST(Stream, TwoWaysAtOnce) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const StreamEvidence out = run_stream(ends, {"two_way", 200, 0, 0}, call_within(10'000));
  EXPECT_EQ(out.error, "");
  EXPECT_GT(out.bytes, 1 << 20);
}

TEST(Stream, PacedSendsMessagesAtARate) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const StreamEvidence out = run_stream(ends, {"paced", 300, 100, 1000}, call_within(10'000));
  EXPECT_EQ(out.error, "");
  EXPECT_GT(out.bytes, 10'000);  // 300 messages on an idle machine
  EXPECT_LE(out.bytes, 32'000);
  EXPECT_EQ(out.bytes % 100, 0);
  EXPECT_GE(out.segments_out, out.bytes / 100 / 2);
  EXPECT_LT(out.cpu_sender, 0.9);
}

TEST(Stream, WhatWasNotSentAgainArrived) {
  // sent, counted, sent again, duplicates
  EXPECT_EQ(arrived_segments(600, 540, 0, 0), 600);    // merged on the way, nothing lost
  EXPECT_EQ(arrived_segments(600, 540, 1, 0), 599);    // at most one was
  EXPECT_EQ(arrived_segments(600, 540, 30, 30), 600);  // late, not lost
  EXPECT_EQ(arrived_segments(600, 540, 30, 12), 582);
  EXPECT_EQ(arrived_segments(600, 580, 9999, 0), 580);  // joined when sent again
  EXPECT_EQ(arrived_segments(600, 603, 0, 0), 603);     // duplicates count
  EXPECT_EQ(arrived_segments(600, 590, -1, 5), 600);
}

TEST(Stream, UnknownKindsAreRefused) {
  const StreamEvidence out = run_stream(ends_on_loopback(1), {"sideways", 1, 0, 0}, call_within(9));
  EXPECT_THAT(out.error, HasSubstr("sideways"));
}

TEST(Stream, SaysWhatStoodInTheWay) {
  EXPECT_THAT(run_stream(ends_on_loopback(test::free_port()), {}, call_within(2000)).error,
              HasSubstr("ECONNREFUSED"));
  const Stranger stranger([](int fd) {
    const std::string text = "220 mail\n";
    EXPECT_GT(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), 0);
    wait_for(fd, POLLIN, call_within(300));
  });
  EXPECT_THAT(run_stream(ends_on_loopback(stranger.port()), {}, call_within(2000)).error,
              HasSubstr("stranger"));
  const Stranger silent([](int fd) { wait_for(fd, 0, call_within(600)); });
  const int64_t begin = monotonic_ns();
  EXPECT_THAT(run_stream(ends_on_loopback(silent.port()), {}, call_within(400)).error,
              HasSubstr("no answer after connecting"));
  EXPECT_LT(monotonic_ns() - begin, 2 * kSecond);
}

// Answers the line of a probe as ours would, and then does as it likes.
void answer_ok(int fd) {
  std::string line;
  char byte = 0;
  while (line.empty() || line.back() != '\n') {
    if (!wait_for(fd, POLLIN, call_within(2000)) || ::recv(fd, &byte, 1, 0) != 1) return;
    line += byte;
  }
  const std::string nonce = line.substr(9, line.find(' ', 9) - 9);
  const std::string answer = "PLPROBE1 ok " + nonce + "\n";
  EXPECT_GT(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL), 0);
}

TEST(Stream, APeerThatStopsReadingIsNotWaitedForForever) {
  const Stranger stuck([](int fd) {
    answer_ok(fd);
    wait_for(fd, 0, call_within(2500));
  });
  const int64_t begin = monotonic_ns();
  const StreamEvidence out =
      run_stream(ends_on_loopback(stuck.port()), {"one_way", 200, 0, 0}, call_within(10'000));
  EXPECT_LT(monotonic_ns() - begin, 3 * kSecond);
  EXPECT_GT(out.limited_by_receiver, 0.3);
  EXPECT_GT(out.bytes, 0);  // what its kernel took
}

TEST(Stream, APeerThatResetsIsAnError) {
  const Stranger gone([](int fd) {
    answer_ok(fd);
    const linger reset{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  });
  const StreamEvidence out =
      run_stream(ends_on_loopback(gone.port()), {"one_way", 500, 0, 0}, call_within(5000));
  EXPECT_NE(out.error, "");
}

TEST(Stream, ALyingReportIsAnError) {
  const Stranger liar([](int fd) {
    answer_ok(fd);
    const std::string text = "PLPROBE1 got -1 x\n" + std::string(1000, 'z');
    EXPECT_GT(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), 0);
    ::shutdown(fd, SHUT_WR);
    char buffer[65536];
    while (wait_for(fd, POLLIN, call_within(1000)) && ::recv(fd, buffer, sizeof buffer, 0) > 0) {
    }
  });
  const StreamEvidence out =
      run_stream(ends_on_loopback(liar.port()), {"one_way", 50, 0, 0}, call_within(5000));
  EXPECT_THAT(out.error, HasSubstr("without its count"));
}

TEST(Idle, LivesThroughThePause) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const PortTry out = try_after_idle(ends, {300, 5000}, call_within(10'000));
  EXPECT_EQ(out.result, "connected") << out.error;
  EXPECT_EQ(out.answer, "ours");
  EXPECT_EQ(out.port, ends.to.port());
}

TEST(Idle, EndOfTheListenerDuringThePauseIsNoTimeout) {
  auto hub = std::make_unique<ListenerHub>();
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(*hub, "a"));
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));  // it has connected by then
    hub.reset();
  });
  const int64_t began = monotonic_ns();
  const PortTry out = try_after_idle(ends, {8000, 5000}, call_within(20'000));
  end.join();
  EXPECT_EQ(out.result, "reset") << out.error;
  EXPECT_LT(monotonic_ns() - began, 7 * kSecond) << "the end is noticed at once";
}

TEST(Idle, WhatNeverWorkedWasNotTried) {
  const PairEnds ends = ends_on_loopback(test::free_port());
  const PortTry out = try_after_idle(ends, {50, 500}, call_within(10'000));
  EXPECT_EQ(out.result, "not_tried");
  EXPECT_NE(out.error, "");
}

TEST(RoundTrips, AreMeasured) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const auto times = measure_round_trips(ends, 50, call_within(10'000));
  ASSERT_TRUE(times.has_value()) << times.error().message();
  ASSERT_EQ(times->size(), 50u);
  for (const int64_t ns : *times) EXPECT_GT(ns, 0);
}

TEST(RoundTrips, EndInTime) {
  const Stranger deaf([](int fd) {
    answer_ok(fd);
    wait_for(fd, 0, call_within(1000));
  });
  const auto times = measure_round_trips(ends_on_loopback(deaf.port()), 50, call_within(300));
  ASSERT_FALSE(times.has_value());
  EXPECT_EQ(times.error().code, ErrorCode::kTimeout);
}

TEST(Transfer, AcknowledgesEverything) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const TransferResult out = transfer(ends, 3'000'001, kSecond, call_within(10'000));
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.acknowledged, 3'000'001);
  EXPECT_LT(out.stalled_ns, kSecond);
  EXPECT_GT(out.packet_bytes, 1000);
}

TEST(Transfer, NoticesAStall) {
  const Stranger stuck([](int fd) {
    answer_ok(fd);
    wait_for(fd, 0, call_within(1500));
  });
  const TransferResult out =
      transfer(ends_on_loopback(stuck.port()), 100 << 20, 300 * kMillisecond, call_within(10'000));
  EXPECT_GT(out.acknowledged, 0);
  EXPECT_LT(out.acknowledged, 100 << 20);
  EXPECT_GT(out.stalled_ns, 290 * kMillisecond);
  EXPECT_LT(out.stalled_ns, 2 * kSecond);
}

TEST(Burst, CountsItsSyns) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const auto out = connect_burst(ends, 30, 500, call_within(5000));
  ASSERT_TRUE(out.has_value()) << out.error().message();
  EXPECT_EQ(out->attempts, 30);
  EXPECT_GE(out->counters.at("tcp.out_segments"), 30);
  EXPECT_GE(out->counters.at("if.lo.rx_packets"), 30);
}

TEST(Burst, IsBounded) {
  const auto out =
      connect_burst(ends_on_loopback(test::free_port()), 1'000'000, 200, call_within(5000));
  ASSERT_TRUE(out.has_value());
  EXPECT_LE(out->attempts, kMaxBurst);
  EXPECT_GT(out->attempts, 200);
}

}  // namespace
}  // namespace plumbline
