#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline {

// The kernel tells the bytes in the send buffer, those under way included, but not how many of them
// are unsent: unacked_bytes is then the smaller of buffer and congestion window.
void read_tcp_stats(int fd, StreamStats& stats) {
  if (const uint64_t bytes = granted_buffer(fd, SO_SNDBUF)) stats.send_buffer = bytes;
  if (const uint64_t bytes = granted_buffer(fd, SO_RCVBUF)) stats.recv_buffer = bytes;
  tcp_connection_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_CONNECTION_INFO, &info, &length) != 0) return;
  stats.mss = static_cast<int>(info.tcpi_maxseg);
  stats.rtt_us = info.tcpi_srtt * 1000.0;  // the kernel counts milliseconds
  stats.retransmits = info.tcpi_txretransmitpackets;
  const uint64_t queued = info.tcpi_snd_sbbytes;
  const uint64_t in_flight = queued < info.tcpi_snd_cwnd ? queued : info.tcpi_snd_cwnd;
  stats.unacked_bytes = in_flight;
  stats.unsent_bytes = queued - in_flight;
  stats.peer_window = info.tcpi_snd_wnd > in_flight ? info.tcpi_snd_wnd - in_flight : 0;
}

}  // namespace plumbline
