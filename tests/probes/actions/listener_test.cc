#include "probes/actions/listener.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>

#include <chrono>
#include <thread>

#include "actions/support.h"
#include "core/clock.h"
#include "probes/actions/connector.h"
#include "probes/actions/ends.h"
#include "tests/support/ports.h"

namespace plumbline {
namespace {

using test::call_within;
using testing::HasSubstr;

std::vector<ConnectAttempt> hello(int port, const std::string& nonce = "n1",
                                  const std::string& ip = "127.0.0.1") {
  return connect_ports(make_ends("", ip, "", 0).value(), {port}, 2000, nonce, call_within(5000));
}

TEST(Listener, AnswersItsOwnAndRemembersWho) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  const auto tried = hello(port, "abc");
  EXPECT_EQ(tried[0].attempt.result, "connected");
  EXPECT_EQ(tried[0].attempt.answer, "ours");
  EXPECT_EQ(tried[0].attempt.stranger_bytes, "");
  EXPECT_GT(tried[0].source_port, 0);
  const auto heard = hub.heard("a");
  ASSERT_TRUE(heard.has_value());
  ASSERT_EQ(heard->accepted.size(), 1u);
  EXPECT_EQ(heard->accepted[0].ip, "127.0.0.1");
  EXPECT_EQ(heard->accepted[0].port, port);
  EXPECT_EQ(heard->accepted[0].peer_ip, "127.0.0.1");
  EXPECT_EQ(heard->accepted[0].peer_port, tried[0].source_port);
  EXPECT_EQ(heard->accepted[0].nonce, "abc");
}

// Whether somebody who does not ask for SO_REUSEADDR gets the port: connections in TIME-WAIT keep
// it.
bool is_quite_free(int port) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
  const auto address = make_socket_address("127.0.0.1", static_cast<uint16_t>(port)).value();
  return ::bind(fd.get(), address.get(), address.length) == 0;
}

TEST(Listener, LeavesNoTimeWaitBehind) {
  ListenerHub hub;
  int port = test::free_port();
  for (int i = 0; i < 1000 && !is_quite_free(port); ++i) {
    port = test::free_port();  // a test that ended has left its connections there
  }
  ASSERT_EQ(hub.listen("a", {{"127.0.0.1", ""}}, {port}, call_within(5000))->front().listener,
            "up");
  EXPECT_EQ(hello(port)[0].attempt.answer, "ours");
  test::raw_client(port, "nonsense\n");
  ASSERT_TRUE(hub.unlisten("a").has_value());
  // Free as soon as the last acknowledgements are through; TIME-WAIT would keep it for a minute.
  const Deadline deadline = Deadline::after_ms(5000);
  bool free = is_quite_free(port);
  for (; !free && !deadline.passed(); free = is_quite_free(port)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(free) << port;
}

TEST(Listener, StrangersGetNothing) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(100'000, 'x'),
        std::string(1000, '\0'), std::string("PLPROBE1 n nomode 0\n"),
        std::string("PLPROBE1 n hello -5\n"), "PLPROBE1 " + std::string(500, 'n')}) {
    const Fd client = test::raw_client(port, text);
    const std::string answer = test::read_all(client.get());
    EXPECT_THAT(answer, testing::AnyOf("", "<reset>")) << text.substr(0, 40);
  }
  EXPECT_EQ(hello(port)[0].attempt.answer, "ours");  // and it still works
  const auto heard = hub.heard("a");
  ASSERT_EQ(heard->accepted.size(), 7u);
  EXPECT_EQ(heard->accepted[0].nonce, "");
  EXPECT_EQ(heard->accepted[6].nonce, "n1");
}

TEST(Listener, TakesALineInPieces) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  const Fd client = test::raw_client(port, "");
  for (const char c : probe_line({"slow", "hello", 0})) {
    ASSERT_EQ(::send(client.get(), &c, 1, MSG_NOSIGNAL), 1);
    ::poll(nullptr, 0, 2);
  }
  char buffer[64] = "";
  ASSERT_TRUE(wait_for(client.get(), POLLIN, call_within(5000)));
  EXPECT_EQ(::recv(client.get(), buffer, sizeof buffer, 0), 17);
  EXPECT_STREQ(buffer, "PLPROBE1 ok slow\n");
}

TEST(Listener, SilentStrangersAreEndedAfterAWhile) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  const Fd client = test::raw_client(port, "");
  const int64_t begin = monotonic_ns();
  EXPECT_EQ(test::read_all(client.get()), "<reset>");
  EXPECT_GT(monotonic_ns() - begin, 3 * kSecond);
}

TEST(Listener, ManyStrangersDoNotKeepOursOut) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  std::vector<Fd> crowd;
  for (int i = 0; i < 300; ++i) crowd.push_back(test::raw_client(port, ""));
  crowd.resize(100);  // the places of those that left are free again
  std::string answer;
  for (int i = 0; i < 50 && answer != "ours"; ++i) answer = hello(port)[0].attempt.answer;
  EXPECT_EQ(answer, "ours");
}

TEST(Listener, SaysWhoHoldsAPort) {
  const Fd held = listen_on(make_socket_address("127.0.0.1", 0).value(), {}).value();
  const int port = local_address(held.get()).port();
  ListenerHub hub;
  const auto states =
      hub.listen("a", {{"127.0.0.1", ""}, {"127.0.0.9", ""}}, {port}, call_within(5000));
  ASSERT_TRUE(states.has_value());
  EXPECT_EQ((*states)[0].listener, "in_use");
  EXPECT_EQ((*states)[0].error, "EADDRINUSE");
  EXPECT_THAT((*states)[0].holder, HasSubstr("PID " + std::to_string(::getpid()) + " ("));
  EXPECT_EQ((*states)[1].listener, "up");  // another address is free
  EXPECT_EQ((*states)[1].holder, "");
  EXPECT_TRUE((*states)[1].udp);
}

TEST(Listener, SaysWhyItCannotListen) {
  ListenerHub hub;
  const auto states = hub.listen("a", {{"192.0.2.77", ""}, {"no address", ""}, {"127.0.0.1", ""}},
                                 {70000}, call_within(5000));
  ASSERT_TRUE(states.has_value());
  for (const ListenState& state : *states) EXPECT_EQ(state.listener, "failed");
  const auto elsewhere = hub.listen("b", {{"192.0.2.77", ""}, {"nowhere", ""}}, {test::free_port()},
                                    call_within(5000));
  EXPECT_EQ((*elsewhere)[0].error, "EADDRNOTAVAIL");
  EXPECT_THAT((*elsewhere)[1].error, HasSubstr("is not an IPv4 or IPv6 address"));
}

TEST(Listener, IdsAreSeparateThoughTheyShareAPort) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  EXPECT_EQ(hello(port, "first")[0].attempt.answer, "ours");
  const auto again = hub.listen("b", {{"127.0.0.1", ""}}, {port}, call_within(5000));
  EXPECT_EQ((*again)[0].listener, "up");
  EXPECT_EQ(hello(port, "second")[0].attempt.answer, "ours");
  EXPECT_EQ(hub.heard("a")->accepted.size(), 2u);
  ASSERT_EQ(hub.heard("b")->accepted.size(), 1u);
  EXPECT_EQ(hub.heard("b")->accepted[0].nonce, "second");
  ASSERT_TRUE(hub.unlisten("a").has_value());
  EXPECT_EQ(hello(port, "third")[0].attempt.answer, "ours");
  ASSERT_TRUE(hub.unlisten("b").has_value());
  EXPECT_EQ(hello(port)[0].attempt.result, "refused");
  EXPECT_FALSE(hub.heard("a").has_value());
  EXPECT_FALSE(hub.unlisten("a").has_value());
}

TEST(Listener, AnIdIsTakenOnce) {
  ListenerHub hub;
  test::listen_somewhere(hub, "a");
  const auto again = hub.listen("a", {{"127.0.0.1", ""}}, {1}, call_within(1000));
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::kUsage);
}

TEST(Listener, IsBoundedInNumber) {
  ListenerHub hub;
  std::vector<int> ports;
  for (int i = 0; i < 300; ++i) ports.push_back(41000 + i);
  const auto states = hub.listen("a", {{"127.0.0.77", ""}}, ports, call_within(20'000));
  ASSERT_TRUE(states.has_value());
  ASSERT_EQ(states->size(), 300u);
  size_t up = 0;
  for (const ListenState& state : *states) up += state.listener == "up" ? 1 : 0;
  EXPECT_LE(up, kMaxListeners);
  EXPECT_GT(up, 200u);
  EXPECT_EQ(states->back().listener, "failed");
  EXPECT_THAT(states->back().error, HasSubstr("256"));
}

TEST(Listener, CountsAndConfirmsDatagrams) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
  const auto to = make_socket_address("127.0.0.1", static_cast<uint16_t>(port)).value();
  ASSERT_EQ(::connect(fd.get(), to.get(), to.length), 0);
  std::string packet = probe_line({"n", "size", 1000});
  packet.resize(1000, '.');
  // Nonsense and a line that is shorter than its answer would be are not answered.
  for (const std::string& text : {std::string("nonsense"), std::string("PLPROBE1 n size 0\n"),
                                  std::string(), std::string(60'000, '\xff'), packet}) {
    ASSERT_EQ(::send(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  ASSERT_TRUE(wait_for(fd.get(), POLLIN, call_within(5000)));
  char buffer[200] = "";
  // "PLPROBE1 n size 18\n" would be one byte more than came.
  EXPECT_EQ(::recv(fd.get(), buffer, sizeof buffer, 0), 21);
  EXPECT_STREQ(buffer, "PLPROBE1 n size 1000\n");
  EXPECT_LT(::recv(fd.get(), buffer, sizeof buffer, 0), 0);
  const auto heard = hub.heard("a");
  ASSERT_EQ(heard->datagrams.size(), 1u);
  EXPECT_EQ(heard->datagrams[0].count, 5);
  EXPECT_EQ(heard->datagrams[0].largest, 60'028);
}

TEST(Listener, EndsWhileEverybodyIsConnected) {
  auto hub = std::make_unique<ListenerHub>();
  const int port = test::listen_somewhere(*hub, "a");
  std::vector<Fd> clients;
  for (const char* mode : {"sink", "echo", "paced", "hello", "both"}) {
    clients.push_back(test::raw_client(port, probe_line({"n", mode, 60'000})));
  }
  for (const Fd& client : clients) ASSERT_TRUE(wait_for(client.get(), POLLIN, call_within(5000)));
  const int64_t begin = monotonic_ns();
  hub.reset();
  EXPECT_LT(monotonic_ns() - begin, 2 * kSecond);
}

TEST(Service, SinkCountsWhatCame) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  const Fd client = test::raw_client(port, probe_line({"n", "sink", 0}) + std::string(1234, 'x'));
  ::shutdown(client.get(), SHUT_WR);
  const std::string answer = test::read_all(client.get());
  EXPECT_THAT(answer, testing::StartsWith("PLPROBE1 ok n\nPLPROBE1 got 1234 "));
  EXPECT_EQ(answer.back(), '\n');
}

TEST(Service, SourceSendsForItsTime) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  const Fd client = test::raw_client(port, probe_line({"n", "source", 50}));
  ::shutdown(client.get(), SHUT_WR);
  const std::string answer = test::read_all(client.get());
  EXPECT_GT(answer.size(), 100'000u);
  EXPECT_THAT(answer.substr(answer.size() - 30), HasSubstr("PLPROBE1 got 0 0 "));
}

TEST(Service, EchoReturnsWholeMessages) {
  ListenerHub hub;
  const int port = test::listen_somewhere(hub, "a");
  const std::string message = std::string(60, 'a') + "1234" + std::string(30, 'b');
  const Fd client = test::raw_client(port, probe_line({"n", "echo", 0}) + message);
  ::poll(nullptr, 0, 20);
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(test::read_all(client.get()), "PLPROBE1 ok n\n" + message.substr(0, 64));
}

TEST(Listener, WorksOverIpv6) {
  ListenerHub hub;
  if (!listen_on(make_socket_address("::1", 0).value(), {})) GTEST_SKIP() << "no IPv6 here";
  const int port = test::listen_somewhere(hub, "a", "::1");
  const auto tried = hello(port, "six", "::1");
  EXPECT_EQ(tried[0].attempt.answer, "ours");
  EXPECT_EQ(hub.heard("a")->accepted[0].peer_ip, "::1");
}

}  // namespace
}  // namespace plumbline
