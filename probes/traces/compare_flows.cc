#include "probes/traces/compare_flows.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr size_t kMaxPairs = 1000;

bool numbers_agree(const SideState& one, const SideState& other) {
  return !one.syn_seq || !other.syn_seq ||
         static_cast<uint32_t>(*one.syn_seq) == static_cast<uint32_t>(*other.syn_seq);
}

bool same_connection(const FlowState& one, const FlowState& other) {
  if (one.protocol != kProtocolTcp) return true;
  const bool swapped = !(one.a == other.a);
  for (size_t side = 0; side < 2; ++side) {
    if (!numbers_agree(one.side[side], other.side[swapped ? 1 - side : side])) return false;
  }
  return true;
}

std::vector<FlowPair> match_all(const ComparedTrace& first, const ComparedTrace& second) {
  std::multimap<std::pair<Endpoint, Endpoint>, const FlowState*> unmatched;
  const auto ends = [](const FlowState& flow) -> std::pair<Endpoint, Endpoint> {
    return std::minmax(flow.a, flow.b);
  };
  std::set<const FlowState*> found;
  for (const FlowState& flow : second.flows()) {
    if (flow.protocol != kProtocolIcmp) unmatched.emplace(ends(flow), &flow);
  }
  std::vector<FlowPair> pairs;
  for (const FlowState& flow : first.flows()) {
    if (flow.protocol == kProtocolIcmp) continue;
    FlowPair& pair = pairs.emplace_back();
    pair.here = &flow;
    const auto [begin, end] = unmatched.equal_range(ends(flow));
    const auto other = std::find_if(begin, end, [&](const auto& item) {
      return item.second->protocol == flow.protocol && same_connection(flow, *item.second);
    });
    if (other != end) {
      pair.there = other->second;
      pair.swapped = !(flow.a == pair.there->a);
      found.insert(other->second);
      unmatched.erase(other);
    }
  }
  for (const FlowState& flow : second.flows()) {
    if (flow.protocol == kProtocolIcmp || found.count(&flow) > 0) continue;
    pairs.emplace_back().there = &flow;
  }
  return pairs;
}

Told tell(const FlowPair& pair, const CapturePlaces& places, const PlaceVotes& votes,
          const std::set<IpAddress>& first_ips) {
  const FlowState& flow = pair.any();
  const Told voted = votes.of(flow.a.ip, flow.b.ip);
  const int side = places.side_of_first(flow);
  if (side != 0) {
    const char* by = places.first.decided ? places.first.told_by : places.second.told_by;
    // That an address is in all flows of a file only makes it likely that this is its host.
    const bool likely = by == std::string_view("flows");
    if (likely && voted.side != 0 && (voted.side > 0) != (side > 0)) return voted;
    return {side, by};
  }
  if (voted.side != 0) return voted;
  if (first_ips.count(flow.a.ip) > 0) return {1, "flows"};
  if (first_ips.count(flow.b.ip) > 0) return {-1, "flows"};
  return {};
}

constexpr int64_t kSynPatience = 1'000'000'000;  // ns; first time-out of a SYN (RFC 6298)
// ns; longer than acknowledgements are delayed by any system (RFC 1122 allows 500 ms, Linux and
// others take 200 ms at most).
constexpr int64_t kDelayedAck = 200'000'000;
constexpr size_t kMostDatagrams = size_t{1} << 16;  // of one direction
// New segments in order before a hole, so that its bytes were not sent before the capture began.
constexpr int64_t kInOrder = 4;

const SideState* side_of(const FlowState* flow, int side) {
  return flow != nullptr ? &flow->side[static_cast<size_t>(side)] : nullptr;
}

int64_t packets_of(const SideState* side) { return side != nullptr ? side->counts.packets : 0; }

uint64_t datagram_key(const Packet& packet) {
  return (uint64_t{packet.payload} << 16) | packet.ip_id;
}

}  // namespace

bool carries_bytes(const SegmentEvent& event) {
  return event.end > event.begin && event.kind != TracePointKind::kRst &&
         event.kind != TracePointKind::kProbe;
}

Status ComparedTrace::load() {
  Expected<AnalysedFile> file =
      read_trace(source, {},
                 [this](const FlowState& flow, int side, const Packet& packet,
                        const SegmentEvent& event) { index.add(flow, side, packet, event); });
  if (!file) return fail(file.error());
  read = std::move(*file);
  return {};
}

std::vector<FlowPair> match_flows(const ComparedTrace& first, const ComparedTrace& second,
                                  const CapturePlaces& places, int64_t& others) {
  std::vector<FlowPair> pairs = match_all(first, second);
  const size_t all = pairs.size();
  std::erase_if(pairs, [&](const FlowPair& pair) { return !places.between(pair.any()); });
  others = static_cast<int64_t>(all - pairs.size());
  if (pairs.size() > kMaxPairs) pairs.resize(kMaxPairs);
  return pairs;
}

void tell_places(std::vector<FlowPair>& pairs, const CapturePlaces& places,
                 const PlaceVotes& votes) {
  std::set<IpAddress> first_ips;
  for (int round = 0; round < 2; ++round) {
    for (FlowPair& pair : pairs) {
      if (pair.decided()) continue;
      const Told told = tell(pair, places, votes, first_ips);
      if (told.side == 0) continue;
      pair.here_is_a = told.side > 0;
      pair.told_by = told.by;
      first_ips.insert(pair.here_is_a ? pair.any().a.ip : pair.any().b.ip);
    }
  }
}

const SideState* Direction::at_sender() const { return side_of(sender, sender_side); }
const SideState* Direction::at_receiver() const { return side_of(receiver, receiver_side); }

DirectionCheck::DirectionCheck(const Direction& direction) : direction_(direction) {
  const SideState* here = direction.at_sender();
  const SideState* there = direction.at_receiver();
  loss_.seen_at_both = packets_of(here) > 0 && packets_of(there) > 0;
  if (here != nullptr && here->highest_acked) acked_ = *here->highest_acked;
  if (there != nullptr && there->highest_acked) {
    acked_there_ = *there->highest_acked - direction.shift;
    acked_ = std::max(acked_, acked_there_);
  }
}

void DirectionCheck::arrival(const FlowState& flow, const Packet& packet,
                             const SegmentEvent& event) {
  const auto side = static_cast<size_t>(direction_.receiver_side);
  const int64_t zero = flow.side[side].first_seq - direction_.shift;
  needless_ = flow.side[side].counts.retransmissions_spurious;
  if (carries_bytes(event)) arrived_ever_.add(zero + event.begin, zero + event.end);
  if (!direction_.covered.arrives.holds(packet.at_ns)) return;
  if (arrivals_++ == 0) first_arrival_ = packet.at_ns;
  if (flow.protocol == kProtocolUdp) {
    const bool room = datagrams_.size() < kMostDatagrams;
    if (room || datagrams_.count(datagram_key(packet)) > 0) {
      ++datagrams_[datagram_key(packet)];
    } else {
      ++datagrams_left_out_;
    }
    return;
  }
  if (!carries_bytes(event)) return;
  const SideState& receiver = flow.side[1 - side];
  arrived_.add(zero + event.begin, zero + event.end);
  if (event.seen_ago < 0) return;
  ++repeated_;
  const bool closed = receiver.window_known && receiver.window == 0;
  const bool wants = receiver.acks ? receiver.last_ack - direction_.shift == zero + event.begin
                                   : receiver.counts.packets > 0;
  if (!closed && wants && (receiver.duplicates > 0 || event.seen_ago >= kDelayedAck)) ++ignored_;
}

// A duplicate SACK takes back that the receiver lacked it.
void DirectionCheck::answer(const FlowState& flow) {
  const auto side = static_cast<size_t>(direction_.receiver_side);
  const int64_t needless = flow.side[side].counts.retransmissions_spurious;
  if (needless > needless_) ignored_ = std::max<int64_t>(ignored_ - (needless - needless_), 0);
  needless_ = needless;
}

void DirectionCheck::departure_ahead(const FlowState& flow, const SegmentEvent& event) {
  if (!carries_bytes(event)) return;
  const int64_t zero = flow.side[static_cast<size_t>(direction_.sender_side)].first_seq;
  const int64_t begin = zero + event.begin, end = zero + event.end;
  sent_ever_.add(begin, end);
  if (began_ && begin < highest_) return;
  if (began_ && begin > highest_ && run_ >= kInOrder) skipped_.add(highest_, begin);
  run_ = !began_ || begin == highest_ ? run_ + 1 : 1;
  began_ = true;
  highest_ = end;
}

void DirectionCheck::datagram(const Packet& packet) {
  ++loss_.left;
  loss_.bytes_left += packet.payload;
  const auto found = datagrams_.find(datagram_key(packet));
  const bool known = found != datagrams_.end() && found->second > 0;
  if (!known && datagrams_left_out_ == 0) {
    lost_ = true;
    return;
  }
  --(known ? found->second : datagrams_left_out_);
  ++loss_.arrived;
  loss_.bytes_arrived += packet.payload;
}

// What was sent once only and acknowledged has arrived, even if the capture missed it. Of what was
// sent several times, or came at another time, an acknowledgement does not say which it was for.
bool DirectionCheck::acknowledged(int64_t begin, int64_t end) const {
  const std::vector<ByteRange> never = arrived_ever_.gaps(begin, end);
  return end <= acked_ && sent_ever_.lacking(1, begin, end) == end - begin && never.size() == 1 &&
         never.front().end - never.front().begin == end - begin;
}

// Behind the last packet that is known to be in both: the receiver's capture shows that it came.
bool DirectionCheck::came_in_time(const Packet& packet, int64_t begin, int64_t end) const {
  return packet.at_ns >= direction_.covered.sent.begin && end <= acked_there_ &&
         acknowledged(begin, end);
}

void DirectionCheck::compare_bytes(int64_t begin, int64_t end) {
  bool fresh = false;
  int64_t missing = 0, first_missing = 0;
  sent_.add(begin, end, [&](size_t layer, int64_t from, int64_t until) {
    const bool came = layer == 0 && acknowledged(from, until);
    const int64_t lacks = came ? 0 : arrived_.lacking(layer, from, until);
    fresh = fresh || layer == 0;
    missing += lacks;
    first_missing += layer == 0 ? lacks : 0;
  });
  loss_.left += fresh ? 1 : 0;
  loss_.arrived += fresh && first_missing == 0 ? 1 : 0;
  loss_.bytes_left += end - begin;
  loss_.bytes_arrived += end - begin - missing;
  lost_ = lost_ || missing > 0;
}

void DirectionCheck::departure(const FlowState& flow, const Packet& packet,
                               const SegmentEvent& event) {
  const int64_t zero = flow.side[static_cast<size_t>(direction_.sender_side)].first_seq;
  const int64_t begin = zero + event.begin, end = zero + event.end;
  const bool counts = flow.protocol == kProtocolTcp && carries_bytes(event);
  if (!direction_.covered.sent.holds(packet.at_ns) &&
      !(counts && came_in_time(packet, begin, end))) {
    ++loss_.left_out;
    return;
  }
  ++loss_.compared;
  if (flow.protocol == kProtocolUdp) return datagram(packet);
  if (!counts) return;
  // A hole that the sender fills itself; what came to the receiver meanwhile, the capture missed.
  const bool late = event.kind == TracePointKind::kRetransmission && event.seen_ago < 0;
  const bool once = arrived_.lacking(1, begin, end) == end - begin;
  if (late && once && skipped_.covers(begin, end)) ++filled_;
  compare_bytes(begin, end);
}

bool DirectionCheck::silence() const {
  const auto back = [](const FlowState* flow, int side) {
    return packets_of(side_of(flow, 1 - side));
  };
  if (back(direction_.sender, direction_.sender_side) > 0) return false;
  if (back(direction_.receiver, direction_.receiver_side) > 0) return false;
  if (direction_.receiver == nullptr || direction_.receiver->protocol != kProtocolTcp) return false;
  const bool waited = direction_.receiver_until - first_arrival_ >= kSynPatience;
  return arrivals_ > 0 && (repeated_ > 0 || waited);
}

TraceLoss DirectionCheck::result() const {
  TraceLoss loss = loss_;
  const bool anything =
      packets_of(direction_.at_sender()) + packets_of(direction_.at_receiver()) > 0;
  if (lost_) {
    loss.where = "between the hosts";
  } else if (silence() || ignored_ > 0) {
    loss.where = "behind the receiver's wire";
  } else if (filled_ > 0) {
    loss.where = "before the sender's wire";
  } else if (anything && loss.compared == 0) {
    loss.where = "unknown";
  }
  return loss;
}

}  // namespace plumbline
