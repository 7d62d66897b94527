// linux/tcp.h has the newer fields; it cannot be included together with netinet/tcp.h.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/platform.h"
#include "probes/icmp_error.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr int64_t kMicrosecond = 1000;  // ns
constexpr int kTcpHeader = 20, kTimestampOption = 12;
constexpr unsigned kTimestamps = 1;  // TCPI_OPT_TIMESTAMPS

// Older kernels fill only the beginning; the rest stays zero.
tcp_info read_info(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  return info;
}

}  // namespace

TcpProgress tcp_progress(int fd, int64_t) {
  const tcp_info info = read_info(fd);
  TcpProgress out;
  out.bytes_acked = static_cast<int64_t>(info.tcpi_bytes_acked);
  out.segments_out = info.tcpi_data_segs_out;
  out.segments_in = info.tcpi_data_segs_in;
  // Since Linux 4.19; before, it stays zero.
  if (info.tcpi_bytes_sent > 0 || info.tcpi_data_segs_out == 0) {
    out.bytes_sent = static_cast<int64_t>(info.tcpi_bytes_sent);
  }
  out.retransmitted = info.tcpi_total_retrans;
  out.duplicate_reports = info.tcpi_dsack_dups;
  out.rtt_ns = info.tcpi_rtt * kMicrosecond;
  const bool no_sample = info.tcpi_min_rtt == ~0u;
  out.rtt_min_ns = no_sample ? 0 : info.tcpi_min_rtt * kMicrosecond;
  out.peer_window = info.tcpi_snd_wnd;
  if (info.tcpi_busy_time > 0) {
    const auto busy = static_cast<double>(info.tcpi_busy_time);
    out.limited_by_receiver = static_cast<double>(info.tcpi_rwnd_limited) / busy;
    out.limited_by_buffer = static_cast<double>(info.tcpi_sndbuf_limited) / busy;
  }
  const int options = (info.tcpi_options & kTimestamps) != 0 ? kTimestampOption : 0;
  out.packet_bytes = static_cast<int>(info.tcpi_snd_mss) + kTcpHeader + options +
                     ip_header_bytes(local_address(fd).family());
  return out;
}

void choose_probe_congestion_control(int fd) {
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  std::string name;
  while (file >> name) {
    if (name == "cubic") set_congestion_control(fd, name);
  }
}

int own_segments_flag() { return MSG_EOR; }  // for TCP since Linux 4.7, tcp_sendmsg_locked

int64_t syns_sent(int fd) { return 1 + int64_t{read_info(fd).tcpi_total_retrans}; }

std::vector<HalfOpenConnection> half_open_connections(const std::set<int>& ports) {
  std::vector<HalfOpenConnection> out;
  for (TcpTableRow& row : read_tcp_tables()) {
    if (row.state != kTcpSynReceived || ports.count(row.port) == 0) continue;
    out.push_back({std::move(row.ip), row.port, std::move(row.peer_ip), row.peer_port});
  }
  return out;
}

void never_fragment(int fd, int family) {
  const int on = 1;
  if (family == AF_INET6) {
    const int probe = IPV6_PMTUDISC_PROBE;
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof probe);
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_DONTFRAG, &on, sizeof on);
  } else {
    const int probe = IP_PMTUDISC_PROBE;
    ::setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe);
  }
  watch_icmp_errors(fd, family);
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

void add_source_option(std::vector<std::string>& argv, const PairEnds& ends) {
  argv.emplace_back("-I");
  const bool scoped = ends.from.family() == AF_INET6 && ends.from.link_local();
  argv.push_back(scoped ? ends.interface : ip_text(ends.from));
}

// Without it iputils waits 10 s for answers that do not come. Whole seconds are what every version
// understands.
void add_linger_option(std::vector<std::string>& argv, bool /*v6*/, int64_t ms) {
  argv.emplace_back("-W");
  argv.push_back(std::to_string(std::max<int64_t>(1, (ms + 999) / 1000)));
}

}  // namespace plumbline
