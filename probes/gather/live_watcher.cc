#include "probes/gather/live_watcher.h"

#include <chrono>
#include <iterator>

#include "core/clock.h"

namespace plumbline {
namespace {

constexpr int64_t kLookAgainMs = 2000;           // for an answer: what is read takes milliseconds
constexpr int64_t kStartAgainNs = 10 * kSecond;  // from one try to the next

// One look at one host, and what is known of it so far.
class LiveLooker {
 public:
  explicit LiveLooker(const LiveWatched& watched)
      : watched_(watched), agent_(watched.host.agent), history_(watched.host.name) {}

  LiveHost look() {
    if (agent_ == nullptr) return history_.lost(watched_.host.unreachable);
    if (lost_) start_again();
    const AskWatch asked{watched_.host.peers, true};
    const auto reply = ask_agent(*agent_, asked, Deadline::after_ms(kLookAgainMs));
    // Without a cause only this answer is missing.
    lost_ = !reply && !reply.error().cause.empty();
    if (!reply) return history_.lost(reply.error().message());
    return history_.look(*reply, monotonic_ns());
  }

 private:
  void start_again() {
    const int64_t now = monotonic_ns();
    if (!watched_.start_again || now < next_start_ns_) return;
    if (std::unique_ptr<HostAgent> fresh = watched_.start_again()) {
      own_ = std::move(fresh);
      agent_ = own_.get();
    }
    next_start_ns_ = monotonic_ns() + kStartAgainNs;
  }

  const LiveWatched& watched_;
  HostAgent* agent_;
  LiveHistory history_;
  std::unique_ptr<HostAgent> own_;
  bool lost_ = false;
  int64_t next_start_ns_ = 0;
};

}  // namespace

LiveWatcher::LiveWatcher(std::vector<LiveWatched> hosts)
    : hosts_(std::move(hosts)), seen_(hosts_.size()) {
  for (size_t i = 0; i < hosts_.size(); ++i) seen_[i].host.name = hosts_[i].host.name;
}

LiveWatcher::~LiveWatcher() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void LiveWatcher::start(int64_t interval_ns) {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    threads_.emplace_back([this, i, interval_ns] { run(i, interval_ns); });
  }
}

std::vector<LiveWatcher::Seen> LiveWatcher::take() {
  const std::scoped_lock lock(mutex_);
  std::vector<Seen> out = seen_;
  for (Seen& each : seen_) each.host.changes.clear();
  return out;
}

bool LiveWatcher::wait_until(int64_t at_ns) {
  std::unique_lock lock(mutex_);
  const auto wait = std::chrono::nanoseconds(at_ns - monotonic_ns());
  return !ending_.wait_for(lock, wait, [this] { return ended_; });
}

void LiveWatcher::put(size_t index, LiveHost host) {
  const std::scoped_lock lock(mutex_);
  Seen& seen = seen_[index];
  std::vector<HostChange> changes = std::move(seen.host.changes);
  changes.insert(changes.end(), std::make_move_iterator(host.changes.begin()),
                 std::make_move_iterator(host.changes.end()));
  seen.host = std::move(host);
  seen.host.changes = std::move(changes);
  ++seen.looks;
}

void LiveWatcher::run(size_t index, int64_t interval_ns) {
  LiveLooker looker(hosts_[index]);
  int64_t next_ns = monotonic_ns();
  while (wait_until(next_ns)) {
    put(index, looker.look());
    // On the grid; what passed meanwhile is left out.
    const int64_t late = monotonic_ns() - next_ns;
    next_ns += interval_ns * (1 + late / interval_ns);
  }
}

}  // namespace plumbline
