#include "probes/gather/host_watcher.h"

#include <chrono>

#include "core/json.h"
#include "core/json_trouble.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLookMs = 2000;  // for an answer: what is read takes milliseconds

}  // namespace

Json watch_params(const WatchedHost& host, bool live) {
  Json peers = Json::array();
  for (const WatchedPeer& peer : host.peers) {
    peers.push_back({{"name", peer.name}, {"from_ip", peer.from_ip}, {"to_ip", peer.to_ip}});
  }
  Json params = {{"peers", std::move(peers)}};
  if (live) params["live"] = true;
  return params;
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
    tickets[i] = hosts_[i].agent->ask("watch", watch_params(hosts_[i], false), deadline);
  }
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].agent != nullptr) {
      take(i, hosts_[i].agent->reply(tickets[i]));
    } else {
      take(i, fail(ErrorCode::kPeerLost, hosts_[i].unreachable));
    }
  }
}

void HostWatcher::take(size_t host, Expected<Json> reply) {
  const std::string& name = hosts_[host].name;
  std::string trouble;
  if (reply) {
    try {
      const auto state = reply->get<WatchState>();
      if (silent_[host]) tell_(name, {"host", name, "can be observed again"});
      silent_[host] = false;
      for (const HostChange& change : histories_[host].observe(state, round_.load())) {
        tell_(name, change);
      }
      return;
    } catch (const Json::exception& error) {
      trouble = "its agent's answer makes no sense: " + json_trouble(error);
    }
  } else {
    trouble = reply.error().message();
  }
  if (!silent_[host]) tell_(name, {"host", name, "cannot be observed: " + trouble});
  silent_[host] = true;
}

}  // namespace plumbline
