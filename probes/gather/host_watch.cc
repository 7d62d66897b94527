#include "probes/gather/host_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.h"
#include "probes/thresholds.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(WatchNeighbour, ip, dev, state)
PLUMBLINE_JSON_FIELDS(WatchState, nics, routes, carrier_changes, counters, temperatures, throttled,
                      cpu, memory_bytes, at_ns, neighbours)

namespace {

// Counters come from other hosts: no two of these, added, leave 64 bits.
constexpr int64_t kMostCount = int64_t{1} << 61;

// By how much a counter grew; 0 where it began anew, or one of the two is no count.
int64_t growth(int64_t before, int64_t now) {
  const bool counts = before >= 0 && now >= before && now <= kMostCount;
  return counts ? now - before : 0;
}

constexpr int64_t kRoundsForMean = 3;
constexpr size_t kMostChanges = 20;  // of one look; a host that loses a hundred interfaces says so

constexpr WatchCounterRow kCounters[] = {
    {"if.*.rx_errors", 1, 0, "a sound wired link counts none in days"},
    {"if.*.tx_errors", 1, 0, "a sound wired link counts none in days"},
    {"if.*.collisions", 1, 0, "a full-duplex link has none"},
    {"if.*.rx_dropped", 10, 4, "frames of unknown protocols are counted too, at a steady pace"},
    {"if.*.tx_dropped", 10, 4, "full queues drop a few under load"},
    {"ip.in_discards", 10, 4, "the host had no room for packets"},
    {"ip.out_discards", 10, 4, "the host had no room for packets"},
    {"tcp.in_checksum_errors", 1, 0, "packets are damaged on the way"},
    {"tcp.listen_overflows", 1, 0, "connections were not taken"},
    {"tcp.retransmitted", 10, 4, "a loaded link loses a few in every round"},
    {"tcp.timeouts", 5, 4, "a loaded link has a few in every round"},
};

constexpr std::string_view kLiveCounters[] = {
    "if.*.rx_bytes",   "if.*.tx_bytes",    "if.*.rx_packets",
    "if.*.tx_packets", "if.*.queue_drops", "tcp.out_segments",
};

// Whether "if.*.rx_errors" means "if.en1.rx_errors"; names of interfaces may hold dots.
bool means(std::string_view row, std::string_view name) {
  constexpr std::string_view kAnyInterface = "if.*";
  if (!name.starts_with("if.") || !row.starts_with(kAnyInterface)) return row == name;
  return row.substr(kAnyInterface.size()) == name.substr(name.rfind('.'));
}

const Nic* find_nic(const std::vector<Nic>& nics, const std::string& name) {
  const auto found =
      std::find_if(nics.begin(), nics.end(), [&](const Nic& nic) { return nic.name == name; });
  return found == nics.end() ? nullptr : &*found;
}

std::string speed_text(const std::optional<uint64_t>& bps) {
  return bps ? fmt::format("{:g} Mb/s", static_cast<double>(*bps) / 1e6) : std::string("unknown");
}

std::set<std::string> addresses_of(const Nic& nic) {
  std::set<std::string> out;
  for (const NicAddress& address : nic.addresses) {
    out.insert(fmt::format("{}/{}", address.ip, address.prefix));
  }
  return out;
}

// Changes of one interface that was there before.
void compare_nic(const Nic& before, const Nic& now, std::vector<HostChange>& out) {
  const auto tell = [&](const std::string& text) {
    out.push_back({"link", now.name, now.name + " " + text});
  };
  if (before.up != now.up) tell(now.up ? "was switched on" : "was switched off");
  if (before.carrier != now.carrier && before.up == now.up) {
    tell(now.carrier ? "has signal again" : "lost its signal");
  }
  // Without a signal there is no speed: that is told already.
  if (before.speed_bps != now.speed_bps && before.carrier && now.carrier) {
    tell("speed " + speed_text(before.speed_bps) + " -> " + speed_text(now.speed_bps));
  }
  if (before.mtu != now.mtu) tell(fmt::format("mtu {} -> {}", before.mtu, now.mtu));
  if (before.master != now.master) {
    tell(now.master.empty() ? "left " + before.master : "became a port of " + now.master);
  }
  const auto old_addresses = addresses_of(before), new_addresses = addresses_of(now);
  for (const std::string& address : old_addresses) {
    if (new_addresses.count(address) == 0) {
      out.push_back({"address", now.name, now.name + " lost " + address});
    }
  }
  for (const std::string& address : new_addresses) {
    if (old_addresses.count(address) == 0) {
      out.push_back({"address", now.name, now.name + " got " + address});
    }
  }
}

}  // namespace

std::span<const WatchCounterRow> watch_counter_table() { return kCounters; }

const WatchCounterRow* watched_counter(std::string_view name) {
  const auto* const row =
      std::find_if(std::begin(kCounters), std::end(kCounters),
                   [name](const WatchCounterRow& each) { return means(each.name, name); });
  return row == std::end(kCounters) ? nullptr : row;
}

bool is_live_counter(std::string_view name) {
  return std::any_of(std::begin(kLiveCounters), std::end(kLiveCounters),
                     [name](std::string_view row) { return means(row, name); });
}

void HostHistory::compare_links(const WatchState& now, std::vector<HostChange>& out) const {
  for (const Nic& before : last_->nics) {
    if (find_nic(now.nics, before.name) == nullptr) {
      out.push_back({"link", before.name, before.name + " is gone"});
    }
  }
  for (const Nic& nic : now.nics) {
    const Nic* before = find_nic(last_->nics, nic.name);
    if (before == nullptr) {
      out.push_back({"link", nic.name, nic.name + " appeared"});
      continue;
    }
    compare_nic(*before, nic, out);
    // Between two looks the signal may go and come back.
    const auto earlier = last_->carrier_changes.find(nic.name);
    const auto later = now.carrier_changes.find(nic.name);
    if (earlier == last_->carrier_changes.end() || later == now.carrier_changes.end()) continue;
    const int64_t changes = growth(earlier->second, later->second);
    if (changes > 1 || (changes == 1 && before->carrier == nic.carrier)) {
      out.push_back(
          {"link", nic.name,
           fmt::format("{} lost and regained its signal ({} changes)", nic.name, changes)});
    }
  }
}

void HostHistory::compare_rest(const WatchState& now, std::vector<HostChange>& out) {
  for (const auto& [peer, route] : now.routes) {
    const auto before = last_->routes.find(peer);
    if (before != last_->routes.end() && before->second != route) {
      out.push_back(
          {"route", peer, fmt::format("route to {}: {} -> {}", peer, before->second, route)});
    }
  }
  for (const auto& [name, value] : now.cpu) {
    const auto before = last_->cpu.find(name);
    if (before != last_->cpu.end() && before->second != value) {
      out.push_back({"cpu", name, fmt::format("{} {} -> {}", name, before->second, value)});
    }
  }
  for (const auto& [kind, value] : now.throttled) {
    const auto before = last_->throttled.find(kind);
    const int64_t more = before == last_->throttled.end() ? 0 : growth(before->second, value);
    if (more > 0) {
      out.push_back({"cpu", kind, fmt::format("CPU throttled by heat: {} +{}", kind, more)});
    }
  }
  // Against the last one that was told, so that slow warming is seen too.
  for (const auto& [sensor, degrees] : now.temperatures) {
    const auto [told, first] = told_temperatures_.try_emplace(sensor, degrees);
    if (!first && std::abs(degrees - told->second) >= threshold(Threshold::kTemperatureStep)) {
      out.push_back({"temperature", sensor,
                     fmt::format("{} {:.0f} -> {:.0f} °C", sensor, told->second, degrees)});
      told->second = degrees;
    }
  }
}

void HostHistory::count(const std::string& name, int64_t more, std::vector<HostChange>& out) {
  const WatchCounterRow* row = watched_counter(name);
  if (row == nullptr) return;
  Tally& tally = tallies_[name];
  tally.in_round = std::min(tally.in_round + more, kMostCount);
  if (tally.told || more == 0 || tally.in_round < row->least) return;
  if (row->factor > 0) {
    if (rounds_before_ < kRoundsForMean) return;
    const double mean = static_cast<double>(tally.in_all) / static_cast<double>(rounds_before_);
    if (static_cast<double>(tally.in_round) < row->factor * mean) return;
    out.push_back(
        {"counter", name,
         fmt::format("{} +{} in this round (usually {:.0f})", name, tally.in_round, mean)});
  } else {
    out.push_back({"counter", name, fmt::format("{} +{} in this round", name, tally.in_round)});
  }
  tally.told = true;
}

void HostHistory::next_round(int64_t round) {
  if (round <= round_) return;
  if (round_ > 0) ++rounds_before_;
  round_ = round;
  for (auto& [name, tally] : tallies_) {
    tally.in_all = std::min(tally.in_all + tally.in_round, kMostCount);
    tally.in_round = 0;
    tally.told = false;
  }
}

std::vector<HostChange> HostHistory::observe(const WatchState& now, int64_t round) {
  std::vector<HostChange> out;
  next_round(round);
  if (!last_) {
    told_temperatures_ = now.temperatures;
    last_ = now;
    return out;
  }
  compare_links(now, out);
  compare_rest(now, out);
  for (const auto& [name, value] : now.counters) {
    const auto before = last_->counters.find(name);
    if (before != last_->counters.end()) count(name, growth(before->second, value), out);
  }
  if (out.size() > kMostChanges) {
    const size_t more = out.size() - kMostChanges;
    out.resize(kMostChanges);
    out.push_back({"link", "", fmt::format("and {} more changes at the same time", more)});
  }
  // Counters of interfaces that are gone would be kept for ever.
  for (auto it = tallies_.begin(); it != tallies_.end();) {
    it = now.counters.count(it->first) == 0 ? tallies_.erase(it) : std::next(it);
  }
  last_ = now;
  return out;
}

}  // namespace plumbline
