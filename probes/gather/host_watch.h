// What may change on a host while something is measured over hours, and what did: interfaces with
// their signal, speed and MTU, the routes to the peers, counters of errors, drops and
// retransmissions, temperatures, throttling. An agent reads a WatchState (request `watch`), and a
// HostHistory compares it with the one before, in words. Bounded: only the last state and a few
// sums are kept. Plain values and a pure comparison.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/host/host.h"

namespace plumbline {

// An entry of the system's table of neighbours.
struct WatchNeighbour {
  std::string ip, dev;
  std::string state;  // as ip-neighbour(8) prints it: "REACHABLE", "STALE", "FAILED" ...
};
void to_json(nlohmann::json& json, const WatchNeighbour& neighbour);
void from_json(const nlohmann::json& json, WatchNeighbour& neighbour);

struct WatchState {
  std::vector<Nic> nics;
  std::map<std::string, std::string> routes;  // by peer: "dev en1 via 10.0.0.1", or what is wrong
  std::map<std::string, int64_t> carrier_changes;  // by interface, since it exists
  // Those of watch_counter_table(), for a live view those of is_live_counter() too.
  std::map<std::string, int64_t> counters;
  std::map<std::string, double> temperatures;  // by sensor, degrees Celsius
  std::map<std::string, int64_t> throttled;    // by kind, since the start of the system
  // "scaling_governor", "scaling_max_freq" (kHz); of a Mac "low_power_mode" ("on", "off") and the
  // words of probes/sources/macos_power.h.
  std::map<std::string, std::string> cpu;
  std::optional<uint64_t> memory_bytes;  // resident, of the agent
  int64_t at_ns = 0;  // when the counters were read, by the host's monotonic clock; 0 = not told
  std::optional<std::vector<WatchNeighbour>> neighbours;  // for a live view only
};
void to_json(nlohmann::json& json, const WatchState& state);
void from_json(const nlohmann::json& json, WatchState& state);

// A counter that is worth an event when it grows: by `least` in one round and, where `factor` is
// not 0, to that many times its mean over the rounds before (of which there must be three).
struct WatchCounterRow {
  std::string_view name;  // of read_counters(); "if.*.rx_errors" = of every interface
  int64_t least;
  double factor;
  const char* reason;
};
std::span<const WatchCounterRow> watch_counter_table();
// nullptr = not watched.
const WatchCounterRow* watched_counter(std::string_view name);
// Of traffic, which is no event whatever it does: bytes and packets of interfaces, TCP segments,
// and "if.NAME.queue_drops" (probes/actions/host_state.h).
bool is_live_counter(std::string_view name);

struct HostChange {
  std::string kind;     // as in SoakEvent
  std::string subject;  // interface, peer, counter, sensor
  std::string text;
};

class HostHistory {
 public:
  // What is different from the state before; nothing the first time. `round` never goes back.
  std::vector<HostChange> observe(const WatchState& now, int64_t round);

 private:
  void compare_links(const WatchState& now, std::vector<HostChange>& out) const;
  void compare_rest(const WatchState& now, std::vector<HostChange>& out);
  void count(const std::string& name, int64_t more, std::vector<HostChange>& out);
  void next_round(int64_t round);

  struct Tally {
    int64_t in_round = 0, in_all = 0;  // in_all: rounds before this one
    bool told = false;                 // in this round
  };
  std::optional<WatchState> last_;
  std::map<std::string, double> told_temperatures_;
  std::map<std::string, Tally> tallies_;
  int64_t round_ = 0, rounds_before_ = 0;
};

}  // namespace plumbline
