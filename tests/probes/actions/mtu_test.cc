#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "actions/support.h"
#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/stream.h"

namespace plumbline {
namespace {

using test::call_within;
using test::ends_on_loopback;
using testing::HasSubstr;

// A deaf or a slow peer of the datagrams beside a TCP listener of ours on the same port.
struct OddDatagrams {
  explicit OddDatagrams(int64_t answer_after_ms) {
    const auto address = make_socket_address("127.0.0.1", 0);
    socket = Fd(::socket(AF_INET, SOCK_DGRAM, 0));
    usable = ::bind(socket.get(), address->get(), address->length) == 0;
    port = local_address(socket.get()).port();
    const auto states = hub.listen("a", {{"127.0.0.1", ""}}, {port}, call_within(1000));
    usable = usable && (*states)[0].listener == "up";
    if (answer_after_ms > 0) {
      thread = std::thread([this, answer_after_ms] { answer(answer_after_ms * kMillisecond); });
    }
  }
  ~OddDatagrams() {
    ending = true;
    if (thread.joinable()) thread.join();
  }

  // Every datagram is confirmed, that much later.
  void answer(int64_t after_ns) {
    struct Late {
      int64_t at_ns = 0;
      std::string text;
      sockaddr_in to{};
    };
    std::vector<Late> late;
    while (!ending) {
      if (wait_for(socket.get(), POLLIN, call_within(5))) {
        std::array<char, 65536> buffer{};
        Late one;
        socklen_t length = sizeof one.to;
        const ssize_t got = ::recvfrom(socket.get(), buffer.data(), buffer.size(), 0,
                                       reinterpret_cast<sockaddr*>(&one.to), &length);
        const std::string text(buffer.data(), got > 0 ? static_cast<size_t>(got) : 0);
        auto line = parse_probe_line(text.substr(0, text.find('\n') + 1));
        if (!line) continue;
        line->argument = got;
        one.text = probe_line(*line);
        one.at_ns = monotonic_ns() + after_ns;
        late.push_back(one);
      }
      while (!late.empty() && late.front().at_ns <= monotonic_ns()) {
        ::sendto(socket.get(), late.front().text.data(), late.front().text.size(), 0,
                 reinterpret_cast<const sockaddr*>(&late.front().to), sizeof(sockaddr_in));
        late.erase(late.begin());
      }
    }
  }

  Fd socket;
  int port = 0;
  bool usable = false;
  ListenerHub hub;
  std::atomic<bool> ending{false};
  std::thread thread;
};

TEST(Mtu, OfLoopback) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const MtuEvidence out = probe_mtu(ends, {9000, 200'000, 2000}, call_within(10'000));
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.method, "udp");
  EXPECT_EQ(out.interface_mtu, 9000);
  EXPECT_EQ(out.largest_delivered, 9000);
  EXPECT_EQ(out.smallest_lost, 0);
  EXPECT_EQ(out.transferred, 200'000);
}

TEST(Mtu, AsksTheSystemForTheInterfaces) {
  ListenerHub hub;
  const PairEnds ends = ends_on_loopback(test::listen_somewhere(hub, "a"));
  const MtuEvidence out = probe_mtu(ends, {0, 1000, 2000}, call_within(10'000));
  EXPECT_GE(out.interface_mtu, 65535);
  EXPECT_EQ(out.largest_delivered, 65535);  // what an IP packet can have
}

TEST(Mtu, FallsBackToTcpWhereDatagramsGetNowhere) {
  // TCP alone: ours listens, but the datagrams go to a port that a deaf socket holds.
  const Fd deaf(::socket(AF_INET, SOCK_DGRAM, 0));
  ASSERT_EQ(::bind(deaf.get(), make_socket_address("127.0.0.1", 0)->get(), sizeof(sockaddr_in)), 0);
  const int port = local_address(deaf.get()).port();
  ListenerHub hub;
  const auto states = hub.listen("a", {{"127.0.0.1", ""}}, {port}, call_within(1000));
  if ((*states)[0].listener != "up") GTEST_SKIP() << "the port is taken for TCP";
  EXPECT_FALSE((*states)[0].udp);
  const MtuEvidence out =
      probe_mtu(ends_on_loopback(port), {1500, 300'000, 2000}, call_within(10'000));
  EXPECT_EQ(out.method, "tcp");
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.transferred, 300'000);
  EXPECT_GT(out.largest_delivered, 1000);
}

TEST(Mtu, SilenceEndsTheSearchInTheTimeGivenForIt) {
  const OddDatagrams deaf(0);
  if (!deaf.usable) GTEST_SKIP() << "the port is taken for TCP";
  for (const int64_t silence_ms : {200, 0}) {
    MtuSettings settings{1500, 1000, 2000};
    settings.silence_ms = silence_ms;
    const int64_t begin = monotonic_ns();
    const MtuEvidence out = probe_mtu(ends_on_loopback(deaf.port), settings, call_within(10'000));
    const int64_t took = monotonic_ns() - begin;
    EXPECT_EQ(out.method, "tcp");
    EXPECT_EQ(out.small_sent, 5);
    EXPECT_EQ(out.small_lost, 5);
    EXPECT_EQ(out.transferred, 1000);
    EXPECT_GE(took, (silence_ms > 0 ? silence_ms : 1500) * kMillisecond);
    if (silence_ms > 0) {
      EXPECT_LT(took, 1200 * kMillisecond);
    }
  }
}

TEST(Mtu, AnAnswerThatComesLateIsAnAnswerAllTheSame) {
  const OddDatagrams slow(100);
  if (!slow.usable) GTEST_SKIP() << "the port is taken for TCP";
  MtuSettings settings{1500, 1000, 3000};
  settings.silence_ms = 400;  // a smallest one every 80 ms
  const MtuEvidence out = probe_mtu(ends_on_loopback(slow.port), settings, call_within(10'000));
  EXPECT_EQ(out.method, "udp");
  EXPECT_EQ(out.largest_delivered, 1500);
  EXPECT_GE(out.small_sent, 2);
  EXPECT_EQ(out.small_lost, 0);  // late, not lost
}

TEST(Mtu, OfNobody) {
  const MtuEvidence out =
      probe_mtu(ends_on_loopback(test::free_port()), {1500, 1000, 500}, call_within(5000));
  EXPECT_EQ(out.largest_delivered, 0);
  EXPECT_EQ(out.transferred, 0);
  EXPECT_THAT(out.error, HasSubstr("ECONNREFUSED"));
}

}  // namespace
}  // namespace plumbline
