// macOS: IP_DONTFRAG and IPV6_DONTFRAG (ip(4), ip6(4)); the path's MTU is not told for UDP.
#include <netinet/in.h>

#include <cerrno>

#include "probes/actions/df_socket.h"
#include "transport/traffic/datagrams.h"

namespace plumbline {
namespace {

// Of netinet6/in6.h and netinet/in.h, where feature macros may hide them.
constexpr int kIpDontFragment = 28, kIpv6DontFragment = 62;

}  // namespace

Expected<Fd> open_df_socket(const PairEnds& ends) {
  const int family = ends.to.family();
  Fd fd = new_datagram_socket(family);
  if (!fd.valid()) return fail(socket_error("open a UDP socket", errno));
  const int on = 1;
  const bool v6 = family == AF_INET6;
  ::setsockopt(fd.get(), v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? kIpv6DontFragment : kIpDontFragment,
               &on, sizeof on);
  const SocketAddress& own = ends.from;
  if (own.length != 0 && ::bind(fd.get(), own.get(), own.length) != 0) {
    return fail(socket_error("bind the source address " + ends.from_ip, errno));
  }
  if (::connect(fd.get(), ends.to.get(), ends.to.length) != 0) {
    return fail(socket_error("find a way to " + to_text(ends.to), errno));
  }
  return fd;
}

int believed_mtu(int, int) { return 0; }

}  // namespace plumbline
