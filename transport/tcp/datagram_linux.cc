// Linux: SO_RXQ_OVFL tells with every datagram how many had no room before it (socket(7)).
#include <cstring>

#include "transport/tcp/datagram.h"

namespace plumbline {

Fd new_datagram_socket(int family) {
  Fd fd(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (fd.valid()) ::setsockopt(fd.get(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
  return fd;
}

void set_receive_buffer(int fd, int bytes) {
  // Beyond net.core.rmem_max only with privilege; without it up to that limit.
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0) return;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

ssize_t receive_counted(int fd, void* data, size_t bytes, std::optional<uint64_t>& dropped) {
  iovec part{data, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(uint32_t))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(fd, &message, 0);
  if (got < 0) return got;
  if (!dropped) dropped = 0;  // the kernel says nothing while there is nothing to say
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SO_RXQ_OVFL) {
    uint32_t count = 0;
    std::memcpy(&count, CMSG_DATA(header), sizeof count);
    dropped = count;
  }
  return got;
}

}  // namespace plumbline
