// The sockets of one ordered pair in one round of a link matrix: a control connection (round trips,
// reports) and as many data connections as the measure wants, between the two addresses that the
// ranks' own channel uses, on a port of the job's window where that is free. Each connection begins
// with a hello that carries the receiver's random nonce; whoever does not know it is closed. Every
// wait has a deadline and ends early when the group has failed. A session belongs to one thread at
// a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/fd.h"
#include "core/record/link.h"
#include "transport/group.h"
#include "transport/rdma/bare_verbs.h"
#include "transport/tcp/socket.h"
#include "transport/traffic/traffic.h"
#include "transport/transports.h"

namespace plumbline {

// Numbers on the control connection of a pair: a count, then so many 64-bit numbers, little-endian.
// Neither end believes the other's count beyond what the caller allows.
constexpr size_t kWordBytes = 8;
void put_words(std::span<const uint64_t> words, unsigned char* at);
void get_words(const unsigned char* at, std::span<uint64_t> words);

Status send_numbers(int fd, const std::vector<uint64_t>& numbers, const Patience& patience);
Expected<std::vector<uint64_t>> receive_numbers(int fd, size_t most, const Patience& patience);

// What a pair needs to connect.
struct LinkPath {
  SocketAddress local, remote;  // ports 0
  std::string interface;        // of link-local addresses
  std::string local_ip, remote_ip;
  bool direct = false;
  std::shared_ptr<RdmaPort> rdma;  // where the ranks talk over RDMA: for queue pairs of one's own
};

struct LinkSession {
  int from = 0, to = 0;  // ranks
  std::string name;      // "host0 > host1 (10.0.0.1 > 10.0.0.2)", for errors
  LinkPath path;
  uint64_t nonce = 0;
  uint16_t port = 0;  // the receiver's; 0 = it could not listen
  Fd listener;        // at the receiver
  Fd control;
  std::vector<Fd> data;
  Error error;          // why it cannot be measured; meaningful when !usable
  bool usable = false;  // all connections stand
  void refuse(Error why);
};

// "10.0.0.1:40000", "[fe80::1%eth0]:40000" -> the address with port 0. `ip` gets the text in front.
Expected<SocketAddress> address_of_text(const std::string& text, std::string& ip,
                                        std::string& interface);

// Dials all sessions at once, each with `data` data connections, and marks each usable or refused.
void connect_sessions(std::vector<LinkSession*>& sessions, int data, const SocketOptions& options,
                      Deadline deadline);
// Takes the connections of all sessions, strangers aside.
void accept_sessions(std::vector<LinkSession*>& sessions, int data, const SocketOptions& options,
                     const Patience& patience);

// The two addresses between which a pair is measured: those of the ranks' own channel, because they
// are what collectives use. One thread,
// the group's.
// Connects the channel to `peer` first where that has not happened. `endpoints` of all ranks tell
// whether the two addresses share a subnet; null = not known, and then not direct.
Expected<LinkPath> link_path(Group& group, int peer, const std::vector<RankEndpoint>* endpoints,
                             Deadline deadline);

// What runs over the connections of one pair: round trips on the control connection, streams on the
// data connections (one thread each, so that several can use several cores), both at once for the
// round trip under load, and datagrams. Every function has a sender's and a receiver's side that
// belong together; both end by their own deadlines whatever the other one does. All times in ns.
struct FlowSettings {
  int64_t time_ns = 500'000'000;   // how long a stream or the datagrams last
  size_t message_bytes = 64;       // of a round trip
  size_t datagram_bytes = 1200;    // payload
  uint64_t rate_bps = 50'000'000;  // of datagrams, payload
  bool loaded = false;             // round trips beside the streams
  VerbsMove move = VerbsMove::kSend;
  int pairs = 1;  // queue pairs
  Patience wait;  // whose deadline is not heeded
};

// Length of the intervals in a stream's series: 100 ms, or a fifth of a short measurement.
int64_t series_interval_ns(int64_t time_ns);

// Fill the result; an Error says why the pair could not be measured.
Status latency_from(LinkSession& session, const FlowSettings& settings, LinkResult& result);
Status latency_to(LinkSession& session, const FlowSettings& settings);
Status streams_from(LinkSession& session, const FlowSettings& settings, LinkResult& result);
Status streams_to(LinkSession& session, const FlowSettings& settings);
Status udp_from(LinkSession& session, const FlowSettings& settings, LinkResult& result);
Status udp_to(LinkSession& session, const FlowSettings& settings);
// Over queue pairs of their own, to the device of LinkPath::rdma (link_verbs.cc).
Status verbs_latency_from(LinkSession& session, const FlowSettings& settings, LinkResult& result);
Status verbs_latency_to(LinkSession& session, const FlowSettings& settings);
Status verbs_rate_from(LinkSession& session, const FlowSettings& settings, LinkResult& result);
Status verbs_rate_to(LinkSession& session, const FlowSettings& settings);

// The longest that any of these may take.
int64_t flow_limit_ms(int64_t time_ns);

}  // namespace plumbline
