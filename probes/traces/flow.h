// What the analyser remembers of one conversation while it reads: the state of both directions of a
// TCP connection, or counts for UDP and ICMP. tcp_flow.cc follows the packets, flow.cc
// turns the state into a TraceFlow at the end, for people and rules to read. Belongs to one
// analysis.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnosis/trace_summary.h"
#include "probes/traces/flow_memory.h"
#include "probes/traces/packet.h"

namespace plumbline {

struct Endpoint {
  IpAddress ip;
  uint16_t port = 0;
  // clang-tidy 14 takes the 0 of a defaulted <=> for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  // Of its inner 0, clang-tidy 14 thinks it a pointer. NOLINTNEXTLINE(modernize-use-nullptr)
  std::strong_ordering operator<=>(const Endpoint& other) const = default;
};

// Both ends in a fixed order, so that either direction finds the same flow.
struct FlowKey {
  Endpoint low, high;
  uint8_t protocol = 0;  // kProtocolTcp, kProtocolUdp or kProtocolIcmp (ICMPv6, too)
  bool operator==(const FlowKey& other) const = default;
};
FlowKey flow_key(uint8_t protocol, const Endpoint& one, const Endpoint& other);

using IpPair = std::pair<IpAddress, IpAddress>;  // the lower one first

struct FlowKeyHash {
  size_t operator()(const FlowKey& key) const;
};

enum class SendKind : uint8_t { kNone, kTimeout, kFast, kSpurious };

// A retransmission that a duplicate SACK may yet show to have been unnecessary.
struct Resent {
  int64_t begin = 0, end = 0;
  SendKind kind = SendKind::kNone;
};

// One direction: what its sender sent. Sequence numbers are unwrapped to 64 bits.
struct SideState {
  TraceDirection counts;
  bool seen = false;      // a packet of it was seen
  bool anchored = false;  // `reference` is valid
  int64_t reference = 0;  // sequence numbers are unwrapped near it
  int64_t first_seq = 0;  // its SYN's, or the first seen: zero of relative numbers
  std::optional<int64_t> syn_seq;
  bool fin_seen = false;

  int64_t next = 0;  // end of the highest bytes seen, valid when `seen`
  int64_t next_at = 0;
  int64_t contiguous = 0;  // everything below was seen, or acknowledged
  SegmentList segments;
  std::optional<int64_t> highest_acked;  // by the other side
  int64_t last_data_at = 0, last_packet_at = 0;
  // Sendings in vain of the first bytes that are not acknowledged, and their number of bytes.
  int64_t stuck_times = 0, stuck_payload = 0;

  // What its acknowledgements said last.
  bool acks = false;
  int64_t last_ack = 0, last_ack_at = 0;
  uint16_t window = 0;
  bool window_known = false;
  int64_t closed_since = -1;                        // -1 = open
  int64_t duplicates = 0;                           // duplicate acknowledgements of last_ack
  bool selective = false;                           // carried SACK blocks since last_ack moved
  bool sent_keepalive = false, sent_probe = false;  // its last packet was one

  // The episode of loss recovery that its sender is in.
  int64_t recovery_end = 0;
  SendKind recovery = SendKind::kNone;
  std::array<Resent, 32> resent;  // a ring
  size_t resents = 0;

  RttDistribution rtt;
};

// Bits by which the side's window is shifted; -1 = its SYN was not seen.
int scale_of(const SideState& me, const SideState& peer);

// Where copies of a direction's packets were seen, with the highest bytes seen there.
struct PlaceState {
  Place place;
  int side = 0;
  int64_t next = 0;
};

struct FlowState {
  uint8_t protocol = 0;
  Endpoint a, b;
  int64_t index = 0;
  int64_t first_ns = 0;            // of its first packet, absolute
  std::array<SideState, 2> side;   // of a, of b
  std::vector<PlaceState> places;  // only where packets can be seen twice
  std::vector<TraceIcmp> icmp;     // the first few; times absolute
  int64_t icmp_left_out = 0;
  RateBins rate;
  int64_t copies = 0;
  int64_t echo_requests = 0, echo_replies = 0;  // of ICMP

  // The handshake.
  int64_t first_syn_at = -1, last_syn_at = -1, answer_at = -1;  // absolute, -1 = none
  bool refused = false, icmp_answer = false, third = false, stray_ack = false;
  int64_t syn_ack_at = -1;
  int64_t initial_rtt = 0;  // last SYN to the third packet; 0 = not seen
  int reset_by = -1;        // side
  bool reset_after_data = false;
};

IpPair hosts_of(const FlowState& flow);

// What became of a segment; also what a time-sequence plot shows.
struct SegmentEvent {
  TracePointKind kind = TracePointKind::kAck;
  int64_t begin = 0, end = 0;  // relative to first_seq of its sender
  // Of bytes below the highest: how long ago all of them were seen here last, ns; -1 = some never.
  int64_t seen_ago = -1;
};

// Follows one TCP packet sent by `side` (0 = a). `most_segments` bounds each direction's memory.
SegmentEvent follow_tcp(FlowState& flow, int side, const Packet& packet, size_t most_segments);

// Is this packet, seen at another place than its direction's first, only a further sighting of
// bytes that were seen a moment ago, cut into other segments? Notes the place.
bool seen_elsewhere(FlowState& flow, int side, const Packet& packet);

// `origin_ns`: absolute time of the trace's first packet, to which times are made relative.
TraceFlow summarise_flow(const FlowState& flow, int64_t origin_ns);
// Does the error only say that nobody listens for datagrams on the discard port (RFC 863)? Those
// are sent, by doctor too, to make the system look for a neighbour; an answer to them is no fault.
bool is_refused_discard(const TraceFlow& flow, const TraceIcmp& error);

// "192.0.2.1:80", "[2001:db8::1]:80"; without a port for ICMP.
std::string endpoint_text(const std::string& ip, int port);

}  // namespace plumbline
