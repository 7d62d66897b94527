#include "probes/traces/copies.h"

#include <algorithm>

#include "probes/traces/mix.h"

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
  uint64_t hash = mix(packet.from.high, packet.from.low);
  hash = mix(hash, packet.to.high);
  hash = mix(hash, packet.to.low);
  hash =
      mix(hash, (uint64_t{packet.from_port} << 48) | (uint64_t{packet.to_port} << 32) |
                    (uint64_t{packet.ip_id} << 16) | (uint64_t{packet.protocol} << 8) | tcp.flags);
  hash = mix(hash, (uint64_t{tcp.seq} << 32) | tcp.ack);
  hash = mix(hash, (uint64_t{packet.payload} << 32) | tcp.time);
  hash = mix(hash, (uint64_t{packet.checksum} << 32) | (uint64_t{tcp.window} << 16) |
                       (uint64_t{packet.icmp_type} << 8) | packet.icmp_code);
  for (int i = 0; i < tcp.sacks; ++i) {
    const SackBlock& block = tcp.sack[static_cast<size_t>(i)];
    hash = mix(hash, (uint64_t{block.begin} << 32) | block.end);
  }
  return hash;
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

}  // namespace plumbline
