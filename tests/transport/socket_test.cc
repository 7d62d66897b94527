// Sockets: addresses, errors and their causes, buffers, streams.
#include "transport/tcp/socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "connected_pair.h"
#include "tcp_world.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A connected pair over loopback; `first` dialled.
struct Connection {
  explicit Connection(const SocketOptions& options = {}, const std::string& ip = "127.0.0.1") {
    const SocketAddress any = *make_socket_address(ip, 0);
    Fd listener = *listen_on(any, options);
    const SocketAddress target = local_address(listener.get());
    first = *start_connect(target, &any, {}, options);
    wait(first.get(), POLLOUT);
    const Status status = finish_connect(first.get(), target);
    EXPECT_TRUE(status) << status.error().message();
    wait(listener.get(), POLLIN);
    second = *accept_from(listener.get());
    EXPECT_TRUE(second.valid());
  }
  static void wait(int fd, short events) {
    pollfd entry{fd, events, 0};
    EXPECT_EQ(::poll(&entry, 1, 5000), 1);
  }
  Fd first, second;
};

int int_option(int fd, int level, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, option, &value, &length), 0);
  return value;
}

TEST(SocketAddress, TextAndBack) {
  EXPECT_EQ(to_text(*make_socket_address("10.10.0.2", 29601)), "10.10.0.2:29601");
  EXPECT_EQ(to_text(*make_socket_address("fd00::1", 80)), "[fd00::1]:80");
  EXPECT_EQ(to_text(SocketAddress{}), "?");
  EXPECT_TRUE(make_socket_address("127.3.2.1", 1)->loopback());
  EXPECT_TRUE(make_socket_address("::1", 1)->loopback());
  EXPECT_FALSE(make_socket_address("10.0.0.1", 1)->loopback());
  EXPECT_TRUE(make_socket_address("169.254.1.1", 1)->link_local());
  for (const char* bad :
       {"", "localhost", "10.0.0", "10.0.0.256", "fd00::1/64", "1.2.3.4 ", "::g"}) {
    const auto address = make_socket_address(bad, 1);
    ASSERT_FALSE(address) << bad;
    EXPECT_EQ(address.error().code, ErrorCode::kConfig);
    EXPECT_THAT(address.error().what, HasSubstr("\"" + std::string(bad) + "\""));
  }
}

TEST(SocketAddress, LinkLocalNeedsAnInterfaceThatExists) {
  EXPECT_THAT(make_socket_address("fe80::1", 1).error().what, HasSubstr("without an interface"));
  EXPECT_THAT(make_socket_address("fe80::1", 1, "nosuchif0").error().what,
              AllOf(HasSubstr("nosuchif0"), HasSubstr("does not exist")));
  EXPECT_THAT(make_socket_address("fe80::1%nosuchif1", 1, "lo").error().what,
              HasSubstr("nosuchif1"));
}

TEST(Socket, ConnectionsAreReady) {
  SocketOptions options;
  options.buffer_bytes = 300'000;
  const Connection connection(options);
  for (const Fd* fd : {&connection.first, &connection.second}) {
    EXPECT_NE(::fcntl(fd->get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(granted_buffer(fd->get(), SO_SNDBUF), 300'000u);
    EXPECT_EQ(granted_buffer(fd->get(), SO_RCVBUF), 300'000u);
    tune_connection(fd->get(), 5000);
    EXPECT_NE(int_option(fd->get(), IPPROTO_TCP, TCP_NODELAY), 0);
    EXPECT_NE(int_option(fd->get(), SOL_SOCKET, SO_KEEPALIVE), 0);
  }
}

TEST(Socket, IdleDataConnectionsAreProbedOrNot) {
  const Connection connection{SocketOptions{}};
  const int fd = connection.first.get();
  SocketOptions options;
  tune_data_connection(fd, options, false);
  EXPECT_NE(int_option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
#ifdef __linux__
  EXPECT_EQ(int_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 10);
#endif
  options.keepalive_s = 0;
  tune_data_connection(fd, options, false);
  EXPECT_EQ(int_option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
}

TEST(Socket, WhatIsNotGrantedIsSaid) {
  SocketOptions options;
  options.buffer_bytes = uint64_t{1} << 30;
  options.congestion_control = "no_such_cc";
  const Connection connection(options);
  const std::string notes = tune_data_connection(connection.first.get(), options, false);
  EXPECT_THAT(notes, AllOf(HasSubstr("no_such_cc"), HasSubstr("send buffer of 1073741824")));
}

TEST(Socket, RefusedHasCauseAndAddress) {
  // A port that was ours a moment ago and that nobody listens on.
  SocketAddress target = *make_socket_address("127.0.0.1", 0);
  {
    const Fd listener = *listen_on(target, {});
    target = local_address(listener.get());
  }
  Expected<Fd> fd = start_connect(target, nullptr, {}, {});
  Status status;
  if (fd) {
    Connection::wait(fd->get(), POLLOUT);
    status = finish_connect(fd->get(), target);
  } else {
    status = fail(fd.error());
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kRefused);
  EXPECT_EQ(status.error().cause, "tcp.no_listener");
  EXPECT_EQ(status.error().sys_errno, ECONNREFUSED);
  EXPECT_THAT(status.error().message(), AllOf(HasSubstr(to_text(target)), HasSubstr("connect")));
}

TEST(Socket, ForeignAddressCannotBeBound) {
  const auto listener = listen_on(*make_socket_address("192.0.2.77", 0), {});
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().cause, "ip.missing");
  const SocketAddress foreign = *make_socket_address("192.0.2.77", 0);
  const auto fd = start_connect(*make_socket_address("127.0.0.1", 9), &foreign, {}, {});
  ASSERT_FALSE(fd);
  EXPECT_THAT(fd.error().message(), HasSubstr("192.0.2.77"));
}

TEST(Socket, ErrorsAreClassified) {
  EXPECT_EQ(socket_error("x", ETIMEDOUT).code, ErrorCode::kTimeout);
  EXPECT_EQ(socket_error("x", EHOSTUNREACH).code, ErrorCode::kUnreachable);
  EXPECT_EQ(socket_error("x", ENETUNREACH).cause, "route.missing");
  EXPECT_EQ(socket_error("x", EADDRINUSE).cause, "tcp.port_in_use");
  EXPECT_EQ(socket_error("x", ECONNRESET).code, ErrorCode::kPeerLost);
  EXPECT_EQ(socket_error("x", ENOMEM).code, ErrorCode::kSystem);
}

TEST(Socket, PortOwner) {
  const Fd listener = *listen_on(*make_socket_address("127.0.0.1", 0), {});
  const uint16_t port = local_address(listener.get()).port();
  EXPECT_THAT(port_owner(port), HasSubstr("PID " + std::to_string(::getpid())));
  EXPECT_EQ(port_owner(1), "");
  // A port that only an outgoing connection uses.
  const Connection connection;
  EXPECT_THAT(port_owner(local_address(connection.first.get()).port()),
              HasSubstr("PID " + std::to_string(::getpid())));
}

TEST(Listener, APortThatIsFreedInTimeIsWaitedFor) {
  const std::vector<RankAddress> here = {{"127.0.0.1", 8, {}}};
  auto first = TcpListener::open(here, 0, test::options_with({}));
  ASSERT_TRUE(first) << first.error().message();
  const uint16_t port = (*first)->endpoint().port;
  const auto at_once = TcpListener::open(here, port, test::options_with({}));
  ASSERT_FALSE(at_once);
  EXPECT_EQ(at_once.error().code, ErrorCode::kBusy);
  std::thread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    first->reset();
  });
  const auto second =
      TcpListener::open(here, port, test::options_with({}), Deadline::after_ms(20'000));
  holder.join();
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ((*second)->endpoint().port, port);
  EXPECT_FALSE(TcpListener::open(here, port, test::options_with({}), Deadline::after_ms(50)));
}

TEST(Listener, OptionsNarrowAndWiden) {
  const std::vector<RankAddress> two = {{"127.0.0.1", 8, {}}, {"127.0.0.2", 8, {}}};
  auto one = TcpListener::open(two, 0, test::options_with({{"listen_addr", "127.0.0.2"}}));
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_THAT(to_text(local_address((*one)->sockets()[0].get())), HasSubstr("127.0.0.2:"));
  EXPECT_EQ((*one)->endpoint().addresses.size(), 1u);
  EXPECT_EQ((*one)->endpoint().addresses[0].prefix, 8);
  auto all = TcpListener::open(two, 0, test::options_with({{"listen_addr", "0.0.0.0"}}));
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ((*all)->sockets().size(), 1u);
  EXPECT_THAT(to_text(local_address((*all)->sockets()[0].get())), HasSubstr("0.0.0.0:"));
  EXPECT_EQ((*all)->endpoint().addresses.size(), 2u) << "what is published stays";
  auto none = TcpListener::open(two, 0, test::options_with({{"ifname", "nosuchif0"}}));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("nosuchif0"));
  EXPECT_EQ(TcpListener::open({}, 0, OptionSet()).error().code, ErrorCode::kConfig);
}

TEST(TcpStream, CarriesBytesBothWaysAndReportsTheEnd) {
  Connection connection;
  auto a = make_tcp_stream(std::move(connection.first), "rank 1 on b");
  auto b = make_tcp_stream(std::move(connection.second), "rank 0 on a");
  char out[] = "hello, peer", in[64] = {};
  iovec parts[] = {{out, 0}, {out, 5}, {out + 5, 6}};
  EXPECT_EQ(*a->write_some(parts), 11u);
  iovec nothing{in, 0};
  EXPECT_EQ(*b->read_some({&nothing, 1}), 0u) << "no room is not the end";
  size_t got = 0;
  for (const Deadline deadline = Deadline::after_ms(5000); got < 11 && !deadline.passed();) {
    iovec space[] = {{in + got, 1}, {in + got + 1, sizeof in - got - 1}};
    got += *b->read_some(space);
  }
  EXPECT_STREQ(in, "hello, peer");
  iovec space{in, sizeof in};
  EXPECT_EQ(*b->read_some({&space, 1}), 0u) << "would block";
  a->close();
  a->close();
  EXPECT_FALSE(a->write_some(parts));
  std::vector<pollfd> entries;
  ASSERT_TRUE(b->add_to(entries, true, false));
  ASSERT_EQ(entries.size(), 1u);
  Connection::wait(entries.front().fd, entries.front().events);
  const auto end = b->read_some({&space, 1});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kPeerLost);
  EXPECT_THAT(end.error().message(), HasSubstr("rank 0 on a"));
}

TEST(TcpStream, WritingToTheDeadIsAnErrorNotASignal) {
  Connection connection;
  auto a = make_tcp_stream(std::move(connection.first), "rank 1 on b");
  connection.second.reset();
  std::vector<char> data(100'000);
  const iovec part{data.data(), data.size()};
  const Deadline deadline = Deadline::after_ms(5000);
  Expected<size_t> written = size_t{0};
  while (written && !deadline.passed()) written = a->write_some({&part, 1});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kPeerLost);
  EXPECT_EQ(written.error().cause, "rank.dead");
}

TEST(TcpStream, StatsShowAStalledReceiver) {
  SocketOptions options;
  options.buffer_bytes = 100'000;
  Connection connection(options);
  auto a = make_tcp_stream(std::move(connection.first), "rank 1");
  std::vector<char> data(1 << 20);
  const iovec part{data.data(), data.size()};
  // Nobody reads: the kernel takes what fits and no more.
  const Deadline deadline = Deadline::after_ms(5000);
  StreamStats stats;
  do {
    ASSERT_TRUE(a->write_some({&part, 1}));
    stats = a->stats();
  } while (stats.unacked_bytes.value_or(0) + stats.unsent_bytes.value_or(0) == 0 &&
           !deadline.passed());
  EXPECT_GT(stats.unacked_bytes.value_or(0) + stats.unsent_bytes.value_or(0), 0u);
  EXPECT_LT(stats.peer_window.value_or(1 << 20), 1u << 20);
  EXPECT_THAT(stats.local, HasSubstr("127.0.0.1:"));
}

TEST(TcpStream, V6) {
  if (!test::ipv6_loopback_works()) GTEST_SKIP() << "this machine has no ::1";
  Connection connection({}, "::1");
  auto a = make_tcp_stream(std::move(connection.first), "rank 1");
  EXPECT_THAT(a->stats().remote, HasSubstr("[::1]:"));
}

// On a stock Linux 4 MiB would be cut to 208 KiB, which is less than the kernel's own tuning
// reaches.
TEST(Socket, BufferBeyondTheLimitIsLeftToTheSystem) {
  const uint64_t limit = socket_buffer_limit(SO_SNDBUF);
  if (limit == 0) GTEST_SKIP() << "this system does not tell its limit";
  SocketOptions options;
  options.buffer_bytes = limit + 1;
  const Expected<Fd> fd = listen_on(*make_socket_address("127.0.0.1", 0), options);
  ASSERT_TRUE(fd) << fd.error().message();
  EXPECT_LT(granted_buffer(fd->get(), SO_SNDBUF), limit);
  EXPECT_NE(tune_data_connection(fd->get(), options, true).find("own tuning"), std::string::npos);
}

// All of these bytes, within 20 s.
using StreamCall = Expected<size_t> (ByteStream::*)(std::span<const iovec>);
bool move_all(ByteStream& stream, StreamCall call, std::span<std::byte> bytes) {
  const auto deadline = Deadline::after_ms(20'000);
  while (!bytes.empty()) {
    const iovec buffer{bytes.data(), bytes.size()};
    const Expected<size_t> moved = (stream.*call)({&buffer, 1});
    if (!moved || deadline.passed()) return false;
    bytes = bytes.subspan(*moved);
    if (*moved == 0) std::this_thread::yield();
  }
  return true;
}

// Ranks write over what they sent as soon as the other end shows that it has arrived. That is no
// race, but ThreadSanitizer called it one, at times: it noted the reads of send() too late.
TEST(TcpStream, WhatHasArrivedMayBeWrittenOver) {
  constexpr int kRounds = 1000;
  const test::StreamPair ends = test::connected_streams();
  std::array<std::byte, 4096> sent{}, seen{};
  std::thread sender([&] {
    std::array<std::byte, 1> answer{};
    for (int round = 0; round < kRounds; ++round) {
      if (!move_all(*ends.first, &ByteStream::write_some, sent)) return;
      if (!move_all(*ends.first, &ByteStream::read_some, answer)) return;
    }
  });
  int right = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (!move_all(*ends.second, &ByteStream::read_some, seen)) break;
    const auto value = static_cast<std::byte>(round);
    right += std::count(seen.begin(), seen.end(), value) == 4096 ? 1 : 0;
    // Volatile: ThreadSanitizer does not see what the compiler makes one instruction.
    for (volatile std::byte& place : sent) place = static_cast<std::byte>(round + 1);
    if (!move_all(*ends.second, &ByteStream::write_some, std::span(seen).first(1))) break;
  }
  sender.join();
  EXPECT_EQ(right, kRounds);
}

}  // namespace
}  // namespace plumbline
