#include "probes/gather/live_rates.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "core/clock.h"

namespace plumbline {
namespace {

// Two looks closer together than this, or further apart, are a clock that lies.
constexpr int64_t kShortestNs = kMillisecond, kLongestNs = 24 * 3600 * kSecond;

// The counter's growth per second.
std::optional<double> rate(const WatchState& before, const WatchState& now, const std::string& name,
                           std::optional<double> seconds) {
  const auto earlier = before.counters.find(name), later = now.counters.find(name);
  if (!seconds || earlier == before.counters.end() || later == now.counters.end()) return {};
  if (earlier->second < 0 || later->second < earlier->second) return {};
  return static_cast<double>(later->second - earlier->second) / *seconds;
}

// Of those that are known; nothing when none is.
std::optional<double> sum(std::initializer_list<std::optional<double>> parts) {
  std::optional<double> out;
  for (const std::optional<double>& part : parts) {
    if (part) out = out.value_or(0) + *part;
  }
  return out;
}

const Nic* find_nic(const std::vector<Nic>& nics, const Nic& wanted) {
  const auto found = std::find_if(nics.begin(), nics.end(), [&](const Nic& nic) {
    return nic.name == wanted.name && nic.index == wanted.index;
  });
  return found == nics.end() ? nullptr : &*found;
}

// Neither "INCOMPLETE" nor "FAILED": it answered, or may still.
bool answers(const WatchNeighbour& neighbour) {
  return neighbour.state != "FAILED" && neighbour.state != "INCOMPLETE";
}

}  // namespace

std::optional<double> LiveHistory::interval_s(const WatchState& now, int64_t received_ns) const {
  if (!before_) return std::nullopt;
  const bool own_clock = before_->at_ns > 0 && now.at_ns > 0;
  const int64_t ns = own_clock ? (now.at_ns > before_->at_ns ? now.at_ns - before_->at_ns : 0)
                               : received_ns - before_ns_;
  if (ns < kShortestNs || ns > kLongestNs) return std::nullopt;
  return static_cast<double>(ns) * 1e-9;
}

LiveLink LiveHistory::link_of(const Nic& nic, const WatchState& now,
                              std::optional<double> seconds) {
  LiveLink link;
  link.name = nic.name;
  link.kind = nic.kind;
  link.up = nic.up;
  link.carrier = nic.carrier;
  link.mtu = nic.mtu;
  link.speed_bps = nic.speed_bps;
  const bool fresh = seen_.count(nic.name) == 0;
  Seen& seen = seen_[nic.name];
  link.was_up = seen.was_up = seen.was_up || nic.up;
  const auto changes = now.carrier_changes.find(nic.name);
  if (changes != now.carrier_changes.end() && changes->second >= 0) {
    // An interface that was made anew counts from nothing again.
    if (fresh || changes->second < seen.signal_changes.value_or(0)) {
      seen.signal_changes = changes->second;
    }
    if (seen.signal_changes) link.signal_changes = changes->second - *seen.signal_changes;
  }
  // The same name on another interface: its counters are others.
  if (before_ && find_nic(before_->nics, nic) != nullptr) {
    const auto of = [&](const char* counter) {
      return rate(*before_, now, "if." + nic.name + "." + counter, seconds);
    };
    link.rx_Bps = of("rx_bytes");
    link.tx_Bps = of("tx_bytes");
    link.rx_packets_per_s = of("rx_packets");
    link.tx_packets_per_s = of("tx_packets");
    link.rx_drops_per_s = of("rx_dropped");
    link.tx_drops_per_s = sum({of("tx_dropped"), of("queue_drops")});
    link.errors_per_s = sum({of("rx_errors"), of("tx_errors"), of("collisions")});
  }
  if (now.neighbours) {
    link.neighbours = link.lost_neighbours = 0;
    for (const WatchNeighbour& each : *now.neighbours) {
      if (each.dev == nic.name) ++(answers(each) ? *link.neighbours : *link.lost_neighbours);
    }
  }
  return link;
}

LiveHost LiveHistory::look(const WatchState& now, int64_t received_ns) {
  LiveHost host;
  host.name = last_.name;
  host.interval_s = interval_s(now, received_ns);
  for (const Nic& nic : now.nics) host.links.push_back(link_of(nic, now, host.interval_s));
  if (before_) {
    const auto of = [&](const char* counter) {
      return rate(*before_, now, counter, host.interval_s);
    };
    host.segments_per_s = of("tcp.out_segments");
    host.retransmitted_per_s = of("tcp.retransmitted");
    host.timeouts_per_s = of("tcp.timeouts");
    host.discards_per_s = sum({of("ip.in_discards"), of("ip.out_discards")});
  }
  host.neighbours = now.neighbours;
  host.temperatures = now.temperatures;
  if (!last_.lost.empty()) host.changes.push_back({"host", host.name, "can be observed again"});
  for (HostChange& change : history_.observe(now, 1)) {
    // Counters are shown as rates, all the time.
    if (change.kind != "counter") host.changes.push_back(std::move(change));
  }
  // Interfaces that are gone would be kept for ever.
  for (auto it = seen_.begin(); it != seen_.end();) {
    const bool there = std::any_of(now.nics.begin(), now.nics.end(),
                                   [&](const Nic& nic) { return nic.name == it->first; });
    it = there ? std::next(it) : seen_.erase(it);
  }
  before_ = now;
  before_ns_ = received_ns;
  last_ = host;
  return host;
}

LiveHost LiveHistory::lost(const std::string& why) {
  LiveHost host = last_;
  host.changes.clear();
  if (last_.lost.empty()) {
    host.changes.push_back({"host", host.name, "cannot be observed: " + why});
  }
  host.lost = why.empty() ? "it does not answer" : why;
  last_ = host;
  return host;
}

}  // namespace plumbline
