// What differs by platform about the sockets of pair probes and the system's own ping. Platform
// code: platform_linux.cc (TCP_INFO, tcp(7); IP_PMTUDISC_PROBE, ip(7), ipv6(7)), platform_macos.cc
// (TCP_CONNECTION_INFO, some fields stay 0; IP_DONTFRAG and IPV6_DONTFRAG, ip(4), ip6(4)).
// Thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "probes/actions/ends.h"

namespace plumbline {

// ---- how a TCP connection gets on, as its sender's kernel tells ----

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

// ---- connections that a peer began and that the kernel holds half open ----

// SYN came, SYN-ACK went out, the third packet has not come: seen when answers do not get through
// to the peer.
struct HalfOpenConnection {
  std::string ip;  // ours; without scope
  int port = 0;
  std::string peer_ip;
  int peer_port = 0;
};
// Of these local ports, at this moment.
std::vector<HalfOpenConnection> half_open_connections(const std::set<int>& ports);

// ---- datagrams that are never fragmented ----

// Neither here nor on the way (DF of IPv4), also those larger than what the system believes the
// path to take; ICMP errors about them are asked for where the system has them.
void never_fragment(int fd, int family);
// MTU of the path, as the system believes now; 0 = it does not tell.
int believed_mtu(int fd, int family);

// ---- the system's ping ----

// Words that make ping use the source address of `ends`.
void add_source_option(std::vector<std::string>& argv, const PairEnds& ends);
// Words that end the waiting for answers so many milliseconds after the last echo.
void add_linger_option(std::vector<std::string>& argv, bool v6, int64_t ms);

}  // namespace plumbline
