// macOS: flags after creation, SO_NOSIGPIPE, no choice of congestion control (tcp(4)).
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

// Closes the descriptor and keeps errno when a property cannot be had.
Fd prepare(int raw) {
  Fd fd(raw);
  if (!fd.valid()) return fd;
  const int flags = ::fcntl(raw, F_GETFL);
  if (flags < 0 || ::fcntl(raw, F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(raw, F_SETFD, FD_CLOEXEC) != 0) {
    const int err = errno;
    fd.reset();
    errno = err;
    return fd;
  }
  set_socket_option(raw, SOL_SOCKET, SO_NOSIGPIPE, 1);
  return fd;
}

}  // namespace

Fd new_stream_socket(int family) { return prepare(::socket(family, SOCK_STREAM, 0)); }

// kern.ipc.maxsockbuf bounds both directions together with their overhead: asking tells more than
// reading it.
uint64_t socket_buffer_limit(int) { return 0; }

Fd accept_socket(int listener) { return prepare(::accept(listener, nullptr, nullptr)); }

int send_flags() { return 0; }

void bind_address_only(int) {}

int bind_to_interface(int fd, int family, const std::string& interface) {
  const unsigned index = ::if_nametoindex(interface.c_str());
  if (index == 0) return errno;
  return family == AF_INET6
             ? set_socket_option(fd, IPPROTO_IPV6, IPV6_BOUND_IF, static_cast<int>(index))
             : set_socket_option(fd, IPPROTO_IP, IP_BOUND_IF, static_cast<int>(index));
}

void set_keepalive(int fd, int idle_s, int interval_s, int count) {
  set_socket_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_socket_option(fd, IPPROTO_TCP, TCP_KEEPALIVE, idle_s);
  set_socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval_s);
  set_socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT, count);
}

void set_user_timeout(int fd, int64_t timeout_ms) {
  const int64_t seconds = (timeout_ms + 999) / 1000;
  set_socket_option(fd, IPPROTO_TCP, TCP_RXT_CONNDROPTIME,
                    seconds > INT32_MAX ? INT32_MAX : static_cast<int>(seconds));
}

int set_congestion_control(int, const std::string&) { return ENOPROTOOPT; }

std::string congestion_control_of(int) { return {}; }

uint64_t granted_buffer(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  if (::getsockopt(fd, SOL_SOCKET, option, &value, &length) != 0 || value < 0) return 0;
  return static_cast<uint64_t>(value);
}

}  // namespace plumbline
