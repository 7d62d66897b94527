#include "probes/traces/common_time.h"

#include <algorithm>
#include <cstdlib>

namespace plumbline {
namespace {

// What may come later than every packet that is known to have arrived: queues fill, ns.
constexpr int64_t kLater = 200'000'000;
// The same where nothing of a direction arrived, so that its way is not known.
constexpr int64_t kLaterUnknown = 500'000'000;
constexpr int64_t kRough = 1'000'000;  // ns; clocks tick, and interfaces deliver in bundles

// `way` may come from the other direction, of which only the difference of the clocks holds here.
Covered covered_by(const OneWay& way, const TimeRange& sender, const TimeRange& receiver) {
  const int64_t spread = way.most - way.least;
  const int64_t later = way.seen ? std::max(kLater, 2 * spread) : kLaterUnknown;
  Covered result;
  // Packets keep their order: what left between two that arrived passed the receiver in between.
  // Before and behind these there must be time enough to arrive.
  result.sent = {later_by(receiver.begin, later - way.least),
                 later_by(receiver.end, -way.most - later)};
  if (way.seen) {
    result.sent.begin = std::min(result.sent.begin, way.sent.begin);
    result.sent.end =
        std::max(result.sent.end, std::min(way.sent.end, later_by(receiver.end, -way.most)));
  }
  result.sent = {std::max(result.sent.begin, sender.begin), std::min(result.sent.end, sender.end)};
  const int64_t rough = way.seen ? spread + kRough : later;
  result.arrives = {later_by(result.sent.begin, way.least - rough),
                    later_by(result.sent.end, way.most + rough)};
  return result;
}

// A way that nothing took whole, guessed from the other direction: it takes some time, too.
OneWay way_or_reverse(const OneWay& way, const OneWay& reverse) {
  if (way.seen || !reverse.seen) return way;
  OneWay guess;
  guess.least = guess.most = -reverse.least;
  return guess;
}

}  // namespace

void OneWay::add(int64_t sent_ns, int64_t delta) {
  least = seen ? std::min(least, delta) : delta;
  most = seen ? std::max(most, delta) : delta;
  sent.begin = seen ? std::min(sent.begin, sent_ns) : sent_ns;
  sent.end = seen ? std::max(sent.end, sent_ns) : sent_ns;
  seen = true;
}

Covered CommonTime::towards_second() const {
  return covered_by(way_or_reverse(to_second, to_first), first, second);
}

Covered CommonTime::towards_first() const {
  return covered_by(way_or_reverse(to_first, to_second), second, first);
}

int64_t CommonTime::offset_ns() const {
  if (!to_first.seen) return to_second.least;
  if (!to_second.seen) return -to_first.least;
  return to_second.least / 2 - to_first.least / 2;
}

std::optional<int64_t> CommonTime::error_ns() const {
  if (!to_first.seen || !to_second.seen) return std::nullopt;
  return std::abs(to_second.least + to_first.least) / 2;
}

TimeRange CommonTime::overlap() const {
  const int64_t offset = offset_ns();
  return {std::max(first.begin, later_by(second.begin, -offset)),
          std::min(first.end, later_by(second.end, -offset))};
}

CommonTime common_time(const Analysis& first, const Analysis& second,
                       const std::vector<CommonPacket>& common,
                       const std::function<int(const FlowState&)>& side) {
  CommonTime time;
  time.first = {first.first_ns(), first.last_ns()};
  time.second = {second.first_ns(), second.last_ns()};
  OneWay to_second, to_first;  // of packets whose direction is not known
  for (const CommonPacket& packet : common) {
    const FlowState& flow = first.flows()[static_cast<size_t>(packet.first.flow)];
    const int a_at_first = side(flow);
    const int sender = packet.first.side == 0 ? a_at_first : -a_at_first;
    if (sender > 0) time.to_second.add(packet.first.at_ns, packet.delta());
    if (sender < 0) time.to_first.add(packet.second.at_ns, -packet.delta());
    if (sender != 0) continue;
    to_second.add(packet.first.at_ns, packet.delta());
    to_first.add(packet.second.at_ns, -packet.delta());
  }
  if (time.to_second.seen || time.to_first.seen) return time;
  time.to_second = to_second;
  time.to_first = to_first;
  return time;
}

}  // namespace plumbline
