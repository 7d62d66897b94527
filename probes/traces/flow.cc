#include "probes/traces/flow.h"

#include <algorithm>

#include "probes/traces/mix.h"

namespace plumbline {
namespace {

constexpr size_t kMaxPlaces = 16;
constexpr int64_t kElsewhereWithin = 100'000'000;  // ns

}  // namespace

FlowKey flow_key(uint8_t protocol, const Endpoint& one, const Endpoint& other) {
  return one < other ? FlowKey{one, other, protocol} : FlowKey{other, one, protocol};
}

size_t FlowKeyHash::operator()(const FlowKey& key) const {
  uint64_t hash = mix(key.low.ip.high, key.low.ip.low);
  hash = mix(hash, key.high.ip.high);
  hash = mix(hash, key.high.ip.low);
  return mix(hash, (uint64_t{key.low.port} << 32) | (uint64_t{key.high.port} << 16) | key.protocol);
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

}  // namespace plumbline
