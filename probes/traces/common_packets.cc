#include "probes/traces/common_packets.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "probes/traces/packet.h"

namespace plumbline {
namespace {

constexpr size_t kMaxSightings = size_t{1} << 18;
constexpr size_t kMaxAlike = 8;  // sightings of one key in one capture that are tied at all
// Deltas of one pair of clocks lie no further apart than this, for queues fill and clocks drift
// slowly; those of a packet and its repetition do, by a retransmission time-out.
constexpr int64_t kApart = 100'000'000;  // ns
// One in so many packets must be common, of those that could be: where a packet that is sent again
// differs, where it does not, and, of that kind, where there are few.
constexpr size_t kShareMarked = 20, kShare = 5, kShareOfFew = 1;
constexpr size_t kFew = 8;

uint64_t key_of(const Packet& packet) {
  const uint64_t key = mix(packet.from.high, packet.from.low, packet.to.high, packet.to.low,
                           (uint64_t{packet.from_port} << 48) | (uint64_t{packet.to_port} << 32) |
                               (uint64_t{packet.ip_id} << 16) | packet.protocol);
  if (packet.kind == Packet::Kind::kTcp) {
    // Not its length nor PSH and FIN: segmentation offload cuts and joins, but keeps the beginning.
    const TcpFields& tcp = packet.tcp;
    return mix(key, (uint64_t{tcp.seq} << 32) | tcp.ack,
               (uint64_t{tcp.time} << 16) | (packet.payload > 0 ? uint64_t{1} << 8 : 0) |
                   (tcp.flags & (kFlagSyn | kFlagRst | kFlagAck)));
  }
  // The checksum of UDP is often filled in by the network card, behind the sender's capture.
  const bool icmp = packet.kind == Packet::Kind::kIcmp;
  return mix(key, (uint64_t{packet.payload} << 32) | (icmp ? packet.checksum : 0),
             packet.payload_hash ^ (uint64_t{packet.icmp_type} << 8));
}

struct PairCandidate {
  CommonPacket packet;
  double weight = 1;
};

// All ways to tie sightings of the same key; `unique`: only where there is one way.
std::vector<PairCandidate> candidates_of(const std::vector<Sighting>& first,
                                         const std::vector<Sighting>& second, bool unique) {
  std::vector<PairCandidate> out;
  const auto run_end = [](const std::vector<Sighting>& all, size_t at) {
    size_t end = at;
    while (end < all.size() && all[end].key == all[at].key) ++end;
    return end;
  };
  for (size_t i = 0, j = 0; i < first.size() && j < second.size();) {
    if (first[i].key != second[j].key) {
      ++(first[i].key < second[j].key ? i : j);
      continue;
    }
    const size_t i_end = run_end(first, i), j_end = run_end(second, j);
    const size_t most = unique ? 1 : kMaxAlike;
    if (i_end - i <= most && j_end - j <= most && !(unique && first[i].weak)) {
      const double weight = 1.0 / static_cast<double>((i_end - i) * (j_end - j));
      for (size_t x = i; x < i_end; ++x) {
        for (size_t y = j; y < j_end; ++y) out.push_back({{first[x], second[y]}, weight});
      }
    }
    i = i_end;
    j = j_end;
  }
  return out;
}

// Of groups of deltas that lie close together the heaviest; of equal ones that of the clocks which
// differ less.
std::vector<CommonPacket> agreeing(std::vector<PairCandidate> all) {
  std::sort(all.begin(), all.end(), [](const PairCandidate& one, const PairCandidate& other) {
    return one.packet.delta() < other.packet.delta();
  });
  size_t best = 0, best_end = 0;
  double most = 0;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    double weight = 0;
    do {
      weight += all[end++].weight;
    } while (end < all.size() && all[end].packet.delta() <= all[end - 1].packet.delta() + kApart);
    const bool nearer = std::abs(all[begin].packet.delta()) < std::abs(all[best].packet.delta());
    if (weight > most || (weight == most && nearer)) {
      most = weight;
      best = begin;
      best_end = end;
    }
  }
  std::vector<CommonPacket> out;
  for (size_t i = best; i < best_end; ++i) out.push_back(all[i].packet);
  return out;
}

// What was sent more than once can be tied by the clocks that the rest tells.
void add_repeated(const std::vector<Sighting>& first, const std::vector<Sighting>& second,
                  std::vector<CommonPacket>& common) {
  const Extent known = deltas_of(common);
  for (const PairCandidate& candidate : candidates_of(first, second, false)) {
    const CommonPacket& packet = candidate.packet;
    const bool repeated = candidate.weight < 1 && packet.first.bytes;
    const bool fits = known.least <= packet.delta() && packet.delta() <= known.most;
    if (repeated && fits) common.push_back(packet);
  }
}

// Packets of one capture in [begin, end] by its clock that occur once, of hosts that have packets
// in common.
size_t packets_within(const std::vector<Sighting>& all, const std::set<uint64_t>& hosts,
                      int64_t begin, int64_t end) {
  size_t count = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool again = (i > 0 && all[i - 1].key == all[i].key) ||
                       (i + 1 < all.size() && all[i + 1].key == all[i].key);
    const bool within = begin <= all[i].at_ns && all[i].at_ns <= end;
    if (within && !again && hosts.count(all[i].hosts) > 0) ++count;
  }
  return count;
}

Extent times_of(const std::vector<Sighting>& all) {
  Extent times;
  for (const Sighting& sighting : all) times.add(sighting.at_ns);
  return times;
}

// If the clocks compared like this, would so few packets be common?
bool is_chance(const std::vector<Sighting>& first, const std::vector<Sighting>& second,
               const std::vector<CommonPacket>& common) {
  std::set<uint64_t> hosts;
  for (const CommonPacket& packet : common) hosts.insert(packet.first.hosts);
  const int64_t offset = common[common.size() / 2].delta();
  const Extent here = times_of(first), there = times_of(second);
  const int64_t begin = std::max(here.least, later_by(there.least, -offset));
  const int64_t end = std::min(here.most, later_by(there.most, -offset));
  const size_t possible =
      std::min(packets_within(first, hosts, begin, end),
               packets_within(second, hosts, later_by(begin, offset), later_by(end, offset)));
  const bool marked = std::any_of(common.begin(), common.end(),
                                  [](const CommonPacket& packet) { return packet.first.marked; });
  if (!marked && common.size() == 1 && common.front().first.bytes) return true;
  const size_t share = marked ? kShareMarked : common.size() >= kFew ? kShare : kShareOfFew;
  return common.size() * share < possible;
}

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

void PacketIndex::add(const FlowState& flow, int side, const Packet& packet,
                      const SegmentEvent& event) {
  const bool tcp = packet.kind == Packet::Kind::kTcp;
  const bool datagram = packet.kind == Packet::Kind::kUdp;
  if (datagram && packet.ip_id == 0 && packet.payload_hash == 0) return;
  Sighting sighting;
  sighting.key = key_of(packet);
  if ((sighting.key & mask_) != 0) return;
  sighting.at_ns = packet.at_ns;
  if (tcp) sighting.seq = flow.side[static_cast<size_t>(side)].first_seq + event.begin;
  sighting.flow = flow.index;
  sighting.side = static_cast<uint8_t>(side);
  sighting.ttl = packet.ttl;
  sighting.weak = datagram && packet.payload_hash == 0;
  sighting.bytes = tcp && packet.payload > 0;
  sighting.marked = packet.ip_id != 0 || packet.tcp.time != 0 || !tcp;
  const auto [low, high] = std::minmax(packet.from, packet.to);
  sighting.hosts = mix(mix(low.high, low.low), mix(high.high, high.low));
  sightings_.push_back(sighting);
  if (sightings_.size() < kMaxSightings) return;
  mask_ = mask_ << 1 | 1;
  std::erase_if(sightings_, [this](const Sighting& kept) { return (kept.key & mask_) != 0; });
}

std::vector<Sighting> PacketIndex::sorted() const {
  std::vector<Sighting> all = sightings_;
  std::sort(all.begin(), all.end(), [](const Sighting& one, const Sighting& other) {
    return one.key != other.key ? one.key < other.key : one.at_ns < other.at_ns;
  });
  return all;
}

Extent deltas_of(const std::vector<CommonPacket>& common) {
  Extent deltas;
  for (const CommonPacket& packet : common) deltas.add(packet.delta());
  return deltas;
}

std::vector<CommonPacket> common_packets(const PacketIndex& first, const PacketIndex& second) {
  std::vector<Sighting> one = first.sorted(), other = second.sorted();
  const uint64_t mask = first.mask() | second.mask();
  for (std::vector<Sighting>* all : {&one, &other}) {
    std::erase_if(*all, [mask](const Sighting& sighting) { return (sighting.key & mask) != 0; });
  }
  std::vector<PairCandidate> all = candidates_of(one, other, true);
  const bool unique = !all.empty();
  if (!unique) all = candidates_of(one, other, false);
  std::vector<CommonPacket> common = agreeing(std::move(all));
  if (unique) add_repeated(one, other, common);
  if (common.empty() || is_chance(one, other, common)) return {};
  std::sort(common.begin(), common.end(), [](const CommonPacket& here, const CommonPacket& there) {
    return here.first.at_ns < there.first.at_ns;
  });
  return common;
}

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
