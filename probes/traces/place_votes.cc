#include "probes/traces/place_votes.h"

#include <algorithm>

namespace plumbline {
namespace {

// Two packets that are compared: clocks drift by less than a way there and back meanwhile.
constexpr int64_t kSoon = 1'000'000'000;  // ns

const FlowState& flow_of(const CommonPacket& packet, const Analysis& first) {
  return first.flows()[static_cast<size_t>(packet.first.flow)];
}

bool sent_by_low(const FlowState& flow, int side) {
  const bool a_is_low = flow.a.ip < flow.b.ip;
  return a_is_low == (side == 0);
}

// What one host sent, as one capture has it.
struct Sent {
  int64_t packets = 0, first_ns = 0, last_ns = 0;
  void add(const TraceDirection& counts) {
    if (counts.packets == 0) return;
    first_ns = packets == 0 ? counts.first_ns : std::min(first_ns, counts.first_ns);
    last_ns = packets == 0 ? counts.last_ns : std::max(last_ns, counts.last_ns);
    packets += counts.packets;
  }
};
using SentByPair = std::map<std::pair<IpAddress, IpAddress>, std::pair<Sent, Sent>>;

SentByPair sent_in(const Analysis& trace) {
  SentByPair all;
  for (const FlowState& flow : trace.flows()) {
    auto& [low, high] = all[std::minmax(flow.a.ip, flow.b.ip)];
    (sent_by_low(flow, 0) ? low : high).add(flow.side[0].counts);
    (sent_by_low(flow, 1) ? low : high).add(flow.side[1].counts);
  }
  return all;
}

}  // namespace

// One in three may be wrong: packets overtake each other, interfaces deliver in bundles.
int PlaceVotes::Votes::side() const {
  if (for_low > 2 * against) return 1;
  return against > 2 * for_low ? -1 : 0;
}

PlaceVotes::Key PlaceVotes::key_of(const FlowState& flow) {
  return flow.a.ip < flow.b.ip ? Key(flow.a.ip, flow.b.ip) : Key(flow.b.ip, flow.a.ip);
}

PlaceVotes::PlaceVotes(const std::vector<CommonPacket>& common, const Analysis& first,
                       const Analysis& second) {
  count_hops(common, first);
  count_times(common, first);
  count_presence(common, first, second);
}

// Every router on the way takes one off the TTL.
void PlaceVotes::count_hops(const std::vector<CommonPacket>& common, const Analysis& first) {
  for (const CommonPacket& packet : common) {
    const FlowState& flow = flow_of(packet, first);
    const int hops = packet.first.ttl - packet.second.ttl;
    if (hops == 0 || flow.a.ip == flow.b.ip) continue;
    pairs_[key_of(flow)].hops.add(sent_by_low(flow, packet.first.side) ? hops : -hops);
  }
}

// second - first is the difference of the clocks and the way there for what is sent near the first
// capture, the same difference without the way back for what comes to it. So the two directions
// differ by a way there and back, whatever the clocks show.
void PlaceVotes::count_times(const std::vector<CommonPacket>& common, const Analysis& first) {
  std::map<Key, const CommonPacket*> before;
  for (const CommonPacket& packet : common) {
    const FlowState& flow = flow_of(packet, first);
    if (flow.a.ip == flow.b.ip) continue;
    const CommonPacket*& last = before[key_of(flow)];
    const bool low = sent_by_low(flow, packet.first.side);
    if (last != nullptr && packet.first.at_ns - last->first.at_ns <= kSoon &&
        sent_by_low(flow_of(*last, first), last->first.side) != low) {
      const int64_t longer = packet.delta() - last->delta();
      if (longer != 0) pairs_[key_of(flow)].times.add(low ? longer : -longer);
    }
    last = &packet;
  }
}

// While both captures ran, packets that only one of them has were lost on the way to the other.
void PlaceVotes::count_presence(const std::vector<CommonPacket>& common, const Analysis& first,
                                const Analysis& second) {
  if (common.empty()) return;
  int64_t least = common.front().delta(), most = least;
  for (const CommonPacket& packet : common) {
    least = std::min(least, packet.delta());
    most = std::max(most, packet.delta());
  }
  const int64_t begin = std::max(second.first_ns(), later_by(first.first_ns(), most));
  const int64_t end = std::min(second.last_ns(), later_by(first.last_ns(), least));
  const SentByPair here = sent_in(first), there = sent_in(second);
  for (const auto& one : here) {
    const Key& key = one.first;
    const auto other = there.find(key);
    if (other == there.end() || key.first == key.second) continue;
    // `x` sends in both, `y` in one of them.
    const auto look = [&](const Sent& x1, const Sent& y1, const Sent& x2, const Sent& y2,
                          bool y_is_low) {
      if (x1.packets == 0 || x2.packets == 0 || (y1.packets == 0) == (y2.packets == 0)) return;
      const bool only_first = y2.packets == 0;
      const int64_t from = only_first ? later_by(y1.first_ns, least) : y2.first_ns;
      const int64_t until = only_first ? later_by(y1.last_ns, most) : y2.last_ns;
      if (from >= begin && until <= end) pairs_[key].presence.add(only_first == y_is_low ? 1 : -1);
    };
    look(one.second.first, one.second.second, other->second.first, other->second.second, false);
    look(one.second.second, one.second.first, other->second.second, other->second.first, true);
  }
}

Told PlaceVotes::of(const IpAddress& one, const IpAddress& other) const {
  const bool low = one < other;
  const auto found = pairs_.find(low ? Key(one, other) : Key(other, one));
  if (found == pairs_.end()) return {};
  const Pair& pair = found->second;
  const int sign = low ? 1 : -1;
  for (const auto& [votes, by] : {std::pair(&pair.hops, "hops"), std::pair(&pair.times, "times"),
                                  std::pair(&pair.presence, "presence")}) {
    if (votes->side() != 0) return {sign * votes->side(), by};
  }
  return {};
}

}  // namespace plumbline
