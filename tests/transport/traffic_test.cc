// The floor below probes and link cells: waits that end, streams, round trips, numbered datagrams.
#include "transport/traffic/traffic.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <string>
#include <thread>

#include "core/fd.h"

namespace plumbline {
namespace {

Patience for_ms(int64_t ms) { return {Deadline::after_ms(ms)}; }

// Two ends of one TCP connection on loopback.
class TrafficTest : public testing::Test {
 protected:
  void SetUp() override {
    SocketAddress address = make_socket_address("127.0.0.1", 0).value();
    const Expected<Fd> listener = listen_on(address, {});
    ASSERT_TRUE(listener);
    address.set_port(local_address(listener->get()).port());
    Expected<Fd> from = start_connect(address, nullptr, "", {});
    ASSERT_TRUE(from);
    ASSERT_TRUE(await_ready(listener->get(), POLLIN, for_ms(5000)));
    Expected<Fd> to = accept_from(listener->get());
    ASSERT_TRUE(to && to->valid());
    ASSERT_TRUE(await_ready(from->get(), POLLOUT, for_ms(5000)));
    from_ = std::move(*from);
    to_ = std::move(*to);
  }

  Fd from_, to_;
};

TEST_F(TrafficTest, EveryWaitEndsAndSaysWhy) {
  char byte = 0;
  EXPECT_FALSE(receive_now(to_.get(), &byte, 1).value().has_value());
  EXPECT_EQ(receive_all(to_.get(), &byte, 1, for_ms(30)).error().code, ErrorCode::kTimeout);
  std::atomic<bool> ending{false};
  Patience patience = for_ms(60'000);
  patience.ended = [&] { return ending.load(); };
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ending = true;
  });
  EXPECT_EQ(receive_all(to_.get(), &byte, 1, patience).error().code, ErrorCode::kAborted);
  ends.join();
  EXPECT_TRUE(patience.over());
  from_.reset();
  EXPECT_EQ(receive_all(to_.get(), &byte, 1, for_ms(5000)).error().code, ErrorCode::kPeerLost);
}

TEST_F(TrafficTest, RoundTripsGoOnUntilTheLastMessage) {
  Status ended;
  std::thread answers([&] {
    EchoSettings settings;
    settings.bytes = 8;
    settings.heeds_last = true;
    ended = echo_messages(to_.get(), settings, for_ms(10'000));
  });
  std::string message(8, '\0');
  for (int i = 0; i < 20; ++i) {
    const Expected<int64_t> ns = round_trip(from_.get(), message, for_ms(5000));
    ASSERT_TRUE(ns) << ns.error().message();
    EXPECT_GT(*ns, 0);
  }
  message.front() = kLastMessage;
  EXPECT_TRUE(send_all(from_.get(), message.data(), message.size(), for_ms(5000)));
  answers.join();
  EXPECT_TRUE(ended) << ended.error().message();
}

TEST_F(TrafficTest, AnEchoBeginsWithWhatWasReadBefore) {
  std::thread answers([&] {
    EchoSettings settings;
    settings.bytes = 4;
    settings.early = "abcde";
    EXPECT_EQ(echo_messages(to_.get(), settings, for_ms(10'000)).error().code,
              ErrorCode::kPeerLost);
  });
  EXPECT_TRUE(send_all(from_.get(), "fgh", 3, for_ms(5000)));
  std::string back(8, ' ');
  EXPECT_TRUE(receive_all(from_.get(), back.data(), back.size(), for_ms(5000)));
  EXPECT_EQ(back, "abcdefgh");
  from_.reset();
  answers.join();
}

TEST_F(TrafficTest, AStreamEndsAfterItsBytesOrItsTime) {
  StreamLoad load;
  load.bytes = 1000;
  StreamSource few(from_.get(), load);
  EXPECT_TRUE(few.run(for_ms(5000)));
  EXPECT_TRUE(few.done());
  EXPECT_EQ(few.sent(), 1000);
  // Nobody reads: it fills the buffers, and its time ends it all the same.
  load.bytes = INT64_MAX;
  load.until = Deadline::after_ms(100);
  StreamSource stuck(from_.get(), load);
  const int64_t begin = monotonic_ns();
  EXPECT_TRUE(stuck.run(for_ms(60'000)));
  EXPECT_GT(stuck.sent(), 1000);
  EXPECT_LT(monotonic_ns() - begin, 5 * kSecond);
}

TEST_F(TrafficTest, MessagesComeAtTheirPace) {
  StreamLoad load;
  load.until = Deadline::after_ms(200);
  load.message_bytes = 100;
  load.gap_ns = 10 * kMillisecond;
  StreamSource source(from_.get(), load);
  EXPECT_TRUE(source.run(for_ms(5000)));
  EXPECT_EQ(source.sent() % 100, 0);
  EXPECT_GT(source.sent(), 0);
  EXPECT_LE(source.sent(), 100 * 22);
}

TEST(Pace, MakesUpForNoMoreThanItsBurst) {
  Pace pace(kMillisecond, 5);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  int at_once = 0;
  while (pace.due_ns() <= monotonic_ns() && at_once < 60) {
    pace.next();
    ++at_once;
  }
  EXPECT_GE(at_once, 5);
  EXPECT_LT(at_once, 40) << "of sixty that were due";
}

TEST(NumberedDatagrams, AreCountedAtBothEnds) {
  const SocketAddress here = make_socket_address("127.0.0.1", 0).value();
  const Expected<Fd> to = open_datagram(here, 1 << 20), from = open_datagram(here, 0);
  ASSERT_TRUE(to && from);
  const SocketAddress where = local_address(to->get());
  DatagramLoad load;
  load.count = 50;
  std::string text;
  const auto fill = [&](uint64_t number, int64_t) -> std::string_view {
    return text = std::to_string(number);
  };
  const DatagramsSent sent = send_numbered(from->get(), &where, load, fill, for_ms(10'000));
  EXPECT_TRUE(sent.status) << sent.status.error().message();
  EXPECT_EQ(sent.sent, 50u);
  EXPECT_EQ(sent.refused, 0u);
  EXPECT_GE(sent.duration_ns, 40 * kMillisecond) << "one in a millisecond";
  char buffer[16];
  for (uint64_t number = 0; number < 50; ++number) {
    const auto got = receive_datagram(to->get(), buffer, sizeof buffer);
    ASSERT_TRUE(got && *got) << number;
    EXPECT_EQ(std::string(buffer, **got), std::to_string(number));
  }
  EXPECT_FALSE(receive_datagram(to->get(), buffer, sizeof buffer).value().has_value());
  EXPECT_EQ(socket_drops(to->get()).value_or(0), 0u);
}

TEST(NumberedDatagrams, APeerThatListensNoMoreTakesNone) {
  const SocketAddress here = make_socket_address("127.0.0.1", 0).value();
  Expected<Fd> gone = open_datagram(here, 0);
  const Expected<Fd> from = open_datagram(here, 0);
  ASSERT_TRUE(gone && from);
  ASSERT_TRUE(connect_datagram(from->get(), local_address(gone->get())));
  gone->reset();
  DatagramLoad load;
  load.count = 20;
  const auto fill = [](uint64_t, int64_t) -> std::string_view { return "x"; };
  const DatagramsSent sent = send_numbered(from->get(), nullptr, load, fill, for_ms(10'000));
  EXPECT_TRUE(sent.status);
  EXPECT_EQ(sent.sent + sent.refused, 20u);
  EXPECT_GT(sent.refused, 0u);
  EXPECT_EQ(sent.refusal, ECONNREFUSED);
}

}  // namespace
}  // namespace plumbline
