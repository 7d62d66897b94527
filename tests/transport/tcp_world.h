// Helpers for tests of the TCP transport: ranks as threads over loopback on ports that the kernel
// chose, a plain client that can misbehave, and a message exchange between all ranks.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "channel_pair.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp.h"

namespace plumbline::test {

inline OptionSet options_with(const std::map<std::string, std::string>& values) {
  OptionSet options;
  for (const auto& [name, value] : values) {
    Expected<OptionSet> next = options.with(name, value, "test");
    EXPECT_TRUE(next) << (next ? "" : next.error().message());
    if (next) options = *next;
  }
  return options;
}

inline bool ipv6_loopback_works() {
  const Expected<SocketAddress> address = make_socket_address("::1", 0);
  return address && listen_on(*address, {}).has_value();
}

// As ranks tell one another.
inline RankEndpoint claimed(const TcpEndpoint& endpoint) {
  return {endpoint.host, endpoint_bytes(endpoint)};
}
inline std::vector<RankEndpoint> claimed(const std::vector<TcpEndpoint>& endpoints) {
  std::vector<RankEndpoint> all;
  for (const TcpEndpoint& endpoint : endpoints) all.push_back(claimed(endpoint));
  return all;
}

// Listeners of all ranks, opened before anybody knows the others' ports.
struct TcpWorld {
  explicit TcpWorld(int ranks, const std::map<std::string, std::string>& values = {},
                    const std::vector<RankAddress>& addresses = {{"127.0.0.1", 8, {}}})
      : size(ranks), options(options_with(values)) {
    for (int rank = 0; rank < size; ++rank) {
      auto listener = TcpListener::open(addresses, 0, options);
      if (!listener) throw std::runtime_error(listener.error().message());
      TcpEndpoint endpoint = (*listener)->endpoint();
      endpoint.rank = rank;
      endpoint.host = "host" + std::to_string(rank);
      endpoints.push_back(endpoint);
      listeners.push_back(std::move(*listener));
    }
    token = random_token();
  }

  GroupSpec spec(int rank) const {
    GroupSpec spec;
    spec.rank = rank;
    spec.size = size;
    spec.apart = apart;
    std::vector<TcpEndpoint> told = endpoints;
    for (const auto& [a, b] : apart) {
      // A wrong port: whoever dials all the same gets no connection.
      if (a == rank) told[static_cast<size_t>(b)].port = 1;
      if (b == rank) told[static_cast<size_t>(a)].port = 1;
    }
    spec.endpoints = claimed(told);
    spec.token = token;
    spec.options = &options;
    spec.ranks_on_host = size;
    spec.progress_thread = options.text("progress_thread") == "on";
    return spec;
  }
  Expected<std::unique_ptr<Group>> open(int rank) { return open(spec(rank)); }
  Expected<std::unique_ptr<Group>> open(const GroupSpec& spec) {
    return open_tcp_group(spec, std::move(listeners[static_cast<size_t>(spec.rank)]));
  }

  // Opens all ranks in threads of their own and runs `body` in each; the groups live until all
  // bodies have returned.
  void run(const std::function<void(Group&)>& body) {
    std::vector<std::thread> threads;
    std::vector<std::unique_ptr<Group>> groups(static_cast<size_t>(size));
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([this, rank, &body, &slot = groups[static_cast<size_t>(rank)]] {
        Expected<std::unique_ptr<Group>> group = open(rank);
        ASSERT_TRUE(group) << group.error().message();
        slot = std::move(*group);
        body(*slot);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  int size;
  OptionSet options;
  std::vector<std::unique_ptr<TcpListener>> listeners;
  std::vector<TcpEndpoint> endpoints;
  std::vector<RankPair> apart;  // set before opening
  Digest token{};
};

// Every rank sends `bytes` to every other and checks what it gets. `sequence` numbers the exchange.
inline Status exchange(Group& group, size_t bytes, uint32_t sequence,
                       Deadline deadline = Deadline::after_ms(20'000)) {
  const auto seed = [&](int from, int to) {
    return sequence * 10'000u + static_cast<uint64_t>(from * 100 + to);
  };
  std::vector<std::unique_ptr<CollectSink>> sinks(static_cast<size_t>(group.size()));
  std::vector<Bytes> out(sinks.size());
  CountObserver observer;
  size_t posted = 0;
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer == group.rank()) continue;
    const auto index = static_cast<size_t>(peer);
    Expected<Channel*> channel = group.channel(peer, deadline);
    if (!channel) return fail(channel.error());
    sinks[index] = std::make_unique<CollectSink>(bytes);
    (*channel)->post_recv({group.id(), sequence, 0, 1}, bytes, sinks[index].get());
    out[index] = random_bytes(bytes, seed(group.rank(), peer));
    (*channel)->post_send({group.id(), sequence, 0, 1}, out[index].data(), bytes, bytes, &observer,
                          index);
    ++posted;
  }
  const auto done = [&] {
    return observer.cookies.size() == posted &&
           std::all_of(sinks.begin(), sinks.end(),
                       [](const auto& sink) { return !sink || sink->done(); });
  };
  if (Status status = group.wait(done, deadline); !status) {
    // Sinks and buffers end with this function: the channels must forget them.
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.rank()) continue;
      if (auto channel = group.channel(peer, Deadline::after_ms(0))) {
        (*channel)->cancel(status.error());
      }
    }
    return status;
  }
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer == group.rank()) continue;
    EXPECT_EQ(sinks[static_cast<size_t>(peer)]->bytes(),
              random_bytes(bytes, seed(peer, group.rank())))
        << "from " << peer << " to " << group.rank();
  }
  return {};
}

// A client that can misbehave: blocking, with a limit on every wait.
class PlainClient {
 public:
  explicit PlainClient(uint16_t port, const std::string& ip = "127.0.0.1") {
    const SocketAddress address = *make_socket_address(ip, port);
    fd_.reset(::socket(address.family(), SOCK_STREAM, 0));
    EXPECT_EQ(::connect(fd_.get(), address.get(), address.length), 0) << errno_name(errno);
  }
  void send(std::span<const std::byte> bytes) {
    // The other end may have refused us already.
    [[maybe_unused]] const ssize_t done =
        ::send(fd_.get(), bytes.data(), bytes.size(), send_flags());
  }
  void send(const std::string& text) { send(std::as_bytes(std::span(text.data(), text.size()))); }
  // Everything until the other end closes; false when it does not within the limit.
  bool read_to_end(Bytes* bytes, int limit_ms) {
    const Deadline deadline = Deadline::after_ms(limit_ms);
    while (!deadline.passed()) {
      pollfd entry{fd_.get(), POLLIN, 0};
      if (::poll(&entry, 1, deadline.poll_timeout_ms(limit_ms)) <= 0) continue;
      std::byte buffer[1024];
      const ssize_t done = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (done <= 0) return true;
      bytes->insert(bytes->end(), buffer, buffer + done);
    }
    return false;
  }
  // Exactly this many bytes, or what came within the limit.
  Bytes read(size_t bytes, int limit_ms) {
    Bytes got;
    const Deadline deadline = Deadline::after_ms(limit_ms);
    while (got.size() < bytes && !deadline.passed()) {
      pollfd entry{fd_.get(), POLLIN, 0};
      if (::poll(&entry, 1, deadline.poll_timeout_ms(limit_ms)) <= 0) continue;
      std::byte buffer[1024];
      const ssize_t done =
          ::recv(fd_.get(), buffer, std::min(sizeof buffer, bytes - got.size()), 0);
      if (done <= 0) break;
      got.insert(got.end(), buffer, buffer + done);
    }
    return got;
  }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  Fd fd_;
};

}  // namespace plumbline::test
