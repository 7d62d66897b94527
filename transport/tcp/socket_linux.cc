// Linux: flags at creation, TCP_USER_TIMEOUT, TCP_CONGESTION (tcp(7)).
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <fstream>

#include "transport/tcp/socket.h"

namespace plumbline {

Fd new_stream_socket(int family) {
  return Fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

uint64_t socket_buffer_limit(int option) {
  std::ifstream file(option == SO_SNDBUF ? "/proc/sys/net/core/wmem_max"
                                         : "/proc/sys/net/core/rmem_max");
  uint64_t bytes = 0;
  file >> bytes;
  return bytes;
}

Fd accept_socket(int listener) {
  return Fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

int send_flags() { return MSG_NOSIGNAL; }

void bind_address_only(int fd) { set_socket_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1); }

int bind_to_interface(int fd, int, const std::string& interface) {
  const auto length = static_cast<socklen_t>(interface.size());
  return ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(), length) == 0 ? 0 : errno;
}

void set_keepalive(int fd, int idle_s, int interval_s, int count) {
  set_socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
  set_socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval_s);
  set_socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT, count);
}

void set_user_timeout(int fd, int64_t timeout_ms) {
  set_socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
                    timeout_ms > INT32_MAX ? INT32_MAX : static_cast<int>(timeout_ms));
}

int set_congestion_control(int fd, const std::string& name) {
  const auto length = static_cast<socklen_t>(name.size());
  return ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.c_str(), length) == 0 ? 0 : errno;
}

std::string congestion_control_of(int fd) {
  char name[32] = "";
  socklen_t length = sizeof name - 1;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0) return {};
  return name;
}

uint64_t granted_buffer(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  if (::getsockopt(fd, SOL_SOCKET, option, &value, &length) != 0 || value < 0) return 0;
  return static_cast<uint64_t>(value) / 2;  // the other half is the kernel's bookkeeping, socket(7)
}

}  // namespace plumbline
