// Both ends of a TCP connection over loopback, in one process.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <utility>

#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline::test {

inline std::pair<Fd, Fd> connected_pair() {
  const SocketAddress any = *make_socket_address("127.0.0.1", 0);
  const Fd listener = *listen_on(any, {});
  const SocketAddress target = local_address(listener.get());
  Fd first = *start_connect(target, &any, {}, {});
  pollfd ready{listener.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 5000), 1);
  Fd second = *accept_from(listener.get());
  EXPECT_TRUE(finish_connect(first.get(), target));
  for (const Fd* fd : {&first, &second}) tune_connection(fd->get(), 0);
  return {std::move(first), std::move(second)};
}

using StreamPair = std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>>;

inline StreamPair connected_streams() {
  auto [first, second] = connected_pair();
  return {make_tcp_stream(std::move(first), "the other end"),
          make_tcp_stream(std::move(second), "the one end")};
}

}  // namespace plumbline::test
