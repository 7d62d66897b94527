#include <linux/sock_diag.h>

#include <array>

#include "transport/traffic/traffic.h"

namespace plumbline {

Fd new_datagram_socket(int family) {
  return Fd(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set_receive_buffer(int fd, int bytes) {
  // Beyond net.core.rmem_max only with privilege; without it up to that limit.
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0) return;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

// SO_MEMINFO, socket(7).
std::optional<uint64_t> socket_drops(int fd) {
  std::array<uint32_t, SK_MEMINFO_VARS> values{};
  socklen_t length = sizeof values;
  if (::getsockopt(fd, SOL_SOCKET, SO_MEMINFO, values.data(), &length) != 0) return std::nullopt;
  return values[SK_MEMINFO_DROPS];
}

}  // namespace plumbline
