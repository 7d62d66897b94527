// Follows a TCP connection packet by packet. The events are told apart by what a capture shows and
// nothing else, so the names mean what they mean in Wireshark ("TCP Analysis" in its user's guide):
// a segment below the highest bytes seen was sent again, unless its bytes were never seen and it
// comes within a round trip of later ones; then it was overtaken.
#include <algorithm>

#include "probes/traces/flow.h"

namespace plumbline {
namespace {

constexpr int64_t kQuiet = 200'000'000;          // ns; Linux's shortest retransmission time-out
constexpr int64_t kFastWithin = 20'000'000;      // ns from the duplicate that asks for a segment
constexpr int64_t kOvertakenWithin = 3'000'000;  // ns, where no handshake told the round trip

// A segment with its unwrapped numbers.
struct Segment {
  int64_t now = 0;
  int64_t seq = 0, end = 0, ack = 0;
  uint32_t payload = 0;
  bool syn = false, fin = false, rst = false, has_ack = false;
  bool control() const { return syn || fin || rst; }
  bool occupies() const { return end > seq; }
};

int64_t unwrap(SideState& side, uint32_t value) {
  if (!side.anchored) {
    side.anchored = true;
    side.reference = (int64_t{1} << 32) + value;
    side.first_seq = side.reference;
  }
  const uint32_t distance = value - static_cast<uint32_t>(side.reference);
  return side.reference + static_cast<int32_t>(distance);
}

Segment measure(SideState& me, SideState& peer, const Packet& packet) {
  Segment segment;
  const uint8_t flags = packet.tcp.flags;
  segment.now = packet.at_ns;
  segment.syn = (flags & kFlagSyn) != 0;
  segment.fin = (flags & kFlagFin) != 0;
  segment.rst = (flags & kFlagRst) != 0;
  segment.has_ack = (flags & kFlagAck) != 0;
  segment.payload = packet.payload;
  segment.seq = unwrap(me, packet.tcp.seq);
  segment.end = segment.seq + packet.payload + (segment.syn ? 1 : 0) + (segment.fin ? 1 : 0);
  if (segment.has_ack) segment.ack = unwrap(peer, packet.tcp.ack);
  return segment;
}

void count(SideState& me, const Segment& segment, const Packet& packet) {
  TraceDirection& counts = me.counts;
  counts.payload_bytes += packet.payload;
  counts.max_payload = std::max<int64_t>(counts.max_payload, packet.payload);
  counts.syn += segment.syn && !segment.has_ack ? 1 : 0;
  counts.syn_ack += segment.syn && segment.has_ack ? 1 : 0;
  counts.fin += segment.fin ? 1 : 0;
  counts.rst += segment.rst ? 1 : 0;
  if (!segment.syn) return;
  if (packet.tcp.mss >= 0) counts.mss = packet.tcp.mss;
  if (packet.tcp.window_scale >= 0) counts.window_scale = packet.tcp.window_scale;
  counts.sack_permitted = packet.tcp.sack_permitted;
}

void follow_handshake(FlowState& flow, int side, const Segment& segment) {
  SideState& me = flow.side[static_cast<size_t>(side)];
  const SideState& peer = flow.side[static_cast<size_t>(1 - side)];
  if (segment.syn) {
    if (!me.syn_seq) me.syn_seq = segment.seq;
    if (!segment.has_ack && side == 0) {
      if (flow.first_syn_at < 0) flow.first_syn_at = segment.now;
      flow.last_syn_at = segment.now;
    }
    if (segment.has_ack && flow.first_syn_at >= 0 && side == 1) {
      if (flow.answer_at < 0) flow.answer_at = segment.now;
      if (flow.syn_ack_at < 0) flow.syn_ack_at = segment.now;
    }
    // Both ends may begin at once (RFC 9293, 3.5).
    if (!segment.has_ack && side == 1 && flow.answer_at < 0) flow.answer_at = segment.now;
  }
  const bool open = flow.first_syn_at >= 0 && !flow.third;
  if (segment.rst) {
    if (open && side == 1 && flow.syn_ack_at < 0) {
      if (flow.answer_at < 0) flow.answer_at = segment.now;
      flow.refused = true;
    }
    if (flow.reset_by < 0) {
      flow.reset_by = side;
      flow.reset_after_data =
          flow.side[0].counts.payload_bytes + flow.side[1].counts.payload_bytes > 0;
    }
    return;
  }
  if (!open || !segment.has_ack || segment.syn) return;
  // Whoever sent the SYN acknowledges nothing before it was answered, seen here or not.
  const bool both_began = peer.syn_seq && flow.syn_ack_at < 0 && me.syn_seq;
  if (side == 0 || both_began) {
    flow.third = true;
    flow.initial_rtt = std::max<int64_t>(segment.now - flow.last_syn_at, 0);
  } else if (!me.syn_seq) {
    flow.stray_ack = true;  // an older connection's answer (RFC 5961)
  }
}

// Window closed, opened, filled.
void follow_window(SideState& me, const SideState& peer, const Segment& segment, uint16_t window) {
  TraceDirection& counts = me.counts;
  if (window == 0 && !segment.control()) {
    ++counts.zero_windows;
    if (me.closed_since < 0) me.closed_since = segment.now;
  } else if (window != 0 && me.closed_since >= 0) {
    counts.closed_ns += std::max<int64_t>(segment.now - me.closed_since, 0);
    me.closed_since = -1;
  }
  const int own = scale_of(me, peer);
  const int shift = segment.syn ? 0 : std::max(own, 0);
  counts.max_window = std::max(counts.max_window, int64_t{window} << shift);
  const int theirs = scale_of(peer, me);
  if (segment.payload > 0 && !segment.control() && theirs >= 0 && peer.acks && peer.window_known &&
      segment.end == peer.last_ack + (int64_t{peer.window} << theirs)) {
    ++counts.window_full;
  }
}

// RFC 5681: nothing new in it, and the window stays.
bool is_duplicate_ack(const SideState& me, const SideState& peer, const Segment& segment,
                      const TcpFields& tcp) {
  if (segment.payload > 0 || segment.control() || !segment.has_ack || !me.seen || !me.acks) {
    return false;
  }
  if (segment.seq != me.next || segment.ack != me.last_ack) return false;
  const bool same_window = tcp.window == me.window;
  if (peer.sent_keepalive && tcp.window != 0 && same_window) return false;  // answers that
  if (peer.sent_probe && same_window) return false;
  return tcp.window != 0 && same_window;
}

void count_resent(TraceDirection& counts, SendKind kind, int64_t by) {
  if (kind == SendKind::kTimeout) counts.retransmissions_timeout += by;
  if (kind == SendKind::kFast) counts.retransmissions_fast += by;
  if (kind == SendKind::kSpurious) counts.retransmissions_spurious += by;
}

// Do duplicate acknowledgements ask for these bytes?
bool asked_for(const SideState& peer, const Segment& segment) {
  return peer.duplicates >= 2 && peer.last_ack == segment.seq &&
         segment.now - peer.last_ack_at < kFastWithin;
}

// What made the sender send these bytes again. Loss recovery goes on until everything that was out
// when it began is acknowledged; all of it has the cause that began it.
SendKind why_resent(SideState& me, const SideState& peer, const Segment& segment) {
  if (me.highest_acked && segment.end <= *me.highest_acked) return SendKind::kSpurious;
  const bool quiet = !peer.seen || (segment.now - peer.last_packet_at >= kQuiet &&
                                    segment.now - me.last_data_at >= kQuiet);
  const bool recovering =
      me.recovery != SendKind::kNone && me.highest_acked.value_or(me.first_seq) < me.recovery_end;
  if (asked_for(peer, segment)) {
    me.recovery = SendKind::kFast;
  } else if (quiet) {
    me.recovery = SendKind::kTimeout;
  } else if (!recovering) {
    const bool news = peer.duplicates > 0 || peer.selective;
    me.recovery =
        news && segment.now - peer.last_packet_at < kQuiet ? SendKind::kFast : SendKind::kTimeout;
  }
  if (!recovering) me.recovery_end = me.next;
  return me.recovery;
}

// Bytes below the highest that were seen: sent again, or overtaken on the way.
TracePointKind follow_old_bytes(FlowState& flow, SideState& me, const SideState& peer,
                                const Segment& segment, int64_t& seen_ago) {
  int64_t last_sent = 0;
  const bool seen =
      segment.seq >= me.first_seq && me.segments.covers(segment.seq, segment.end, &last_sent);
  if (seen) seen_ago = last_sent > 0 ? std::max<int64_t>(segment.now - last_sent, 0) : 0;
  const bool acknowledged = me.highest_acked && segment.end <= *me.highest_acked;
  const int64_t near = flow.initial_rtt > 0 ? flow.initial_rtt : kOvertakenWithin;
  if (!seen && !acknowledged && !asked_for(peer, segment) && segment.end != me.next &&
      segment.now - me.next_at < near) {
    ++me.counts.out_of_order;
    return TracePointKind::kOutOfOrder;
  }
  const SendKind kind = why_resent(me, peer, segment);
  ++me.counts.retransmissions;
  count_resent(me.counts, kind, 1);
  me.resent[me.resents++ % me.resent.size()] = {segment.seq, segment.end, kind};
  if (kind != SendKind::kSpurious && (!me.highest_acked || segment.seq <= *me.highest_acked)) {
    ++me.stuck_times;
    me.stuck_payload = segment.payload;
  }
  return TracePointKind::kRetransmission;
}

// Keepalives, probes, gaps and old bytes. The caller has handled a direction's first packet.
TracePointKind follow_numbers(FlowState& flow, SideState& me, const SideState& peer,
                              const Segment& segment, int64_t& seen_ago) {
  const bool closed = peer.window_known && peer.window == 0;
  me.sent_keepalive = me.sent_probe = false;
  if (segment.rst) return TracePointKind::kRst;
  const bool behind_by_one = segment.seq == me.next - 1;
  if (!segment.control() && segment.payload <= 1 && behind_by_one) {
    // Also Linux's way to ask whether a closed window has opened.
    ++(closed ? me.counts.window_probes : me.counts.keepalives);
    me.sent_keepalive = true;
    return TracePointKind::kProbe;
  }
  if (!segment.control() && segment.payload == 1 && segment.seq == me.next && closed) {
    ++me.counts.window_probes;
    me.sent_probe = true;
    return TracePointKind::kProbe;
  }
  if (segment.seq > me.next) ++me.counts.gaps;
  if (!segment.occupies()) return TracePointKind::kAck;
  // One byte below and more than one long: that byte was a probe, the rest is new.
  if (segment.seq < me.next && !(behind_by_one && segment.payload > 1 && segment.end > me.next)) {
    return follow_old_bytes(flow, me, peer, segment, seen_ago);
  }
  return TracePointKind::kData;
}

void begin_direction(SideState& me, const Segment& segment) {
  me.seen = true;
  me.first_seq = segment.seq;
  me.reference = me.next = me.contiguous = segment.seq;
  me.next_at = segment.now;
  me.segments.start(segment.seq);
}

// The bytes of the segment become known; retransmissions do not count for the rate.
void note_bytes(FlowState& flow, int side, SideState& me, const Segment& segment,
                TracePointKind kind, size_t most_segments) {
  if (segment.rst || kind == TracePointKind::kProbe) return;
  if (segment.occupies()) {
    const bool fresh = kind != TracePointKind::kRetransmission;
    if (fresh && segment.payload > 0) {
      flow.rate.add(segment.now - flow.first_ns, side == 0, segment.payload);
    }
    me.segments.add(segment.seq, segment.end, segment.now, most_segments);
    me.last_data_at = segment.now;
    if (segment.seq <= me.contiguous && segment.end > me.contiguous) {
      me.contiguous = segment.end >= me.next ? segment.end : me.segments.run_end(me.contiguous);
    }
  }
  if (segment.end > me.next) {
    me.next = me.reference = segment.end;
    me.next_at = segment.now;
  }
}

// RFC 2883: the first block lies below the acknowledgement, or inside the second block.
void follow_duplicate_sack(SideState& peer, const Segment& segment, const TcpFields& tcp) {
  if (tcp.sacks == 0 || !peer.seen) return;
  const int64_t begin = unwrap(peer, tcp.sack[0].begin), end = unwrap(peer, tcp.sack[0].end);
  const bool below = end <= segment.ack;
  const bool inside = tcp.sacks > 1 && unwrap(peer, tcp.sack[1].begin) <= begin &&
                      end <= unwrap(peer, tcp.sack[1].end);
  if (begin >= end || (!below && !inside)) return;
  for (Resent& resent : peer.resent) {
    if (resent.kind == SendKind::kNone || resent.kind == SendKind::kSpurious) continue;
    if (resent.begin > begin || end > resent.end) continue;
    count_resent(peer.counts, resent.kind, -1);
    count_resent(peer.counts, SendKind::kSpurious, 1);
    resent.kind = SendKind::kSpurious;
    return;
  }
}

void follow_ack(SideState& me, SideState& peer, const Segment& segment, const TcpFields& tcp) {
  if (!segment.has_ack || segment.rst) return;
  if (!me.acks || segment.ack != me.last_ack) {
    me.duplicates = 0;
    me.selective = false;
  }
  me.acks = true;
  me.last_ack = segment.ack;
  me.last_ack_at = segment.now;
  me.selective = me.selective || tcp.sacks > 0;
  follow_duplicate_sack(peer, segment, tcp);
  if (!peer.seen) {
    peer.reference = std::max(peer.reference, segment.ack);
    peer.highest_acked = std::max(peer.highest_acked.value_or(segment.ack), segment.ack);
    return;
  }
  if (peer.sent_probe && segment.ack == peer.next + 1) {  // the probe's byte was taken
    peer.segments.add(peer.next, segment.ack, segment.now);
    peer.next = segment.ack;
    peer.contiguous = std::max(peer.contiguous, peer.next);
  }
  if (segment.ack > peer.contiguous) {
    ++peer.counts.gaps;
    ++peer.counts.unseen_acked;
    peer.contiguous = std::max(segment.ack, peer.segments.run_end(segment.ack));
  }
  const SegmentList::Acked acked = peer.segments.acknowledge(segment.ack, segment.now);
  if (acked.rtt_ns) peer.rtt.add(*acked.rtt_ns);
  peer.counts.max_acked_payload = std::max(peer.counts.max_acked_payload, acked.largest);
  if (!peer.highest_acked || segment.ack > *peer.highest_acked) {
    peer.highest_acked = segment.ack;
    peer.stuck_times = 0;
  }
}

TracePointKind shown_kind(const Segment& segment, TracePointKind kind, bool duplicate,
                          uint16_t window) {
  if (segment.rst) return TracePointKind::kRst;
  if (kind == TracePointKind::kRetransmission || kind == TracePointKind::kOutOfOrder) return kind;
  if (segment.syn) return TracePointKind::kSyn;
  if (segment.fin) return TracePointKind::kFin;
  if (kind == TracePointKind::kProbe) return kind;
  if (window == 0) return TracePointKind::kZeroWindow;
  return duplicate ? TracePointKind::kDuplicateAck : kind;
}

}  // namespace

int scale_of(const SideState& me, const SideState& peer) {
  if (!me.syn_seq || !peer.syn_seq) return -1;
  return me.counts.window_scale && peer.counts.window_scale ? *me.counts.window_scale : 0;
}

SegmentEvent follow_tcp(FlowState& flow, int side, const Packet& packet, size_t most_segments) {
  SideState& me = flow.side[static_cast<size_t>(side)];
  SideState& peer = flow.side[static_cast<size_t>(1 - side)];
  const Segment segment = measure(me, peer, packet);
  const TcpFields& tcp = packet.tcp;
  count(me, segment, packet);
  follow_handshake(flow, side, segment);
  const bool duplicate = is_duplicate_ack(me, peer, segment, tcp);
  if (duplicate) {
    ++me.counts.duplicate_acks;
    ++me.duplicates;
  }
  TracePointKind kind = segment.occupies() ? TracePointKind::kData : TracePointKind::kAck;
  int64_t seen_ago = -1;
  if (segment.rst && !me.seen) {
    kind = TracePointKind::kRst;  // its numbers may be anything: no beginning
  } else if (!me.seen) {
    begin_direction(me, segment);
  } else {
    kind = follow_numbers(flow, me, peer, segment, seen_ago);
  }
  follow_window(me, peer, segment, tcp.window);
  if (me.seen) note_bytes(flow, side, me, segment, kind, most_segments);
  follow_ack(me, peer, segment, tcp);
  me.fin_seen = me.fin_seen || segment.fin;
  me.window_known = !segment.rst;  // a reset takes the offer back
  if (!segment.rst) me.window = tcp.window;
  me.last_packet_at = segment.now;
  return {shown_kind(segment, kind, duplicate, tcp.window), segment.seq - me.first_seq,
          segment.end - me.first_seq, seen_ago};
}

}  // namespace plumbline
