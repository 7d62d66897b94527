// Looking at all hosts again and again. While something else is measured: a thread asks every agent
// for its WatchState at a steady pace and tells what has changed; a host that does not answer is an
// event once, and once more when it answers again. For a live view: each host in a thread of its
// own, so that one that hangs holds up no other, and an agent that was lost is started again now
// and then where that can be done; it shows rates out of two looks at a host's counters, the state
// of its links and neighbours, and what has changed. A WatchState comes from another machine, so
// numbers that make no sense (negative ones, counters or clocks that went backwards) give no rate
// instead of a wrong one. Memory is bounded by the hosts and one look at each (HostHistory,
// LiveHistory).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "probes/agent_requests.h"
#include "probes/gather/host_watch.h"

namespace plumbline {

// ---- what a live view shows of a host ----

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

// ---- watchers ----

struct WatchedHost {
  std::string name;
  HostAgent* agent = nullptr;  // not owned; null: `unreachable` says why
  std::string unreachable;
  std::vector<WatchedPeer> peers;  // whose routes are looked up
};

class HostWatcher {
 public:
  // Called from the watcher's thread, and from whoever calls look(); never two at a time.
  using Tell = std::function<void(const std::string& host, const HostChange& change)>;

  HostWatcher(std::vector<WatchedHost> hosts, Tell tell);
  ~HostWatcher();  // waits for a look that is under way: its deadline at most
  HostWatcher(const HostWatcher&) = delete;
  HostWatcher& operator=(const HostWatcher&) = delete;

  // From now on every `interval_ns`.
  void start(int64_t interval_ns);
  // The round that runs, for the counters.
  void set_round(int64_t round) { round_.store(round); }
  // Once, now; returns when all have answered or the deadline (2 s) has passed.
  void look();

 private:
  void run(int64_t interval_ns);
  void take(size_t host, const Expected<WatchState>& reply);

  std::vector<WatchedHost> hosts_;
  std::vector<HostHistory> histories_;
  std::vector<bool> silent_;
  Tell tell_;
  std::atomic<int64_t> round_{0};
  std::mutex looking_, stopping_mutex_;
  std::condition_variable stopping_;
  bool stopped_ = false;
  std::thread thread_;
};

struct LiveWatched {
  WatchedHost host;
  // A new agent in the place of one that was lost, null when it does not start; takes a few seconds
  // at most. Called from the host's thread, which outlives the agent. Empty = not tried.
  std::function<std::unique_ptr<HostAgent>()> start_again;
};

class LiveWatcher {
 public:
  explicit LiveWatcher(std::vector<LiveWatched> hosts);
  ~LiveWatcher();  // waits for looks that are under way: their deadline (2 s) at most, or a start
  LiveWatcher(const LiveWatcher&) = delete;
  LiveWatcher& operator=(const LiveWatcher&) = delete;

  // Now, and from now on every `interval_ns`. A host that needs longer is asked again when it has
  // answered.
  void start(int64_t interval_ns);

  struct Seen {
    LiveHost host;      // `changes`: all since the last take()
    int64_t looks = 0;  // so far, with those that failed
  };
  // As they are now, in the order of the hosts.
  std::vector<Seen> take();

 private:
  void run(size_t index, int64_t interval_ns);
  void put(size_t index, LiveHost host);
  bool wait_until(int64_t at_ns);  // false: it ends

  std::vector<LiveWatched> hosts_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::vector<Seen> seen_;
  std::vector<std::thread> threads_;
};

}  // namespace plumbline
