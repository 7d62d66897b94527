#include "probes/gather/host_watcher.h"

#include <chrono>

namespace plumbline {
namespace {

constexpr int64_t kLookMs = 2000;  // for an answer: what is read takes milliseconds

}  // namespace

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

}  // namespace plumbline
