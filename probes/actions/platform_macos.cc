#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/platform.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

// Of netinet6/in6.h and netinet/in.h, where feature macros may hide them.
constexpr int kIpDontFragment = 28, kIpv6DontFragment = 62;

}  // namespace

// Segments are not counted by the kernel; bytes stand in for them.
TcpProgress tcp_progress(int fd, int64_t sent) {
  TcpProgress out;
  tcp_connection_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_CONNECTION_INFO, &info, &length) != 0) return out;
  out.bytes_acked = std::max<int64_t>(0, sent - int64_t{info.tcpi_snd_sbbytes});
  out.segments_out = static_cast<int64_t>(info.tcpi_txpackets);
  out.retransmitted = static_cast<int64_t>(info.tcpi_txretransmitpackets);
  out.rtt_ns = out.rtt_min_ns = int64_t{info.tcpi_srtt} * kMillisecond;
  out.peer_window = info.tcpi_snd_wnd;
  out.packet_bytes =
      static_cast<int>(info.tcpi_maxseg) + 20 + ip_header_bytes(local_address(fd).family());
  return out;
}

void choose_probe_congestion_control(int) {}

int own_segments_flag() { return 0; }

int64_t syns_sent(int) { return 1; }

// The table of sockets shows embryonic connections only to root, in a format of the kernel's own.
std::vector<HalfOpenConnection> half_open_connections(const std::set<int>&) { return {}; }

void never_fragment(int fd, int family) {
  const int on = 1;
  const bool v6 = family == AF_INET6;
  ::setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? kIpv6DontFragment : kIpDontFragment, &on,
               sizeof on);
}

int believed_mtu(int, int) { return 0; }  // not told for UDP

void add_source_option(std::vector<std::string>& argv, const PairEnds& ends) {
  argv.emplace_back("-S");
  argv.push_back(ip_text(ends.from));
}

// ping(8) waits 10 s for answers that do not come, or this many milliseconds; ping6(8) has no such
// option.
void add_linger_option(std::vector<std::string>& argv, bool v6, int64_t ms) {
  if (v6) return;
  argv.emplace_back("-W");
  argv.push_back(std::to_string(std::max<int64_t>(1, ms)));
}

}  // namespace plumbline
