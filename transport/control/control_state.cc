#include "transport/control/control_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "transport/control/blame.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

// A peer that has been silent for so long, and for two heartbeats, is not waited for: its answer
// would have to come from the thread that sends no heartbeats.
constexpr int64_t kLeastSilentNs = 800 * kMillisecond;

}  // namespace

ControlState::ControlState(int rank, int size, int64_t heartbeat_ns, WakePipe wake, WakePipe failed)
    : rank_(rank),
      heartbeat_ns_(heartbeat_ns),
      wake_(std::move(wake)),
      failed_pipe_(std::move(failed)),
      peers_(static_cast<size_t>(size)) {
  for (int peer = 0; peer < size; ++peer) at(peer).status.rank = peer;
}

Expected<std::unique_ptr<ControlState>> ControlState::create(int rank, int size,
                                                             const std::vector<bool>& apart,
                                                             const std::vector<size_t>& streams,
                                                             int64_t heartbeat_ns) {
  Expected<WakePipe> wake = WakePipe::open();
  if (!wake) return plumbline::fail(wake.error());
  Expected<WakePipe> failed = WakePipe::open();
  if (!failed) return plumbline::fail(failed.error());
  std::unique_ptr<ControlState> state(
      new ControlState(rank, size, heartbeat_ns, std::move(*wake), std::move(*failed)));
  for (size_t peer = 0; peer < apart.size(); ++peer) state->peers_[peer].apart = apart[peer];
  for (size_t peer = 0; peer < streams.size(); ++peer) {
    state->peers_[peer].data = std::vector<Fd>(std::max<size_t>(streams[peer], 1));
  }
  return state;
}

size_t ControlState::Peer::streams_left() const {
  if (apart || data_taken) return 0;
  return static_cast<size_t>(
      std::count_if(data.begin(), data.end(), [](const Fd& fd) { return !fd.valid(); }));
}

Error ControlState::failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_.origin == rank_ || failure_.origin == kCoordinator) return failure_.error;
  return ended_by(failure_.origin, failure_.error);
}

ControlAbort ControlState::abort_message() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void ControlState::fail(int origin, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return;
    failure_ = {origin, error};
    failed_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
  failed_pipe_.signal();
  wake_.signal();
}

void ControlState::heard(int peer, const RankStatus& status) {
  {
    const std::lock_guard lock(mutex_);
    Peer& p = at(peer);
    p.status = status;
    p.status.rank = peer;
    p.heard_ns = monotonic_ns();
    if (p.linked) return;
    p.linked = true;
  }
  changed_.notify_all();
}

void ControlState::answered(int peer, ControlAnswer answer) {
  change(peer, [&](Peer& p) {
    p.status = std::move(answer.status);
    p.status.rank = peer;
    p.heard_ns = monotonic_ns();
    p.answered = std::max(p.answered, answer.id);
    p.recorder = std::move(answer.recorder);
  });
}

void ControlState::note(int peer, std::string text) {
  const std::lock_guard lock(mutex_);
  at(peer).note = std::move(text);
}

size_t ControlState::streams(int peer) const {
  const std::lock_guard lock(mutex_);
  return at(peer).data.size();
}

bool ControlState::has_data(int peer, size_t stream) {
  const std::lock_guard lock(mutex_);
  Peer& p = at(peer);
  Fd& fd = p.data[stream];
  if (fd.valid() && connection_ended(fd.get())) fd.reset();
  return p.data_taken || fd.valid();
}

void ControlState::deliver_data(int peer, size_t stream, Fd connection) {
  change(peer, [&](Peer& p) {
    p.data[stream] = std::move(connection);
    p.data_error.reset();
  });
}

ControlRequests ControlState::take_requests() {
  const std::lock_guard lock(mutex_);
  return std::exchange(requests_, {});
}

template <typename Done>
void ControlState::wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline,
                              const Done& done) {
  while (!done()) {
    const int64_t left = std::min(deadline.remaining_ns(), kSecond);
    if (left <= 0) return;
    changed_.wait_for(lock, std::chrono::nanoseconds(left));
  }
}

template <typename Done>
void ControlState::wait(std::unique_lock<std::mutex>& lock, Deadline deadline, const Done& done) {
  wait_until(lock, deadline, [&] { return done() || failed_.load(std::memory_order_relaxed); });
}

void ControlState::wait_told(Deadline deadline) {
  std::unique_lock lock(mutex_);
  wait_until(lock, deadline, [&] {
    return std::all_of(peers_.begin(), peers_.end(), [&](const Peer& p) {
      return p.linked || p.left || p.disagrees || p.apart || &p == &at(rank_);
    });
  });
}

bool ControlState::wait_connected(bool with_data, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto connected = [&] {
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
      if (peer == rank_ || at(peer).apart) continue;
      if (!at(peer).linked || (with_data && at(peer).streams_left() > 0)) return false;
    }
    return true;
  };
  wait(lock, deadline, connected);
  return !failed_.load(std::memory_order_relaxed) && connected();
}

std::vector<PeerProgress> ControlState::progress() {
  const std::lock_guard lock(mutex_);
  std::vector<PeerProgress> list;
  for (const Peer& p : peers_) {
    list.push_back({p.linked || p.apart, p.data.size(), p.streams_left(), p.note});
  }
  return list;
}

Expected<std::vector<Fd>> ControlState::take_data(int peer, Deadline deadline) {
  std::unique_lock lock(mutex_);
  Peer& p = at(peer);
  if (p.apart) {
    return plumbline::fail(Error{ErrorCode::kUnsupported,
                                 fmt::format("rank {} and rank {} are on hosts that are not "
                                             "supposed to talk",
                                             rank_, peer),
                                 0,
                                 "choose hosts that all may talk to one another",
                                 {},
                                 {peer, rank_}});
  }
  const auto complete = [&p] { return !p.data_taken && p.streams_left() == 0; };
  if (!complete()) {
    p.data_error.reset();
    requests_.connect.push_back(peer);
    wake_.signal();
    wait(lock, deadline, [&] { return complete() || p.data_error || p.left; });
  }
  if (complete()) {
    p.data_taken = true;
    return std::exchange(p.data, std::vector<Fd>(p.data.size()));
  }
  if (failed_.load(std::memory_order_relaxed)) {
    lock.unlock();
    return plumbline::fail(failure());
  }
  if (p.data_error) return plumbline::fail(*p.data_error);
  if (p.left) {
    return plumbline::fail(Error{ErrorCode::kPeerLost,
                                 fmt::format("rank {} has left the group already", peer),
                                 0,
                                 "do all ranks call the same operations?",
                                 "rank.dead",
                                 {peer}});
  }
  return plumbline::fail(Error{ErrorCode::kTimeout,
                               fmt::format("no data connection between rank {} and rank {}{}",
                                           rank_, peer, p.note.empty() ? "" : ": " + p.note),
                               0,
                               "check the port window and the firewall on both hosts",
                               {},
                               {peer, rank_}});
}

RankStatus ControlState::query(int peer, Deadline deadline, std::vector<FlightEntry>* recorder) {
  std::unique_lock lock(mutex_);
  Peer& p = at(peer);
  if (p.linked && !p.left) {
    const uint64_t id = ++last_query_;
    requests_.queries.emplace_back(peer, id);
    wake_.signal();
    // Also in a group that has failed: just then it is asked who is to blame.
    const int64_t patience = std::max(2 * heartbeat_ns_, kLeastSilentNs);
    while (p.answered < id && !p.left) {
      const int64_t left = std::min(deadline.at_ns(), p.heard_ns + patience) - monotonic_ns();
      if (left <= 0) break;
      changed_.wait_for(lock, std::chrono::nanoseconds(left));
    }
  }
  RankStatus status = p.status;
  status.reachable = !p.apart;
  status.age_ns = p.heard_ns == 0 ? INT64_MAX : monotonic_ns() - p.heard_ns;
  if (recorder != nullptr) *recorder = p.recorder;
  return status;
}

void ControlState::request_stop() {
  {
    const std::lock_guard lock(mutex_);
    requests_.stop = true;
  }
  wake_.signal();
}

}  // namespace plumbline
