#include "probes/actions/connector.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <cerrno>

#include "actions/support.h"

namespace plumbline {
namespace {

using test::call_within;
using test::Stranger;

PortTry try_port(int port, int64_t timeout_ms = 5'000, const std::string& to = "127.0.0.1") {
  const PairEnds ends = make_ends("", to, "", 0).value();
  return connect_ports(ends, {port}, timeout_ms, "nonce", call_within(10'000)).at(0).attempt;
}

void say(int fd, const std::string& text) {
  EXPECT_GE(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), 0);
}

TEST(Connector, RefusedByNobody) {
  const PortTry tried = try_port(test::free_port());
  EXPECT_EQ(tried.result, "refused");
  EXPECT_EQ(tried.error, "ECONNREFUSED");
  EXPECT_FALSE(tried.icmp.has_value());
  EXPECT_EQ(tried.answer, "");
}

TEST(Connector, KnowsAStrangerByHisFirstBytes) {
  const Stranger ssh([](int fd) { say(fd, "SSH-2.0-OpenSSH_9.2\r\n"); });
  const PortTry tried = try_port(ssh.port());
  EXPECT_EQ(tried.result, "connected");
  EXPECT_EQ(tried.answer, "stranger");
  EXPECT_EQ(tried.stranger_bytes, "SSH-2.0-OpenSSH_9.2\\r\\n");
}

TEST(Connector, AWebServerIsAStranger) {
  const Stranger web([](int fd) {
    char line[100];
    if (wait_for(fd, POLLIN, call_within(1000)) && ::recv(fd, line, sizeof line, 0) > 0) {
      say(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
    }
  });
  EXPECT_EQ(try_port(web.port()).answer, "stranger");
}

TEST(Connector, AnEchoIsAStranger) {
  const Stranger echo([](int fd) {
    char line[100];
    if (!wait_for(fd, POLLIN, call_within(1000))) return;
    const ssize_t got = ::recv(fd, line, sizeof line, 0);
    if (got > 0) say(fd, {line, static_cast<size_t>(got)});
  });
  EXPECT_EQ(try_port(echo.port()).answer, "stranger");
}

TEST(Connector, AnotherNonceIsAStranger) {
  const Stranger replay([](int fd) { say(fd, "PLPROBE1 ok other\n"); });
  EXPECT_EQ(try_port(replay.port()).answer, "stranger");
}

TEST(Connector, BytesBehindTheAnswerMakeAStranger) {
  const Stranger more([](int fd) { say(fd, "PLPROBE1 ok nonce\nand more"); });
  EXPECT_EQ(try_port(more.port()).answer, "stranger");
}

TEST(Connector, SilentOnesCostTheTimeoutAndNoMore) {
  const Stranger silent([](int fd) {
    char line[100];
    while (wait_for(fd, POLLIN, call_within(3000)) && ::recv(fd, line, sizeof line, 0) > 0) {
    }
  });
  const int64_t begin = monotonic_ns();
  const PortTry tried = try_port(silent.port(), 300);
  EXPECT_EQ(tried.result, "connected");
  EXPECT_EQ(tried.answer, "silent");
  EXPECT_LT(monotonic_ns() - begin, 2 * kSecond);
  EXPECT_GT(monotonic_ns() - begin, 250 * kMillisecond);
}

TEST(Connector, HalfAnAnswerIsNoAnswer) {
  const Stranger half([](int fd) {
    say(fd, "PLPROBE1 ok no");
    wait_for(fd, 0, call_within(600));
  });
  EXPECT_EQ(try_port(half.port(), 200).answer, "silent");
}

TEST(Connector, ClosingAtOnceIsTold) {
  const Stranger closing([](int) {});
  EXPECT_EQ(try_port(closing.port()).answer, "closed");
}

TEST(Connector, AFloodIsReadOnce) {
  const Stranger flood([](int fd) {
    const std::string block(1 << 16, 'F');
    const AgentCall call = call_within(3000);
    while (wait_for(fd, POLLOUT, call) &&
           ::send(fd, block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
    }
  });
  const PortTry tried = try_port(flood.port());
  EXPECT_EQ(tried.answer, "stranger");
  EXPECT_LE(tried.stranger_bytes.size(), 400u);
}

TEST(Connector, AListenerOnAnotherAddressDoesNotAnswer) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a", "127.0.0.2");
  EXPECT_EQ(try_port(port, 5'000, "127.0.0.2").answer, "ours");
  EXPECT_EQ(try_port(port, 5'000, "127.0.0.1").result, "refused");
}

TEST(Connector, UsesTheSourceAddressAndTellsThePort) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  const PairEnds ends = make_ends("127.0.0.5", "127.0.0.1", "", 0).value();
  const auto tried = connect_ports(ends, {port}, 5'000, "nonce", call_within(10'000));
  EXPECT_EQ(tried[0].attempt.answer, "ours");
  EXPECT_EQ(hub.heard("a")->accepted[0].peer_ip, "127.0.0.5");
  EXPECT_EQ(hub.heard("a")->accepted[0].peer_port, tried[0].source_port);
}

TEST(Connector, ASourceThatIsNotHere) {
  const PairEnds ends = make_ends("192.0.2.99", "127.0.0.1", "", 0).value();
  const auto tried = connect_ports(ends, {80}, 500, "nonce", call_within(5000));
  EXPECT_EQ(tried[0].attempt.result, "error");
  EXPECT_EQ(tried[0].attempt.error, "EADDRNOTAVAIL");
}

TEST(Connector, ThreeHundredPortsAtOnce) {
  ListenerHub hub;
  std::vector<int> listening, ports;
  for (int i = 0; i < 100; ++i) listening.push_back(42000 + 3 * i);
  for (int i = 0; i < 300; ++i) ports.push_back(42000 + i);
  ASSERT_TRUE(hub.listen("a", {{"127.0.0.78", ""}}, listening, call_within(20'000)).has_value());
  const PairEnds ends = make_ends("", "127.0.0.78", "", 0).value();
  const auto tried = connect_ports(ends, ports, 2000, "nonce", call_within(20'000));
  ASSERT_EQ(tried.size(), 300u);
  for (size_t i = 0; i < tried.size(); ++i) {
    EXPECT_EQ(tried[i].attempt.port, ports[i]);
    EXPECT_EQ(tried[i].attempt.result, i % 3 == 0 ? "connected" : "refused");
    EXPECT_EQ(tried[i].attempt.answer, i % 3 == 0 ? "ours" : "");
  }
  EXPECT_EQ(hub.heard("a")->accepted.size(), 100u);
}

TEST(Connector, WrongPortsAreErrors) {
  const PairEnds ends = make_ends("", "127.0.0.1", "", 0).value();
  for (const int port : {0, -1, 65536}) {
    EXPECT_EQ(connect_ports(ends, {port}, 100, "n", call_within(1000))[0].attempt.result, "error");
  }
  EXPECT_TRUE(connect_ports(ends, {}, 100, "n", call_within(1000)).empty());
}

TEST(Connector, WithoutTimeNothingIsTried) {
  const PairEnds ends = make_ends("", "127.0.0.1", "", 0).value();
  const auto tried = connect_ports(ends, {1, 2}, 100, "n", call_within(0));
  ASSERT_EQ(tried.size(), 2u);
  EXPECT_EQ(tried[1].attempt.result, "not_tried");
  EXPECT_EQ(tried[1].attempt.port, 2);
}

TEST(Connector, EndsWithTheAgent) {
  const Stranger silent([](int fd) { wait_for(fd, 0, call_within(1000)); });
  std::atomic<bool> ending{false};
  std::thread end([&] {
    ::poll(nullptr, 0, 100);
    ending = true;
  });
  const PairEnds ends = make_ends("", "127.0.0.1", "", 0).value();
  const int64_t begin = monotonic_ns();
  connect_ports(ends, {silent.port()}, 20'000, "n", {Deadline::after_ms(20'000), &ending});
  EXPECT_LT(monotonic_ns() - begin, 3 * kSecond);
  end.join();
}

TEST(ConnectResult, OfErrorNumbers) {
  EXPECT_EQ(connect_result(ECONNREFUSED, false), "refused");
  EXPECT_EQ(connect_result(ECONNREFUSED, true), "refused");
  EXPECT_EQ(connect_result(EHOSTUNREACH, true), "unreachable");
  EXPECT_EQ(connect_result(ENETUNREACH, false), "unreachable");
  EXPECT_EQ(connect_result(EACCES, false), "denied");
  EXPECT_EQ(connect_result(EACCES, true), "unreachable");
  EXPECT_EQ(connect_result(ETIMEDOUT, false), "timeout");
  EXPECT_EQ(connect_result(ECONNRESET, false), "reset");
  EXPECT_EQ(connect_result(EMFILE, false), "error");
}

TEST(Ends, AreChecked) {
  EXPECT_FALSE(make_ends("", "nowhere", "", 0).has_value());
  EXPECT_FALSE(make_ends("::1", "127.0.0.1", "", 0).has_value());
  EXPECT_FALSE(make_ends("", "127.0.0.1", "", 70000).has_value());
  EXPECT_FALSE(make_ends("", "fe80::1", "", 0).has_value());
  EXPECT_FALSE(make_ends("", "fe80::1", "no-such-if", 0).has_value());
  EXPECT_TRUE(make_ends("", "fe80::1", "lo", 0).has_value());
}

}  // namespace
}  // namespace plumbline
