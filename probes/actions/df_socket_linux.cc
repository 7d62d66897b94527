#include <netinet/in.h>

#include <cerrno>

#include "probes/actions/df_socket.h"
#include "probes/icmp_error.h"
#include "transport/traffic/datagrams.h"

namespace plumbline {

Expected<Fd> open_df_socket(const PairEnds& ends) {
  const int family = ends.to.family();
  Fd fd = new_datagram_socket(family);
  if (!fd.valid()) return fail(socket_error("open a UDP socket", errno));
  const int on = 1;
  if (family == AF_INET6) {
    const int probe = IPV6_PMTUDISC_PROBE;
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof probe);
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_DONTFRAG, &on, sizeof on);
  } else {
    const int probe = IP_PMTUDISC_PROBE;
    ::setsockopt(fd.get(), IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe);
  }
  watch_icmp_errors(fd.get(), family);
  const SocketAddress& own = ends.from;
  if (own.length != 0 && ::bind(fd.get(), own.get(), own.length) != 0) {
    return fail(socket_error("bind the source address " + ends.from_ip, errno));
  }
  if (::connect(fd.get(), ends.to.get(), ends.to.length) != 0) {
    return fail(socket_error("find a way to " + to_text(ends.to), errno));
  }
  return fd;
}

int believed_mtu(int fd, int family) {
  int mtu = 0;
  socklen_t length = sizeof mtu;
  const bool v6 = family == AF_INET6;
  if (::getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &length) !=
      0) {
    return 0;
  }
  return mtu;
}

}  // namespace plumbline
