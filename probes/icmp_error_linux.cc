// Linux keeps ICMP errors in the socket's error queue when asked to (IP_RECVERR in ip(7), ipv6(7)).
// errqueue.h uses timespec without including it, so the order matters.
// clang-format off
#include <time.h>
#include <linux/errqueue.h>
// clang-format on
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>

#include "probes/icmp_error.h"

namespace plumbline {

void watch_icmp_errors(int fd, int family) {
  const int on = 1;
  if (family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
  } else {
    ::setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
  }
}

bool ended_by_icmp(int fd) {
  char data[64];  // of the packet that was refused; not needed
  alignas(cmsghdr) char control[512];
  iovec part{data, sizeof data};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return false;
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr;
       item = CMSG_NXTHDR(&message, item)) {
    const bool error = (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_RECVERR) ||
                       (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_RECVERR);
    if (!error) continue;
    sock_extended_err details{};
    std::memcpy(&details, CMSG_DATA(item), sizeof details);
    if (details.ee_origin == SO_EE_ORIGIN_ICMP || details.ee_origin == SO_EE_ORIGIN_ICMP6) {
      return true;
    }
  }
  return false;
}

}  // namespace plumbline
