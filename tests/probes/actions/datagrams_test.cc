#include "probes/actions/datagrams.h"

#include <gmock/gmock.h>

#include "actions/support.h"
#include "core/clock.h"
#include "probes/actions/ends.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kKeepMs = 20'000, kSettleMs = 2'000;

DatagramHub::Opened open(DatagramHub& hub, const std::string& id = "x",
                         const std::string& ip = "127.0.0.1") {
  const auto opened = hub.open(id, {ip, ""}, kKeepMs);
  EXPECT_TRUE(opened.has_value()) << opened.error().message();
  return opened ? *opened : DatagramHub::Opened{};
}

DatagramHub::Counted close_stream(DatagramHub& hub, int64_t expected, const std::string& id = "x") {
  const auto counted = hub.close(id, expected, kSettleMs, test::call_within(10'000));
  EXPECT_TRUE(counted.has_value()) << counted.error().message();
  return counted ? *counted : DatagramHub::Counted{};
}

// Sends single datagrams of any text to a port of this host.
class RawSender {
 public:
  explicit RawSender(int port) : fd_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    to_ = make_socket_address("127.0.0.1", static_cast<uint16_t>(port)).value();
  }
  void send(const std::string& text) {
    EXPECT_EQ(::sendto(fd_.get(), text.data(), text.size(), 0, to_.get(), to_.length),
              static_cast<ssize_t>(text.size()));
  }

 private:
  Fd fd_;
  SocketAddress to_;
};

TEST(Datagrams, AllArriveAtAnIdleHost) {
  for (const char* ip : {"127.0.0.1", "::1"}) {
    if (!listen_on(make_socket_address(ip, 0).value(), {})) continue;  // no IPv6 here
    DatagramHub hub;
    const auto opened = open(hub, "x", ip);
    const auto sent = send_datagrams(test::ends_on_loopback(opened.port, ip, ip),
                                     {opened.token, 200, 2000}, test::call_within(5000));
    EXPECT_THAT(sent.error, IsEmpty());
    EXPECT_EQ(sent.sent, 200);
    EXPECT_EQ(sent.rate_per_s, 2000);
    EXPECT_GE(sent.duration_ns, 90 * kMillisecond) << "paced";
    const auto counted = close_stream(hub, sent.sent);
    EXPECT_EQ(counted.received + counted.overflow, 200);
    EXPECT_EQ(counted.duplicates, 0);
    EXPECT_EQ(counted.strangers, 0);
  }
}

TEST(Datagrams, MissingAndRepeatedNumbersAreTold) {
  DatagramHub hub;
  const auto opened = open(hub);
  RawSender sender(opened.port);
  for (const int64_t number : {0, 1, 1, 3, 9, 3, 3}) {
    sender.send(probe_line({opened.token, "count", number}));
  }
  const auto counted = close_stream(hub, 10);
  EXPECT_EQ(counted.received, 4);
  EXPECT_EQ(counted.duplicates, 3);
}

TEST(Datagrams, StrangersCountForNothing) {
  DatagramHub hub;
  const auto opened = open(hub);
  EXPECT_EQ(opened.token.size(), 16u) << "64 bits";
  RawSender sender(opened.port);
  std::string other = opened.token;
  other[7] = other[7] == '0' ? '1' : '0';
  for (const std::string& text :
       {probe_line({other, "count", 1}), probe_line({opened.token, "size", 1}),
        probe_line({opened.token, "count", kMaxDatagrams}), std::string("PLPROBE1 "), std::string(),
        std::string(3000, '\xff'), "PLPROBE1 " + opened.token + " count -1\n",
        "PLPROBE1 " + opened.token + " count 1"}) {
    sender.send(text);
  }
  sender.send(probe_line({opened.token, "count", kMaxDatagrams - 1}));
  const auto counted = close_stream(hub, 2);
  EXPECT_EQ(counted.received, 1);
  EXPECT_EQ(counted.strangers, 8);
}

TEST(Datagrams, AFullSocketIsNoLoss) {
  DatagramHub hub;
  const auto opened = open(hub);
  // Far more at once than any buffer holds, so that a reader that is not quick loses some.
  RawSender sender(opened.port);
  for (int64_t i = 0; i < 20'000; ++i) sender.send(probe_line({opened.token, "count", i}));
  const auto counted = close_stream(hub, 20'000);
  EXPECT_EQ(counted.received + counted.overflow, 20'000);
}

TEST(Datagrams, WaitingEndsWithTheSettleTime) {
  DatagramHub hub;
  const auto opened = open(hub);
  RawSender(opened.port).send(probe_line({opened.token, "count", 0}));
  int64_t begin = monotonic_ns();
  EXPECT_EQ(close_stream(hub, 5).received, 1);
  EXPECT_GE(monotonic_ns() - begin, kSettleMs * kMillisecond);
  EXPECT_LT(monotonic_ns() - begin, 9 * kSecond) << "the call's own time was waited for, 10 s";
  open(hub);
  begin = monotonic_ns();
  EXPECT_EQ(close_stream(hub, 5).received, 0) << "nothing at all is not waited for so long";
  EXPECT_LT(monotonic_ns() - begin, kSettleMs * kMillisecond);
}

TEST(Datagrams, SendingEndsWithItsDeadline) {
  DatagramHub hub;
  const auto opened = open(hub);
  const int64_t begin = monotonic_ns();
  const auto sent = send_datagrams(test::ends_on_loopback(opened.port), {opened.token, 10'000, 100},
                                   test::call_within(200));
  EXPECT_LT(monotonic_ns() - begin, 5 * kSecond);
  EXPECT_GT(sent.sent, 0);
  EXPECT_LE(sent.sent, 40) << "never faster than asked for";
  EXPECT_EQ(close_stream(hub, sent.sent).received, sent.sent);
}

TEST(Datagrams, CountingEndsByItself) {
  DatagramHub hub;
  const auto opened = hub.open("x", {"127.0.0.1", ""}, 50).value();
  const int64_t until = monotonic_ns() + 300 * kMillisecond;
  while (monotonic_ns() < until) {
  }
  RawSender(opened.port).send(probe_line({opened.token, "count", 0}));
  EXPECT_EQ(close_stream(hub, 1).received, 0);
}

TEST(Datagrams, ThatCannotBeSentAreAnError) {
  const auto ends = make_ends("203.0.113.1", "127.0.0.1", "", 9).value();  // not an own address
  const auto sent = send_datagrams(ends, {"t", 10, 1000}, test::call_within(1000));
  EXPECT_EQ(sent.sent, 0);
  EXPECT_THAT(sent.error, HasSubstr("203.0.113.1"));
}

TEST(Datagrams, SocketsAreBounded) {
  DatagramHub hub;
  open(hub);
  EXPECT_FALSE(hub.open("x", {"127.0.0.1", ""}, kKeepMs).has_value()) << "the id is taken";
  for (size_t i = 1; i < kMaxDatagramSockets; ++i) open(hub, std::to_string(i));
  EXPECT_FALSE(hub.open("more", {"127.0.0.1", ""}, kKeepMs).has_value());
  close_stream(hub, 0);
  open(hub, "more");
  EXPECT_FALSE(hub.open("y", {"203.0.113.1", ""}, kKeepMs).has_value()) << "not an own address";
  EXPECT_FALSE(hub.close("nobody", 0, 0, test::call_within(1000)).has_value());
}

}  // namespace
}  // namespace plumbline
