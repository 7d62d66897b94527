// macOS: no count of datagrams that found the buffer full.
#include <fcntl.h>

#include "transport/traffic/traffic.h"

namespace plumbline {

Fd new_datagram_socket(int family) {
  Fd fd(::socket(family, SOCK_DGRAM, 0));
  if (!fd.valid()) return fd;
  const int on = 1;
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
  return fd;
}

void set_receive_buffer(int fd, int bytes) {
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

std::optional<uint64_t> socket_drops(int) { return std::nullopt; }

}  // namespace plumbline
