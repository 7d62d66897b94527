#include "probes/traces/copies_and_fragments.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr size_t kEntries = 1 << 14;
constexpr size_t kWays = 4;  // neighbours that one signature may use; the oldest gives way
// A copy may wait in a queue between two interfaces. Without an IP id two packets that are sent in
// close succession may be equal, so less time is allowed.
constexpr int64_t kWithin = 500'000'000, kWithinWithoutId = 100'000'000;  // ns
// Where the file does not tell the interface (SLL), only the time is left.
constexpr int64_t kWithinUnknownPlace = 2'000'000;  // ns

uint64_t signature_of(const Packet& packet) {
  const TcpFields& tcp = packet.tcp;
  uint64_t hash =
      mix(packet.from.high, packet.from.low, packet.to.high, packet.to.low,
          (uint64_t{packet.from_port} << 48) | (uint64_t{packet.to_port} << 32) |
              (uint64_t{packet.ip_id} << 16) | (uint64_t{packet.protocol} << 8) | tcp.flags,
          (uint64_t{tcp.seq} << 32) | tcp.ack, (uint64_t{packet.payload} << 32) | tcp.time,
          (uint64_t{packet.checksum} << 32) | (uint64_t{tcp.window} << 16) |
              (uint64_t{packet.icmp_type} << 8) | packet.icmp_code);
  for (int i = 0; i < tcp.sacks; ++i) {
    const SackBlock& block = tcp.sack[static_cast<size_t>(i)];
    hash = mix(hash, (uint64_t{block.begin} << 32) | block.end);
  }
  return hash;
}

constexpr size_t kMaxWaiting = 64;
constexpr size_t kMaxRanges = 64;                // holes of one datagram
constexpr int64_t kReassembly = 60'000'000'000;  // ns, RFC 8200 section 4.5

bool same_datagram(const Packet& one, const Packet& other) {
  return one.fragment_id == other.fragment_id && one.from == other.from && one.to == other.to &&
         one.protocol == other.protocol && one.place == other.place;
}

}  // namespace

Copies::Sighting& Copies::entry_for(uint64_t signature) {
  if (table_.empty()) table_.resize(kEntries);
  const auto first =
      table_.begin() + static_cast<std::ptrdiff_t>(signature % kEntries / kWays * kWays);
  const auto last = first + kWays;
  const auto known = std::find_if(first, last, [&](const Sighting& entry) {
    return entry.places > 0 && entry.signature == signature;
  });
  if (known != last) return *known;
  return *std::min_element(first, last, [](const Sighting& one, const Sighting& other) {
    return one.at_ns < other.at_ns;
  });
}

bool Copies::is_copy(const Packet& packet) {
  const uint64_t signature = signature_of(packet);
  Sighting& entry = entry_for(signature);
  const int64_t within = packet.ip_id != 0 ? kWithin : kWithinWithoutId;
  const auto known = entry.place.begin() + entry.places;
  const bool again =
      entry.places > 0 && entry.signature == signature && packet.at_ns - entry.at_ns <= within;
  const bool same_place = std::find(entry.place.begin(), known, packet.place) != known;
  if (again && !same_place && known != entry.place.end()) {
    entry.place[static_cast<size_t>(entry.places++)] = packet.place;
    return true;
  }
  const bool no_place = packet.place.interface == kUnknownInterface;
  if (again && no_place && packet.at_ns - entry.at_ns <= kWithinUnknownPlace) return true;
  entry = {signature, packet.at_ns, 1, {}};
  entry.place[0] = packet.place;
  return false;
}

void Fragments::note_range(Datagram& datagram, uint32_t begin, uint32_t end) {
  auto& ranges = datagram.ranges;
  if (begin >= end || ranges.size() >= kMaxRanges) return;
  ranges.emplace_back(begin, end);
  std::sort(ranges.begin(), ranges.end());
  size_t kept = 0;
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first <= ranges[kept].second) {
      ranges[kept].second = std::max(ranges[kept].second, ranges[i].second);
    } else {
      ranges[++kept] = ranges[i];
    }
  }
  ranges.resize(kept + 1);
}

std::optional<Packet> Fragments::add(const Packet& fragment) {
  while (!waiting_.empty() && (fragment.at_ns - waiting_.back().first.at_ns > kReassembly ||
                               waiting_.size() > kMaxWaiting)) {
    waiting_.pop_back();
    ++given_up_;
  }
  auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Datagram& datagram) {
    return same_datagram(datagram.first, fragment);
  });
  if (found == waiting_.end()) {
    waiting_.push_front({});
    found = waiting_.begin();
    found->first = fragment;
    found->first.transport = {};
  }
  Datagram& datagram = *found;
  if (fragment.fragment_begin == 0 && !datagram.has_first) {
    datagram.has_first = true;
    datagram.first.ttl = fragment.ttl;
  }
  // The header may be spread over more than one; it is read where they come in order.
  if (fragment.fragment_begin <= datagram.header_size) {
    const size_t from = datagram.header_size - fragment.fragment_begin;
    const Bytes more = fragment.transport.from(from);
    const size_t taken = std::min(more.size, datagram.header.size() - datagram.header_size);
    if (taken > 0) std::copy_n(more.data, taken, datagram.header.begin() + datagram.header_size);
    datagram.header_size += taken;
  }
  if (!fragment.fragment_more) datagram.end = fragment.fragment_end;
  note_range(datagram, fragment.fragment_begin, fragment.fragment_end);
  const bool whole = datagram.has_first && datagram.end && datagram.ranges.size() == 1 &&
                     datagram.ranges[0].first == 0 && datagram.ranges[0].second >= *datagram.end;
  if (!whole) return std::nullopt;
  Packet packet = datagram.first;
  packet.at_ns = fragment.at_ns;
  decode_transport({datagram.header.data(), datagram.header_size}, *datagram.end, packet);
  packet.transport = {};
  waiting_.erase(found);
  return packet;
}

}  // namespace plumbline
