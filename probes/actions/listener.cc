#include "probes/actions/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/port_listener.h"
#include "probes/sources/own_process.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr size_t kMaxPending = 256, kMaxServices = 48;
constexpr int kAcceptsAtOnce = 32;
constexpr int kIdlePollMs = 1000, kBusyPollMs = 100;
constexpr int64_t kHalfOpenInterval = 50 * kMillisecond;
// Looking for half-open connections goes on for so long after somebody asked for something.
constexpr int64_t kHalfOpenWatch = 20 * kSecond;
constexpr int kHalfOpenShare = 20;  // at most one part in so many of a core goes into it

// A member of a group, with what had been seen on it before the group began.
struct Member {
  std::shared_ptr<PortListener> listener;
  PortRecords::Sizes before = {};
};
using PortKey = std::pair<std::string, int>;

struct ServiceThread {
  std::thread thread;
  std::atomic<bool> done{false};
};

}  // namespace

class ListenerHub::Impl {
 public:
  Impl() {
    int ends[2];
    if (::pipe(ends) == 0) {
      wake_read_.reset(ends[0]);
      wake_write_.reset(ends[1]);
      make_nonblocking(ends[0]);
      make_nonblocking(ends[1]);
    }
    loop_ = std::thread([this] { loop(); });
    watcher_ = std::thread([this] { watch_half_open(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    wake();
    loop_.join();
    watcher_.join();
    for (ServiceThread& service : services_) service.thread.join();
  }

  Expected<std::vector<ListenState>> listen(const std::string& id,
                                            const std::vector<ListenAddress>& addresses,
                                            const std::vector<int>& ports, const AgentCall& call) {
    std::unique_lock lock(mutex_);
    if (groups_.count(id) != 0) {
      return fail(ErrorCode::kUsage, "something listens as '" + id + "' already");
    }
    std::vector<ListenState> states;
    std::vector<Member> members;
    for (const ListenAddress& address : addresses) {
      for (const int port : ports) {
        states.push_back({address.ip, port, "failed", "the time was over", {}, {}, false});
        if (!over(call)) add_port(address, port, members, states.back());
      }
    }
    groups_[id] = std::move(members);
    watch_until_ns_ = monotonic_ns() + kHalfOpenWatch;
    changed_.notify_all();
    wake();
    lock.unlock();
    // Takes its time on a machine with many processes, so the loop is not kept waiting for it.
    for (ListenState& state : states) {
      if (state.listener != "in_use" || over(call)) continue;
      state.holder = port_owner(static_cast<uint16_t>(state.port), state.ip);
      const HolderRole role = role_of_holder(state.holder);
      state.role = role.role;
      state.run = role.run;
    }
    return states;
  }

  Expected<Heard> heard(const std::string& id) {
    // The kernel keeps them for seconds, so one more look finds what the watcher was too slow for.
    look_for_half_open();
    const std::lock_guard lock(mutex_);
    const auto group = groups_.find(id);
    if (group == groups_.end()) return fail(ErrorCode::kUsage, "nothing listens as '" + id + "'");
    Heard heard;
    for (const Member& member : group->second) {
      member.listener->records->copy_to(heard, member.before);
    }
    watch_until_ns_ = monotonic_ns() + kHalfOpenWatch;
    changed_.notify_all();
    return heard;
  }

  Status unlisten(const std::string& id) {
    std::unique_lock lock(mutex_);
    const auto group = groups_.find(id);
    if (group == groups_.end()) return fail(ErrorCode::kUsage, "nothing listens as '" + id + "'");
    groups_.erase(group);
    drop_unused();
    // The loop's own references go when it begins a new round.
    const uint64_t round = round_;
    wake();
    changed_.wait(lock, [&] { return round_ > round || ending_; });
    return {};
  }

 private:
  void wake() {
    const char byte = 0;
    if (::write(wake_write_.get(), &byte, 1) < 0) return;  // full: it is awake anyway
  }

  // With the lock held.
  void add_port(const ListenAddress& address, int port, std::vector<Member>& members,
                ListenState& state) {
    if (port < 1 || port > 65535) {
      state.error = fmt::format("{} is no port number", port);
      return;
    }
    const PortKey key{address.ip + "%" + address.interface, port};
    auto& known = ports_[key];
    if (known) {
      state = {address.ip, port, "up", {}, {}, {}, known->udp.valid()};
    } else if (ports_.size() > kMaxListeners) {
      state.error = fmt::format("more than {} listeners", kMaxListeners);
    } else {
      known = open_port(address, port, state);
    }
    if (known) {
      members.push_back({known, known->records->so_far()});
    } else {
      ports_.erase(key);
    }
  }

  void drop_unused() {
    std::set<const PortListener*> used;
    for (const auto& [id, members] : groups_) {
      for (const Member& member : members) used.insert(member.listener.get());
    }
    for (auto it = ports_.begin(); it != ports_.end();) {
      it = used.count(it->second.get()) == 0 ? ports_.erase(it) : std::next(it);
    }
  }

  std::vector<std::shared_ptr<PortListener>> begin_round() {
    const std::lock_guard lock(mutex_);
    ++round_;
    changed_.notify_all();
    std::vector<std::shared_ptr<PortListener>> out;
    for (const auto& [key, listener] : ports_) out.push_back(listener);
    return out;
  }

  void loop() {
    while (!ending_) {
      std::vector<std::shared_ptr<PortListener>> listeners = begin_round();
      std::vector<pollfd> fds{{wake_read_.get(), POLLIN, 0}};
      // Without descriptors nobody can be accepted, and waiting for them would spin.
      const bool starved = monotonic_ns() < starved_until_ns_;
      for (const auto& listener : listeners) {
        fds.push_back({starved ? -1 : listener->tcp.get(), POLLIN, 0});
        fds.push_back({listener->udp.get(), POLLIN, 0});
      }
      const size_t first_pending = fds.size();
      for (const Pending& pending : pending_) fds.push_back({pending.fd(), POLLIN, 0});
      const bool busy = starved || !pending_.empty();
      ::poll(fds.data(), static_cast<nfds_t>(fds.size()), busy ? kBusyPollMs : kIdlePollMs);
      char drain[64];
      while (::read(wake_read_.get(), drain, sizeof drain) > 0) {
      }
      step_pending(fds, first_pending);
      for (size_t i = 0; i < listeners.size(); ++i) {
        if (fds[1 + 2 * i].revents != 0) accept_waiting(*listeners[i]);
        if (fds[2 + 2 * i].revents != 0) answer_datagrams(*listeners[i]);
      }
      reap_services();
    }
    for (Pending& pending : pending_) pending.refuse();
  }

  void accept_waiting(const PortListener& listener) {
    for (int i = 0; i < kAcceptsAtOnce; ++i) {
      auto accepted = accept_from(listener.tcp.get());
      if (!accepted) starved_until_ns_ = monotonic_ns() + kBusyPollMs * kMillisecond;
      if (!accepted || !accepted->valid()) return;
      const SocketAddress peer = remote_address(accepted->get());
      const size_t number = listener.records->add_accepted(ip_text(peer), peer.port());
      if (pending_.size() >= kMaxPending) {
        close_hard(*accepted);
      } else {
        pending_.emplace_back(std::move(*accepted), listener.records, number);
      }
    }
  }

  void step_pending(const std::vector<pollfd>& fds, size_t first) {
    size_t place = first;
    for (auto it = pending_.begin(); it != pending_.end(); ++place) {
      auto next = Pending::Next::kWait;
      if (place < fds.size() && fds[place].revents != 0) next = it->step();
      if (next == Pending::Next::kServe) serve(*it);
      if (next == Pending::Next::kWait && !it->expired()) {
        ++it;
      } else {
        it->refuse();
        it = pending_.erase(it);
      }
    }
  }

  void serve(Pending& pending) {
    if (services_.size() >= kMaxServices) return;
    ServiceThread& service = services_.emplace_back();
    service.thread = std::thread([this, &service, line = pending.line(), early = pending.early(),
                                  fd = pending.take().release()] {
      serve_connection(Fd(fd), line, early, ending_);
      service.done = true;
      wake();
    });
  }

  void reap_services() {
    services_.remove_if([](ServiceThread& service) {
      if (!service.done) return false;
      service.thread.join();
      return true;
    });
  }

  void look_for_half_open() {
    std::set<int> numbers;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, listener] : ports_) numbers.insert(key.second);
    }
    if (numbers.empty()) return;
    const std::vector<HalfOpenConnection> seen = half_open_connections(numbers);
    const std::lock_guard lock(mutex_);
    for (const HalfOpenConnection& connection : seen) note_half_open(connection);
  }

  void watch_half_open() {
    std::unique_lock lock(mutex_);
    int64_t pause = kHalfOpenInterval;
    while (!ending_) {
      const bool expecting = !ports_.empty() && monotonic_ns() < watch_until_ns_;
      if (!expecting) {
        changed_.wait_for(lock, std::chrono::seconds(1));
        continue;
      }
      lock.unlock();
      const int64_t begin = thread_cpu_ns();
      look_for_half_open();
      pause = std::max(kHalfOpenInterval, (thread_cpu_ns() - begin) * kHalfOpenShare);
      lock.lock();
      const int64_t until = monotonic_ns() + pause;
      while (!ending_ && monotonic_ns() < until) {
        changed_.wait_for(lock, std::chrono::nanoseconds(until - monotonic_ns()));
      }
    }
  }

  // With the lock held.
  void note_half_open(const HalfOpenConnection& connection) {
    for (const auto& [key, listener] : ports_) {
      const bool any = listener->plain_ip == "0.0.0.0" || listener->plain_ip == "::";
      if (listener->port == connection.port && (any || listener->plain_ip == connection.ip)) {
        listener->records->add_half_open(connection);
      }
    }
  }

  std::mutex mutex_;  // of the next five
  std::condition_variable changed_;
  std::map<PortKey, std::shared_ptr<PortListener>> ports_;
  std::map<std::string, std::vector<Member>> groups_;
  uint64_t round_ = 0;  // of the loop
  int64_t watch_until_ns_ = 0;

  std::atomic<bool> ending_{false};
  Fd wake_read_, wake_write_;
  // Of the loop's thread.
  std::list<Pending> pending_;
  std::list<ServiceThread> services_;
  int64_t starved_until_ns_ = 0;
  std::thread loop_, watcher_;
};

ListenerHub::ListenerHub() : impl_(std::make_unique<Impl>()) {}
ListenerHub::~ListenerHub() = default;

Expected<std::vector<ListenState>> ListenerHub::listen(const std::string& id,
                                                       const std::vector<ListenAddress>& addresses,
                                                       const std::vector<int>& ports,
                                                       const AgentCall& call) {
  return impl_->listen(id, addresses, ports, call);
}
Expected<Heard> ListenerHub::heard(const std::string& id) const { return impl_->heard(id); }
Status ListenerHub::unlisten(const std::string& id) { return impl_->unlisten(id); }

}  // namespace plumbline
