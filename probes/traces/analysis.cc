#include "probes/traces/analysis.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "probes/traces/packet.h"

namespace plumbline {
namespace {

constexpr int64_t kSegmentsOfAll = 1'000'000;  // segments in flight that all flows may remember
constexpr size_t kSegmentsWhenFull = 256;      // of one direction, when there are more
constexpr size_t kMaxIcmp = 32;                // ICMP errors kept for one flow
constexpr size_t kMaxAddresses = 4096;
constexpr int64_t kBackwards = 1'000'000;  // ns; interfaces deliver a little out of order

// Does this SYN begin another connection of the same addresses and ports?
bool begins_anew(const FlowState& flow, int side, const Packet& packet) {
  if ((packet.tcp.flags & (kFlagSyn | kFlagAck)) != kFlagSyn) return false;
  const SideState& me = flow.side[static_cast<size_t>(side)];
  const SideState& peer = flow.side[static_cast<size_t>(1 - side)];
  if (me.syn_seq) return static_cast<uint32_t>(*me.syn_seq) != packet.tcp.seq;
  // Both may begin at the same time; a flow that was only quoted by an error has not begun.
  if (!me.seen) return peer.seen && (!peer.syn_seq || flow.third);
  return true;
}

void count_packet(SideState& side, const Packet& packet) {
  TraceDirection& counts = side.counts;
  if (counts.packets++ == 0) {
    counts.first_ns = packet.at_ns;
    counts.ttl = packet.ttl;
  }
  counts.last_ns = packet.at_ns;
  counts.outgoing += packet.place.direction == 2 ? 1 : 0;
  counts.incoming += packet.place.direction == 1 ? 1 : 0;
}

void note_error(FlowState& flow, const Packet& packet) {
  const bool about_a = Endpoint{packet.quoted.from, packet.quoted.from_port} == flow.a;
  if (about_a && flow.first_syn_at >= 0 && flow.answer_at < 0 &&
      icmp_is_hard(packet.v6, packet.icmp_type, packet.icmp_code)) {
    flow.answer_at = packet.at_ns;
    flow.icmp_answer = true;
  }
  if (flow.icmp.size() >= kMaxIcmp) {
    ++flow.icmp_left_out;
    return;
  }
  flow.icmp.push_back({packet.at_ns, ip_text(packet.from), packet.icmp_type, packet.icmp_code,
                       icmp_text(packet.v6, packet.icmp_type, packet.icmp_code, packet.icmp_mtu),
                       packet.v6, about_a});
}

}  // namespace

std::string trace_time(int64_t ns) {
  const time_t seconds = ns / 1'000'000'000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     ns % 1'000'000'000 / 1000);
}

void Analysis::read(TraceFile& file) {
  RawPacket raw;
  while (file.next(raw)) {
    if (totals_.packets >= limits_.max_packets) {
      stopped_ = true;
      return;
    }
    const LinkType* type = find_link_type(raw.link);
    follow(raw, file.several_places || (type != nullptr && type->places));
  }
}

void Analysis::follow(const RawPacket& raw, bool places) {
  if (totals_.packets++ == 0) origin_ns_ = first_ns_ = last_ns_ = previous_ns_ = raw.at_ns;
  first_ns_ = std::min(first_ns_, raw.at_ns);
  last_ns_ = std::max(last_ns_, raw.at_ns);
  if (raw.at_ns < previous_ns_ - kBackwards) ++backwards_;
  previous_ns_ = raw.at_ns;
  totals_.bytes += raw.wire_len;
  if (time_observer_) time_observer_(raw.at_ns);
  Packet packet = decode_packet(raw);
  follow_packet(packet, places);
}

void Analysis::follow_packet(Packet& packet, bool places) {
  switch (packet.kind) {
    case Packet::Kind::kUndecoded:
      ++totals_.undecoded;
      break;
    case Packet::Kind::kOtherIp:
      ++totals_.other_ip;
      break;
    case Packet::Kind::kArp:
      totals_.arp_requests += packet.arp_operation == 1 ? 1 : 0;
      totals_.arp_replies += packet.arp_operation == 2 ? 1 : 0;
      note_address(packet.from);
      break;
    case Packet::Kind::kFragment: {
      ++totals_.fragments;
      std::optional<Packet> whole = fragments_.add(packet);
      if (whole) follow_packet(*whole, places);
      break;
    }
    case Packet::Kind::kTcp:
    case Packet::Kind::kUdp:
      follow_conversation(packet, places);
      break;
    case Packet::Kind::kIcmp:
      follow_icmp(packet, places);
      break;
  }
}

void Analysis::note_address(const IpAddress& address) {
  if (addresses_.size() < kMaxAddresses) addresses_.insert(address);
}

FlowState* Analysis::new_flow(const FlowKey& key, const Endpoint& a, const Endpoint& b,
                              int64_t now) {
  if (static_cast<int64_t>(flows_.size()) >= limits_.max_flows) {
    ++flowless_;
    return nullptr;
  }
  note_address(a.ip);
  note_address(b.ip);
  FlowState& flow = flows_.emplace_back();
  flow.index = static_cast<int64_t>(flows_.size()) - 1;
  flow.protocol = key.protocol;
  flow.a = a;
  flow.b = b;
  flow.first_ns = now;
  by_key_[key] = &flow;
  return &flow;
}

FlowState* Analysis::flow_of(const FlowKey& key, const Packet& packet, const Endpoint& from,
                             const Endpoint& to) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    const int side = from == found->second->a ? 0 : 1;
    if (!begins_anew(*found->second, side, packet)) return found->second;
  }
  // Who answers a SYN did not begin.
  const bool answer = (packet.tcp.flags & (kFlagSyn | kFlagAck)) == (kFlagSyn | kFlagAck);
  return answer ? new_flow(key, to, from, packet.at_ns) : new_flow(key, from, to, packet.at_ns);
}

void Analysis::follow_conversation(const Packet& packet, bool places) {
  const Endpoint from{packet.from, packet.from_port}, to{packet.to, packet.to_port};
  const FlowKey key = flow_key(packet.protocol, from, to);
  const bool copy = places && copies_.is_copy(packet);
  if (copy) {
    ++totals_.copies;
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) ++found->second->copies;
    return;
  }
  FlowState* flow = flow_of(key, packet, from, to);
  if (flow == nullptr) return;
  const int side = from == flow->a ? 0 : 1;
  SideState& me = flow->side[static_cast<size_t>(side)];
  if (packet.kind == Packet::Kind::kUdp) {
    count_packet(me, packet);
    me.counts.payload_bytes += packet.payload;
    me.counts.max_payload = std::max<int64_t>(me.counts.max_payload, packet.payload);
    flow->rate.add(packet.at_ns - flow->first_ns, side == 0, packet.payload);
    if (observer_) observer_(*flow, side, packet, {});
    return;
  }
  if (places && seen_elsewhere(*flow, side, packet)) {
    ++totals_.copies;
    ++flow->copies;
    return;
  }
  count_packet(me, packet);
  const size_t before = flow->side[0].segments.size() + flow->side[1].segments.size();
  const SegmentEvent event =
      follow_tcp(*flow, side, packet,
                 segments_ < kSegmentsOfAll ? SegmentList::kMaxSegments : kSegmentsWhenFull);
  const size_t after = flow->side[0].segments.size() + flow->side[1].segments.size();
  segments_ += static_cast<int64_t>(after) - static_cast<int64_t>(before);
  if (observer_) observer_(*flow, side, packet, event);
}

void Analysis::follow_icmp(const Packet& packet, bool places) {
  if (places && copies_.is_copy(packet)) {
    ++totals_.copies;
    return;
  }
  note_address(packet.from);
  if (packet.quoted.valid) {
    const Endpoint from{packet.quoted.from, packet.quoted.from_port};
    const Endpoint to{packet.quoted.to, packet.quoted.to_port};
    const FlowKey key = flow_key(packet.quoted.protocol, from, to);
    const auto found = by_key_.find(key);
    FlowState* flow =
        found != by_key_.end() ? found->second : new_flow(key, from, to, packet.at_ns);
    if (flow != nullptr) note_error(*flow, packet);
    return;
  }
  const bool request = packet.icmp_type == (packet.v6 ? 128 : 8);
  const bool reply = packet.icmp_type == (packet.v6 ? 129 : 0);
  if (!request && !reply) return;  // neighbour discovery and the like
  const Endpoint from{packet.from, 0}, to{packet.to, 0};
  FlowState* flow = flow_of(flow_key(kProtocolIcmp, from, to), packet, from, to);
  if (flow == nullptr) return;
  const int side = from == flow->a ? 0 : 1;
  count_packet(flow->side[static_cast<size_t>(side)], packet);
  ++(request ? flow->echo_requests : flow->echo_replies);
  if (observer_) observer_(*flow, side, packet, {});
}

TraceSummary Analysis::summary(const TraceFile& file, const std::string& name) const {
  TraceSummary result = totals_;
  result.file = name;
  result.format = file.format;
  for (const uint32_t link : file.links) {
    result.link += (result.link.empty() ? "" : ", ") + link_name(link);
    if (find_link_type(link) == nullptr) {
      result.problems.push_back(
          fmt::format("packets of link type {} are not understood; capture on an Ethernet "
                      "interface or on all interfaces",
                      link));
    }
  }
  result.incomplete_datagrams = fragments_.incomplete();
  result.truncated = file.truncated;
  result.duration_ns = last_ns_ - first_ns_;
  if (totals_.packets > 0) result.first_time = trace_time(origin_ns_);
  std::vector<std::string>& problems = result.problems;
  problems.insert(problems.end(), file.problems.begin(), file.problems.end());
  if (totals_.packets == 0) problems.emplace_back("the trace holds no packet");
  if (file.truncated) problems.emplace_back("the file ends in the middle of a packet");
  if (stopped_)
    problems.push_back(fmt::format("only the first {} packets were read", totals_.packets));
  if (flowless_ > 0) {
    problems.push_back(
        fmt::format("more than {} flows: {} packets of further ones were not followed",
                    limits_.max_flows, flowless_));
  }
  if (backwards_ > 0) {
    problems.push_back(
        fmt::format("{} packets carry an earlier time than the one before them", backwards_));
  }
  if (result.incomplete_datagrams > 0) {
    problems.push_back(
        fmt::format("{} fragmented packets lack fragments", result.incomplete_datagrams));
  }
  for (const FlowState& flow : flows_) result.flows.push_back(summarise_flow(flow, origin_ns_));
  return result;
}

}  // namespace plumbline
