#include "probes/gather/host_watcher.h"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "core/clock.h"

namespace plumbline {
namespace {

// ---- what a live view shows of a host ----

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

// ---- watchers ----

constexpr int64_t kLookMs = 2000;  // for an answer: what is read takes milliseconds

// ---- live ----

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

HostWatcher::HostWatcher(std::vector<WatchedHost> hosts, Tell tell)
    : hosts_(std::move(hosts)),
      histories_(hosts_.size()),
      silent_(hosts_.size(), false),
      tell_(std::move(tell)) {}

HostWatcher::~HostWatcher() {
  {
    const std::scoped_lock lock(stopping_mutex_);
    stopped_ = true;
  }
  stopping_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HostWatcher::start(int64_t interval_ns) {
  thread_ = std::thread([this, interval_ns] { run(interval_ns); });
}

void HostWatcher::run(int64_t interval_ns) {
  std::unique_lock lock(stopping_mutex_);
  while (!stopping_.wait_for(lock, std::chrono::nanoseconds(interval_ns),
                             [this] { return stopped_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

void HostWatcher::look() {
  const std::scoped_lock lock(looking_);
  const Deadline deadline = Deadline::after_ms(kLookMs);
  std::vector<int64_t> tickets(hosts_.size());
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].agent == nullptr) continue;
    tickets[i] = AgentWire<AskWatch>::ask(*hosts_[i].agent, {hosts_[i].peers}, deadline);
  }
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].agent != nullptr) {
      take(i, AgentWire<AskWatch>::reply(*hosts_[i].agent, tickets[i]));
    } else {
      take(i, fail(ErrorCode::kPeerLost, hosts_[i].unreachable));
    }
  }
}

void HostWatcher::take(size_t host, const Expected<WatchState>& reply) {
  const std::string& name = hosts_[host].name;
  if (!reply) {
    if (!silent_[host])
      tell_(name, {"host", name, "cannot be observed: " + reply.error().message()});
    silent_[host] = true;
    return;
  }
  if (silent_[host]) tell_(name, {"host", name, "can be observed again"});
  silent_[host] = false;
  for (const HostChange& change : histories_[host].observe(*reply, round_.load())) {
    tell_(name, change);
  }
}

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
