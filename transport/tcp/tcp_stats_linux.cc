#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>

#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline {
namespace {

// Older kernels fill only the beginning of the structure, up to before this field.
constexpr size_t kWithPeerWindow =
    offsetof(tcp_info, tcpi_snd_wnd) + sizeof(tcp_info::tcpi_snd_wnd);

}  // namespace

void read_tcp_stats(int fd, StreamStats& stats) {
  stats.congestion_control = congestion_control_of(fd);
  if (const uint64_t bytes = granted_buffer(fd, SO_SNDBUF)) stats.send_buffer = bytes;
  if (const uint64_t bytes = granted_buffer(fd, SO_RCVBUF)) stats.recv_buffer = bytes;
  int queued = 0, unsent = 0;  // bytes: unacknowledged and unsent together; unsent alone
  const bool queues = ::ioctl(fd, SIOCOUTQ, &queued) == 0 && ::ioctl(fd, SIOCOUTQNSD, &unsent) == 0;
  const uint64_t in_flight = queues && queued > unsent ? static_cast<uint64_t>(queued - unsent) : 0;
  if (queues) {
    stats.unsent_bytes = static_cast<uint64_t>(unsent);
    stats.unacked_bytes = in_flight;
  }
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return;
  stats.mss = static_cast<int>(info.tcpi_snd_mss);
  stats.rtt_us = info.tcpi_rtt;
  stats.retransmits = info.tcpi_total_retrans;
  if (length >= kWithPeerWindow) {
    // The window counts from the oldest unacknowledged byte.
    stats.peer_window = info.tcpi_snd_wnd > in_flight ? info.tcpi_snd_wnd - in_flight : 0;
  }
}

}  // namespace plumbline
