#include "probes/traces/flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace plumbline {
namespace {

constexpr size_t kMaxPlaces = 16;
constexpr int64_t kElsewhereWithin = 100'000'000;  // ns

constexpr int kDiscardService = 9;  // RFC 863

const char* protocol_name(uint8_t protocol) {
  if (protocol == kProtocolTcp) return "tcp";
  return protocol == kProtocolUdp ? "udp" : "icmp";
}

std::string handshake_of(const FlowState& flow) {
  if (flow.protocol != kProtocolTcp) return "none";
  if (flow.first_syn_at < 0) return "unseen";
  if (flow.third) return "complete";
  if (flow.syn_ack_at >= 0 || flow.side[1].syn_seq) return "half_open";
  if (flow.icmp_answer) return "icmp";
  return flow.refused ? "refused" : "no_answer";
}

std::string ended_of(const FlowState& flow) {
  if (flow.protocol != kProtocolTcp) return "";
  const bool finished = flow.side[0].fin_seen && flow.side[1].fin_seen;
  if (!finished && flow.reset_by >= 0) return flow.reset_by == 0 ? "rst by a" : "rst by b";
  return finished ? "fin" : "open";
}

TraceDirection direction_of(const FlowState& flow, size_t side, int64_t origin_ns) {
  const SideState& state = flow.side[side];
  TraceDirection result = state.counts;
  if (result.packets > 0) {
    result.first_ns -= origin_ns;
    result.last_ns -= origin_ns;
  }
  result.rtt = state.rtt.summary();
  result.unacked_bytes = state.segments.bytes();
  if (state.closed_since >= 0) {  // until the end of what was seen
    const int64_t end = std::max(state.last_packet_at, flow.side[1 - side].last_packet_at);
    result.closed_ns += std::max<int64_t>(end - state.closed_since, 0);
  }
  return result;
}

// One line for each thing that is wrong with a flow, worst first.
class Problems {
 public:
  Problems(const FlowState& flow, const TraceFlow& summary) : flow_(flow), summary_(summary) {
    const bool same_ip = summary.a_ip == summary.b_ip;
    name_[0] = same_ip ? endpoint_text(summary.a_ip, summary.a_port) : summary.a_ip;
    name_[1] = same_ip ? endpoint_text(summary.b_ip, summary.b_port) : summary.b_ip;
  }

  std::vector<std::string> lines() {
    if (flow_.protocol == kProtocolTcp) handshake();
    errors();
    if (flow_.protocol == kProtocolIcmp) echoes();
    if (flow_.protocol != kProtocolTcp) return std::move(lines_);
    reset();
    for (const auto one_side : {&Problems::stuck, &Problems::closed_windows, &Problems::sent_again,
                                &Problems::overtaken}) {
      for (size_t side = 0; side < 2; ++side) (this->*one_side)(side);
    }
    missing();
    return std::move(lines_);
  }

 private:
  const TraceDirection& counts(size_t side) const { return side == 0 ? summary_.a : summary_.b; }
  template <typename... Values>
  void say(fmt::format_string<Values...> text, Values&&... values) {
    lines_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }
  static std::string times(int64_t n) { return n == 1 ? "once" : fmt::format("{} times", n); }
  static std::string bytes(int64_t n) { return n == 1 ? "1 byte" : fmt::format("{} bytes", n); }

  void handshake() {
    const TraceDirection& a = summary_.a;
    const TraceDirection& b = summary_.b;
    const std::string span =
        a.syn > 1 ? " within " + format_duration(static_cast<double>(a.last_ns - a.first_ns)) : "";
    const std::string& handshake = summary_.handshake;
    if (handshake == "no_answer" && flow_.stray_ack) {
      say("{} answered the SYN with an acknowledgement of an older connection", name_[1]);
    } else if (handshake == "no_answer") {
      say("{} sent SYN {}{}; nothing came back", name_[0], times(a.syn), span);
    } else if (handshake == "refused") {
      say("{} refused: RST after {}", name_[1],
          format_duration(static_cast<double>(summary_.answer_ns)));
    } else if (handshake == "icmp") {
      say("the SYN was answered with an ICMP error");
    } else if (handshake == "half_open" && b.syn_ack > 0) {
      say("{} sent SYN-ACK {}, the third packet of the handshake never came", name_[1],
          times(b.syn_ack));
    } else if (handshake == "half_open") {
      say("both ends sent SYN, neither was acknowledged");
    } else if (handshake == "complete" && a.syn > 1) {
      say("{} sent SYN {} until it was answered", name_[0], times(a.syn));
    }
  }

  void errors() {
    bool expected = !summary_.icmp.empty();
    for (const TraceIcmp& error : summary_.icmp) {
      if (is_refused_discard(summary_, error)) continue;
      expected = false;
      const std::string line = fmt::format("ICMP from {} about a packet of {}: {}", error.from,
                                           name_[error.about_a ? 0 : 1], error.text);
      if (std::find(lines_.begin(), lines_.end(), line) == lines_.end()) lines_.push_back(line);
    }
    if (flow_.icmp_left_out > 0 && !expected) say("{} more ICMP errors", flow_.icmp_left_out);
  }

  void echoes() {
    if (flow_.echo_requests <= flow_.echo_replies) return;
    say("{} of {} echo requests got no reply", flow_.echo_requests - flow_.echo_replies,
        flow_.echo_requests);
  }

  void reset() {
    if (summary_.handshake == "refused" || flow_.reset_by < 0) return;
    const auto by = static_cast<size_t>(flow_.reset_by);
    if (summary_.ended == "fin") return;
    say("{} reset the connection{}", name_[by],
        flow_.reset_after_data ? "" : " before any data was sent");
  }

  void stuck(size_t side) {
    const SideState& state = flow_.side[side];
    if (state.stuck_times < 2 || state.stuck_payload == 0) return;
    const int64_t acked = counts(side).max_acked_payload;
    const bool large = state.stuck_payload > acked && state.stuck_payload >= 500;
    const std::string most =
        acked > 1 ? fmt::format("at most {} at once", bytes(acked)) : "no data";
    say("{} sent the same {} again {} and got no acknowledgement{}", name_[side],
        bytes(state.stuck_payload), times(state.stuck_times),
        large ? fmt::format("; {} came through: do large packets get lost?", most) : "");
  }

  void closed_windows(size_t side) {
    const TraceDirection& direction = counts(side);
    if (direction.zero_windows == 0) return;
    say("{} closed its window (zero window {}), {} in all: its program reads too slowly",
        name_[side], times(direction.zero_windows),
        format_duration(static_cast<double>(direction.closed_ns)));
  }

  void sent_again(size_t side) {
    const TraceDirection& direction = counts(side);
    const int64_t syns = std::max<int64_t>(direction.syn + direction.syn_ack - 1, 0);
    if (direction.retransmissions <= syns) return;
    say("{} sent {} of {} packets again: {} by time-out, {} on request, {} needlessly", name_[side],
        direction.retransmissions, direction.packets, direction.retransmissions_timeout,
        direction.retransmissions_fast, direction.retransmissions_spurious);
  }

  void overtaken(size_t side) {
    if (counts(side).out_of_order == 0) return;
    say("{} packets of {} came out of order", counts(side).out_of_order, name_[side]);
  }

  void missing() {
    for (size_t side = 0; side < 2; ++side) {
      if (counts(side).unseen_acked == 0) continue;
      say("the trace lacks packets of {} that were acknowledged ({})", name_[side],
          times(counts(side).unseen_acked));
    }
    const SideState& a = flow_.side[0];
    const SideState& b = flow_.side[1];
    if (a.counts.packets == 0 || b.counts.packets > 0 || !a.acks) return;
    say("only packets from {} were seen, although the other end answered them", name_[0]);
  }

  const FlowState& flow_;
  const TraceFlow& summary_;
  std::array<std::string, 2> name_;
  std::vector<std::string> lines_;
};

}  // namespace

FlowKey flow_key(uint8_t protocol, const Endpoint& one, const Endpoint& other) {
  return one < other ? FlowKey{one, other, protocol} : FlowKey{other, one, protocol};
}

IpPair hosts_of(const FlowState& flow) { return std::minmax(flow.a.ip, flow.b.ip); }

size_t FlowKeyHash::operator()(const FlowKey& key) const {
  return mix(key.low.ip.high, key.low.ip.low, key.high.ip.high, key.high.ip.low,
             (uint64_t{key.low.port} << 32) | (uint64_t{key.high.port} << 16) | key.protocol);
}

bool seen_elsewhere(FlowState& flow, int side, const Packet& packet) {
  SideState& me = flow.side[static_cast<size_t>(side)];
  if (!me.seen || packet.payload == 0 || (packet.tcp.flags & (kFlagSyn | kFlagRst)) != 0)
    return false;
  const uint32_t distance = packet.tcp.seq - static_cast<uint32_t>(me.reference);
  const int64_t begin = me.reference + static_cast<int32_t>(distance);
  const int64_t end = begin + packet.payload;
  auto place = std::find_if(flow.places.begin(), flow.places.end(), [&](const PlaceState& known) {
    return known.side == side && known.place == packet.place;
  });
  const bool first_place =
      std::none_of(flow.places.begin(), flow.places.end(),
                   [&](const PlaceState& known) { return known.side == side; });
  const bool new_here = place == flow.places.end() || begin >= place->next;
  if (place != flow.places.end()) {
    place->next = std::max(place->next, end);
  } else if (flow.places.size() < kMaxPlaces) {
    flow.places.push_back({packet.place, side, end});
  }
  if (first_place || !new_here || end > me.next) return false;
  int64_t last_sent = 0;
  return begin >= me.segments.acknowledged() && me.segments.covers(begin, end, &last_sent) &&
         packet.at_ns - last_sent <= kElsewhereWithin;
}

std::string endpoint_text(const std::string& ip, int port) {
  const bool v6 = ip.find(':') != std::string::npos;
  if (port == 0) return ip;
  return v6 ? fmt::format("[{}]:{}", ip, port) : fmt::format("{}:{}", ip, port);
}

bool is_refused_discard(const TraceFlow& flow, const TraceIcmp& error) {
  const bool port_unreachable =
      error.v6 ? error.type == 1 && error.code == 4 : error.type == 3 && error.code == 3;
  const int to_port = error.about_a ? flow.b_port : flow.a_port;
  return flow.protocol == "udp" && port_unreachable && to_port == kDiscardService;
}

TraceFlow summarise_flow(const FlowState& flow, int64_t origin_ns) {
  TraceFlow result;
  result.protocol = protocol_name(flow.protocol);
  result.a_ip = ip_text(flow.a.ip);
  result.b_ip = ip_text(flow.b.ip);
  result.a_port = flow.a.port;
  result.b_port = flow.b.port;
  result.handshake = handshake_of(flow);
  if (flow.first_syn_at >= 0 && flow.answer_at >= 0) {
    result.answer_ns = std::max<int64_t>(flow.answer_at - flow.first_syn_at, 0);
  }
  result.ended = ended_of(flow);
  result.a = direction_of(flow, 0, origin_ns);
  result.b = direction_of(flow, 1, origin_ns);
  RttDistribution both = flow.side[0].rtt;
  both.merge(flow.side[1].rtt);
  result.rtt = both.summary();
  result.copies = flow.copies;
  result.icmp = flow.icmp;
  for (TraceIcmp& error : result.icmp) error.at_ns -= origin_ns;
  result.rate = flow.rate.bins(flow.first_ns - origin_ns);
  result.problems = Problems(flow, result).lines();
  return result;
}

}  // namespace plumbline
