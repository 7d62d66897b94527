// Linux keeps ICMP errors in the socket's error queue when asked to (IP_RECVERR in ip(7), ipv6(7)).
// errqueue.h uses timespec without including it, so the order matters.
// clang-format off
#include <time.h>
#include <linux/errqueue.h>
// clang-format on
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>

#include "core/host/ip.h"
#include "probes/icmp_error.h"
#include "probes/traces/packet.h"

namespace plumbline {
namespace {

// Who sent the ICMP message, from behind the details (SO_EE_OFFENDER).
std::string offender(const cmsghdr* item) {
  const auto* data = CMSG_DATA(item);
  const size_t size = item->cmsg_len - CMSG_LEN(0);
  sockaddr_in in4{};
  sockaddr_in6 in6{};
  const size_t begin = sizeof(sock_extended_err);
  if (size >= begin + sizeof in4) std::memcpy(&in4, data + begin, sizeof in4);
  if (in4.sin_family == AF_INET) return to_text(ip_of_bytes(&in4.sin_addr, false));
  if (size >= begin + sizeof in6) std::memcpy(&in6, data + begin, sizeof in6);
  if (in6.sin6_family == AF_INET6) return to_text(ip_of_bytes(&in6.sin6_addr, true));
  return {};
}

}  // namespace

void watch_icmp_errors(int fd, int family, bool on) {
  const int value = on ? 1 : 0;
  if (family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &value, sizeof value);
  } else {
    ::setsockopt(fd, IPPROTO_IP, IP_RECVERR, &value, sizeof value);
  }
}

std::optional<QueuedIcmpError> take_icmp_error(int fd, void* data, size_t size, size_t* got) {
  char ignored[64];
  alignas(cmsghdr) char control[512];
  iovec part{data != nullptr ? data : ignored, data != nullptr ? size : sizeof ignored};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t bytes = ::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
  if (bytes < 0) return std::nullopt;
  if (got != nullptr) *got = static_cast<size_t>(bytes);
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr;
       item = CMSG_NXTHDR(&message, item)) {
    const bool error = (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_RECVERR) ||
                       (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_RECVERR);
    if (!error) continue;
    sock_extended_err details{};
    std::memcpy(&details, CMSG_DATA(item), sizeof details);
    QueuedIcmpError out;
    out.err = static_cast<int>(details.ee_errno);
    out.icmp_origin =
        details.ee_origin == SO_EE_ORIGIN_ICMP || details.ee_origin == SO_EE_ORIGIN_ICMP6;
    if (details.ee_errno == EMSGSIZE) out.told_mtu = static_cast<int>(details.ee_info);
    out.icmp.v6 = details.ee_origin == SO_EE_ORIGIN_ICMP6;
    out.icmp.type = details.ee_type;
    out.icmp.code = details.ee_code;
    out.icmp.from = offender(item);
    out.icmp.text =
        icmp_text(out.icmp.v6, out.icmp.type, out.icmp.code, static_cast<uint32_t>(out.told_mtu));
    return out;
  }
  return QueuedIcmpError{{}, 0, 0, false};
}

}  // namespace plumbline
