// How a TCP connection gets on, as its sender's kernel tells: bytes that the peer acknowledged,
// segments, retransmissions, times, and what held it back. Platform code: tcp_progress_linux.cc
// (TCP_INFO, tcp(7)), tcp_progress_macos.cc (TCP_CONNECTION_INFO; some fields stay 0). Thread-safe.
#pragma once

#include <cstdint>

namespace plumbline {

struct TcpProgress {
  int64_t bytes_acked = 0;
  // With data, retransmissions included: also those that the own filter or queue threw away, which
  // are no retransmissions when they are sent again. What came in counts duplicates too; 0 = the
  // system does not tell.
  int64_t segments_out = 0, segments_in = 0;
  int64_t bytes_sent = -1;        // in `segments_out`; -1 = the system does not tell
  int64_t retransmitted = 0;      // segments
  int64_t duplicate_reports = 0;  // by the peer's D-SACKs (RFC 2883)
  int64_t rtt_ns = 0, rtt_min_ns = 0;
  int64_t peer_window = 0;                                // bytes
  double limited_by_receiver = 0, limited_by_buffer = 0;  // share of the time with data to send
  int packet_bytes = 0;  // of an IP packet with a full segment, as it is sent now
};
// `sent` is what was given to the socket so far (for systems that count only what is queued).
TcpProgress tcp_progress(int fd, int64_t sent);

// A congestion control that sends as fast as the path takes it, where the system has it and lets
// us: pacing ones (bbr) would measure themselves. Never loads a kernel module.
void choose_probe_congestion_control(int fd);

// A flag for send(2): these bytes are never joined with others to larger segments, neither now nor
// when they are sent again, so that a lost message is one lost segment. 0 where there is none.
int own_segments_flag();

// How many SYNs this socket has sent by now; 0 when the system does not tell.
int64_t syns_sent(int fd);

}  // namespace plumbline
