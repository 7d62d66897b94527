// Looks at all hosts at a steady pace for a live view, each in a thread of its own, so that a host
// that hangs holds up no other. An agent that was lost is started again now and then where that can
// be done.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "probes/gather/host_watcher.h"
#include "probes/gather/live_rates.h"

namespace plumbline {

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
