#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/tcp_progress.h"
#include "transport/tcp/socket.h"

namespace plumbline {

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

}  // namespace plumbline
