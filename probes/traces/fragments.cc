#include "probes/traces/fragments.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr size_t kMaxWaiting = 64;
constexpr size_t kMaxRanges = 64;                // holes of one datagram
constexpr int64_t kReassembly = 60'000'000'000;  // ns, RFC 8200 section 4.5

bool same_datagram(const Packet& one, const Packet& other) {
  return one.fragment_id == other.fragment_id && one.from == other.from && one.to == other.to &&
         one.protocol == other.protocol && one.place == other.place;
}

}  // namespace

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
