#include "probes/traces/capture_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {
namespace {

constexpr size_t kMostNamed = 20;  // addresses in a message

bool was_seen(const FlowState& flow) {  // rather than only quoted by an ICMP error
  return flow.side[0].counts.packets + flow.side[1].counts.packets > 0 && !(flow.a.ip == flow.b.ip);
}

bool is_group(const IpAddress& ip) {
  const bool v4 = ip.high == 0 && ip.low >> 32 == 0xffff;
  if (!v4) return ip.high >> 56 == 0xff;
  return (ip.low & 0xffffffff) >> 28 >= 0xe;  // 224.0.0.0/4 and the broadcast address
}

// Files that tell directions: what a host sends goes out, what is for it comes in. Packets that it
// only forwards, or sees in passing, count for nobody.
CapturePlace by_directions(const Analysis& trace) {
  std::map<IpAddress, std::pair<int64_t, int64_t>> votes;  // for, against
  for (const FlowState& flow : trace.flows()) {
    if (flow.a.ip == flow.b.ip) continue;
    for (size_t side = 0; side < 2; ++side) {
      const TraceDirection& sent = flow.side[side].counts;
      auto& sender = votes[side == 0 ? flow.a.ip : flow.b.ip];
      auto& receiver = votes[side == 0 ? flow.b.ip : flow.a.ip];
      sender.first += sent.outgoing;
      sender.second += sent.incoming;
      receiver.first += sent.incoming;
      receiver.second += sent.outgoing;
    }
  }
  CapturePlace place;
  for (const auto& [ip, count] : votes) {
    if (!is_group(ip) && count.first > 2 * count.second) place.addresses.insert(ip);
  }
  place.decided = !place.addresses.empty();
  place.told_by = "direction";
  return place;
}

// The addresses that occur in most of the flows; several when they occur equally often.
std::set<IpAddress> commonest(const std::vector<const FlowState*>& flows, size_t at_least) {
  std::map<IpAddress, size_t> count;
  for (const FlowState* flow : flows) {
    if (!is_group(flow->a.ip)) ++count[flow->a.ip];
    if (!is_group(flow->b.ip)) ++count[flow->b.ip];
  }
  size_t most = std::max<size_t>(at_least, 1);
  for (const auto& [ip, n] : count) most = std::max(most, n);
  std::set<IpAddress> result;
  for (const auto& [ip, n] : count) {
    if (n == most) result.insert(ip);
  }
  return result;
}

// The address that occurs in all flows, or in most; then, for a host with several networks, the one
// that occurs in most of the flows that are left.
CapturePlace by_flows(const Analysis& trace) {
  std::vector<const FlowState*> left;
  for (const FlowState& flow : trace.flows()) {
    if (was_seen(flow)) left.push_back(&flow);
  }
  const size_t enough = left.size() / 5;  // flows of others that are seen in passing are few
  CapturePlace place{{}, !left.empty(), "flows"};
  while (!left.empty()) {
    const std::set<IpAddress> found = commonest(left, enough);
    const bool either = std::any_of(left.begin(), left.end(), [&](const FlowState* flow) {
      return found.count(flow->a.ip) > 0 && found.count(flow->b.ip) > 0;
    });
    // Both ends of a flow alike: of a host that is known in part, nothing more can be told.
    if (found.empty() || (either && place.decided && !place.addresses.empty())) break;
    if (either) place.decided = false;
    place.addresses.insert(found.begin(), found.end());
    std::erase_if(left, [&](const FlowState* flow) {
      return found.count(flow->a.ip) + found.count(flow->b.ip) > 0;
    });
  }
  return place;
}

CapturePlace place_of(const Analysis& trace) {
  CapturePlace place = by_directions(trace);
  return place.decided ? place : by_flows(trace);
}

void take_away(CapturePlace& place, const CapturePlace& other) {
  for (const IpAddress& ip : other.addresses) place.addresses.erase(ip);
}

std::string in_words(const std::set<IpAddress>& all) {
  std::string text;
  size_t named = 0;
  for (const IpAddress& ip : all) {
    if (named++ == kMostNamed) return text + fmt::format(" and {} more", all.size() - kMostNamed);
    text += (text.empty() ? "" : ", ") + ip_text(ip);
  }
  return text.empty() ? "they hold no address" : text;
}

Expected<CapturePlace> given_place(const Analysis& first, const Analysis& second,
                                   const std::vector<std::string>& ips) {
  std::set<IpAddress> all = first.addresses();
  all.insert(second.addresses().begin(), second.addresses().end());
  CapturePlace place{{}, true, "addresses"};
  for (const std::string& text : ips) {
    const auto seen = std::find_if(all.begin(), all.end(),
                                   [&](const IpAddress& ip) { return ip_text(ip) == text; });
    if (seen == all.end()) {
      return fail(ErrorCode::kUsage, "--first-at " + text + ": in neither trace",
                  "addresses of the traces: " + in_words(all));
    }
    place.addresses.insert(*seen);
  }
  return place;
}

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
  int64_t packets = 0;
  Extent first, last;  // of flows
  void add(const TraceDirection& counts) {
    if (counts.packets == 0) return;
    first.add(counts.first_ns);
    last.add(counts.last_ns);
    packets += counts.packets;
  }
};
using SentByPair = std::map<IpPair, std::pair<Sent, Sent>>;

SentByPair sent_in(const Analysis& trace) {
  SentByPair all;
  for (const FlowState& flow : trace.flows()) {
    auto& [low, high] = all[hosts_of(flow)];
    (sent_by_low(flow, 0) ? low : high).add(flow.side[0].counts);
    (sent_by_low(flow, 1) ? low : high).add(flow.side[1].counts);
  }
  return all;
}

}  // namespace

bool CapturePlaces::between(const FlowState& flow) const {
  const auto at = [](const CapturePlace& place, const Endpoint& end) {
    return place.addresses.count(end.ip) > 0;
  };
  if (flow.a.ip == flow.b.ip) return false;
  return (at(first, flow.a) && at(second, flow.b)) || (at(first, flow.b) && at(second, flow.a));
}

int CapturePlaces::side_of_first(const FlowState& flow) const {
  if (!between(flow)) return 0;
  if (first.decided) return first.addresses.count(flow.a.ip) > 0 ? 1 : -1;
  if (second.decided) return second.addresses.count(flow.b.ip) > 0 ? 1 : -1;
  return 0;
}

Expected<CapturePlaces> find_places(const Analysis& first, const Analysis& second,
                                    const std::vector<std::string>& first_ips) {
  CapturePlaces places{place_of(first), place_of(second)};
  if (!first_ips.empty()) {
    Expected<CapturePlace> given = given_place(first, second, first_ips);
    if (!given) return fail(given.error());
    CapturePlace told = std::exchange(places.first, std::move(*given));
    take_away(places.second, places.first);
    // The files are named the other way round than they seem to be.
    if (places.second.addresses.empty()) {
      places.second = std::move(told);
      take_away(places.second, places.first);
    }
    return places;
  }
  // A trace without any packet tells no place, but may be of the other host of the first one's.
  if (places.second.addresses.empty() && !places.first.decided) places.second = places.first;
  if (places.first.addresses.empty() && !places.second.decided) places.first = places.second;
  if (places.first.decided && !places.second.decided) take_away(places.second, places.first);
  if (places.second.decided && !places.first.decided) take_away(places.first, places.second);
  return places;
}

// One in three may be wrong: packets overtake each other, interfaces deliver in bundles.
int PlaceVotes::Votes::side() const {
  if (for_low > 2 * against) return 1;
  return against > 2 * for_low ? -1 : 0;
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
    pairs_[hosts_of(flow)].hops.add(sent_by_low(flow, packet.first.side) ? hops : -hops);
  }
}

// second - first is the difference of the clocks and the way there for what is sent near the first
// capture, the same difference without the way back for what comes to it. So the two directions
// differ by a way there and back, whatever the clocks show.
void PlaceVotes::count_times(const std::vector<CommonPacket>& common, const Analysis& first) {
  std::map<IpPair, const CommonPacket*> before;
  for (const CommonPacket& packet : common) {
    const FlowState& flow = flow_of(packet, first);
    if (flow.a.ip == flow.b.ip) continue;
    const CommonPacket*& last = before[hosts_of(flow)];
    const bool low = sent_by_low(flow, packet.first.side);
    if (last != nullptr && packet.first.at_ns - last->first.at_ns <= kSoon &&
        sent_by_low(flow_of(*last, first), last->first.side) != low) {
      const int64_t longer = packet.delta() - last->delta();
      if (longer != 0) pairs_[hosts_of(flow)].times.add(low ? longer : -longer);
    }
    last = &packet;
  }
}

// While both captures ran, packets that only one of them has were lost on the way to the other.
void PlaceVotes::count_presence(const std::vector<CommonPacket>& common, const Analysis& first,
                                const Analysis& second) {
  if (common.empty()) return;
  const Extent deltas = deltas_of(common);
  const int64_t begin = std::max(second.first_ns(), later_by(first.first_ns(), deltas.most));
  const int64_t end = std::min(second.last_ns(), later_by(first.last_ns(), deltas.least));
  const SentByPair here = sent_in(first), there = sent_in(second);
  for (const auto& one : here) {
    const IpPair& key = one.first;
    const auto other = there.find(key);
    if (other == there.end() || key.first == key.second) continue;
    // `x` sends in both, `y` in one of them.
    const auto look = [&](const Sent& x1, const Sent& y1, const Sent& x2, const Sent& y2,
                          bool y_is_low) {
      if (x1.packets == 0 || x2.packets == 0 || (y1.packets == 0) == (y2.packets == 0)) return;
      const bool only_first = y2.packets == 0;
      const int64_t from = only_first ? later_by(y1.first.least, deltas.least) : y2.first.least;
      const int64_t until = only_first ? later_by(y1.last.most, deltas.most) : y2.last.most;
      if (from >= begin && until <= end) pairs_[key].presence.add(only_first == y_is_low ? 1 : -1);
    };
    look(one.second.first, one.second.second, other->second.first, other->second.second, false);
    look(one.second.second, one.second.first, other->second.second, other->second.first, true);
  }
}

Told PlaceVotes::of(const IpAddress& one, const IpAddress& other) const {
  const bool low = one < other;
  const auto found = pairs_.find(std::minmax(one, other));
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
