// Looks at all hosts again and again while something else is measured: a thread asks every agent
// for its WatchState at a steady pace and tells what has changed. A host that does not answer is an
// event once, and once more when it answers again. Memory is bounded by the hosts (HostHistory).
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "probes/agent_requests.h"

namespace plumbline {

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

}  // namespace plumbline
