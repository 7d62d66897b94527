// What a live view shows of a host: rates out of two looks at its counters, the state of its links
// and neighbours, and what has changed. A WatchState comes from another machine, so numbers that
// make no sense (negative ones, counters or clocks that went backwards) give no rate instead of a
// wrong one. Pure values; memory is bounded by one look.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probes/gather/host_watch.h"

namespace plumbline {

// Rates are per second; empty = not known: the first look, a counter that wrapped or began anew, or
// a system that does not tell.
struct LiveLink {
  std::string name, kind;  // as in Nic
  bool up = false, carrier = false;
  bool was_up = false;  // at some look so far
  int mtu = 0;
  std::optional<uint64_t> speed_bps;
  std::optional<double> rx_Bps, tx_Bps, rx_packets_per_s, tx_packets_per_s;
  // Thrown away by the host; tx: with what the queue in front of the interface threw away.
  std::optional<double> rx_drops_per_s, tx_drops_per_s;
  std::optional<double> errors_per_s;              // damaged, both directions, and collisions
  std::optional<int64_t> signal_changes;           // since the first look: signals lost and found
  std::optional<int> neighbours, lost_neighbours;  // known ones; those that do not answer
};

struct LiveHost {
  std::string name;
  std::string lost;                  // why it does not answer now; the rest is what it said last
  std::optional<double> interval_s;  // between the two looks
  std::vector<LiveLink> links;       // as the system numbers them
  // Of all its TCP connections.
  std::optional<double> segments_per_s, retransmitted_per_s, timeouts_per_s;
  std::optional<double> discards_per_s;  // IP packets for which the host had no room
  std::optional<std::vector<WatchNeighbour>> neighbours;
  std::map<std::string, double> temperatures;  // by sensor, degrees Celsius
  std::vector<HostChange> changes;             // since the look before
};

class LiveHistory {
 public:
  explicit LiveHistory(std::string name) { last_.name = std::move(name); }
  // `received_ns`: of our own monotonic clock, for hosts that do not tell theirs.
  LiveHost look(const WatchState& now, int64_t received_ns);
  LiveHost lost(const std::string& why);

 private:
  std::optional<double> interval_s(const WatchState& now, int64_t received_ns) const;
  LiveLink link_of(const Nic& nic, const WatchState& now, std::optional<double> seconds);

  LiveHost last_;
  std::optional<WatchState> before_;
  int64_t before_ns_ = 0;
  HostHistory history_;
  struct Seen {
    bool was_up = false;
    std::optional<int64_t> signal_changes;  // at the first look
  };
  std::map<std::string, Seen> seen_;  // by interface
};

}  // namespace plumbline
