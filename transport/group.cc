#include "transport/group.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <set>

#include "transport/control/blame.h"

namespace plumbline {
namespace {

// What a rank waits for, timed while somebody asks for it (Group::time_waits): from the beginning
// of a try that moved nothing to that of the next one.
class WaitTimer {
 public:
  void before_try(WaitTimes* into) {
    into_ = into;
    if (into_ == nullptr) return;
    const int64_t now = monotonic_ns();
    if (waits_) (*into_)[static_cast<size_t>(stall_)] += now - since_;
    since_ = now;
  }
  template <typename StallNow>
  void after_try(bool moved, const StallNow& stall) {
    waits_ = into_ != nullptr && !moved;
    if (waits_) stall_ = stall();
  }

 private:
  WaitTimes* into_ = nullptr;
  bool waits_ = false;
  int64_t since_ = 0;
  Stall stall_ = Stall::kPeerLate;
};

constexpr int kLongestPollMs = 100;  // longest sleep: then the control plane is looked at again
// A stream without descriptor cannot wake anybody: tries are spaced out as the wait grows.
constexpr int64_t kYieldNs = 2 * kMillisecond;
constexpr int64_t kNapNs = 50'000;
constexpr int64_t kLongNapNs = kMillisecond;
constexpr int64_t kLongWaitNs = 100 * kMillisecond;
// A peer that answers within this time has a core of its own. Later, the tries leave room between
// them: the peer may be waiting for this very core (two ranks on one core otherwise spin away each
// other's turn).
constexpr int64_t kAloneNs = 4'000;
// Waiting that long is worth telling the peers.
constexpr int64_t kPublishNs = 5 * kMillisecond;
// After a lost connection: how long the true reason may take to come over the control plane.
constexpr int64_t kReasonNs = 250 * kMillisecond;
// The clock is read only so often while bytes flow, and while a rank spins: what it costs is a good
// part of a try that finds nothing in memory, and of what an answer of a microsecond takes.
constexpr int kMovesPerLook = 64, kTriesPerLook = 4;
// From so many peers on whose bytes are awaited one poll(2) costs less than a try of each.
constexpr size_t kPeersPerPoll = 7;

void nap(int64_t ns) {
  const timespec time{0, static_cast<long>(ns)};
  ::nanosleep(&time, nullptr);
}

}  // namespace

bool PairTransports::any(std::string_view name) const {
  return std::any_of(pairs_.begin(), pairs_.end(),
                     [name](const PairTransport& pair) { return pair.name == name; });
}

std::string PairTransports::name() const {
  std::set<std::string> names;
  for (const PairTransport& pair : pairs_) {
    if (!pair.name.empty()) names.insert(pair.name);
  }
  return names.empty() ? name_ : fmt::format("{}", fmt::join(names, "+"));
}

struct Group::Impl {
  int rank;
  int size;
  uint32_t id;
  std::vector<std::unique_ptr<Channel>> channels;  // by peer; null = not connected
  std::vector<Channel*> connected;
  Connect connect;
  std::shared_ptr<ControlPlane> control;
  ChannelOptions channel_options;
  WaitOptions wait_options;
  std::shared_ptr<const PairTransports> pairs;
  std::shared_ptr<ArrayPool> arrays;  // null = memory of this process alone
  std::optional<Error> failure;
  std::vector<pollfd> poll_set;  // reused
  WaitStats wait_stats = {};
  WaitTimes* wait_times = nullptr;
  // Of look(), reused: by entry of `connected`, whether to try it; by entry of the poll set, whose.
  std::vector<bool> may_move;
  std::vector<size_t> polled;

  void add_channel(int peer, std::unique_ptr<ByteStream> stream);
  bool reason_came() const;
  Error fail_channel(Channel& channel, Error error);
  // What this rank waits for now: the channel, and the message.
  Channel* awaited(MessageTag* tag) const;
  Stall stall() const;
  void yield();
  void publish() const;
  int64_t last_progress() const;
  bool owes() const;
  bool look();
  void sleep(int64_t idle_ns, Deadline deadline);
};

void Group::Impl::add_channel(int peer, std::unique_ptr<ByteStream> stream) {
  auto& slot = channels[static_cast<size_t>(peer)];
  slot = std::make_unique<Channel>(rank, peer, std::move(stream), channel_options);
  connected.push_back(slot.get());
}

// A rank that gives up says why and then closes: its reason may still be on the way.
bool Group::Impl::reason_came() const {
  const Deadline patience = Deadline::after_ns(kReasonNs);
  while (!control->failed() && !patience.passed()) nap(kMillisecond);
  return control->failed();
}

// Makes the best of a broken channel: the first fault's own words where the control plane has
// them, and everybody else is told.
Error Group::Impl::fail_channel(Channel& channel, Error error) {
  if (error.code == ErrorCode::kPeerLost) {
    if (reason_came()) return control->failure();
    if (error.cause.empty()) error.cause = "rank.dead";
  }
  if (const auto& mismatch = channel.hash_mismatch()) {
    const std::optional<Error> words =
        mismatch_in_words(*control, rank, channel.peer(), mismatch->sequence);
    if (words) error = *words;
  }
  control->abort(error);
  return error;
}

Channel* Group::Impl::awaited(MessageTag* tag) const {
  Channel* best = nullptr;
  bool best_receives = false;
  for (Channel* channel : connected) {
    std::optional<MessageTag> mine = channel->waiting_recv();
    const bool receives = mine.has_value();
    if (!mine) mine = channel->waiting_send();
    if (!mine) continue;
    // Earliest operation first; in one operation a missing receive says more than a full pipe, and
    // of two the one that comes first: the other may be waited for because of it.
    const auto comes_first = [&] {
      if (mine->sequence != tag->sequence) {
        return static_cast<int32_t>(mine->sequence - tag->sequence) < 0;
      }
      if (receives != best_receives) return receives;
      if (mine->step != tag->step) return mine->step < tag->step;
      return channel->last_progress_ns() < best->last_progress_ns();
    };
    if (best != nullptr && !comes_first()) continue;
    best = channel;
    best_receives = receives;
    *tag = *mine;
  }
  return best;
}

int64_t Group::Impl::last_progress() const {
  int64_t last = 0;
  for (const Channel* channel : connected) last = std::max(last, channel->last_progress_ns());
  return last;
}

// Somebody's send ends only with our word: it goes out before this rank turns to something else.
bool Group::Impl::owes() const {
  return std::any_of(connected.begin(), connected.end(),
                     [](const Channel* channel) { return channel->owes(); });
}

Stall Group::Impl::stall() const {
  Stall most = Stall::kPeerLate;
  for (const Channel* channel : connected) most = std::max(most, channel->stall().value_or(most));
  return most;
}

void Group::Impl::yield() {
  ++wait_stats.yields;
  ::sched_yield();
}

void Group::Impl::publish() const {
  MessageTag tag;
  const Channel* channel = awaited(&tag);
  control->waiting(channel != nullptr ? channel->peer() : -1, tag.step, last_progress());
}

// Where the bytes of many peers are awaited: finds with one call which channels may move any
// (may_move). false = they are few, and trying each costs less.
bool Group::Impl::look() {
  if (connected.size() < kPeersPerPoll) return false;
  const auto awaited = std::count_if(
      connected.begin(), connected.end(),
      [](const Channel* channel) { return channel->wants_read() && channel->told_by_poll(); });
  if (static_cast<size_t>(awaited) < kPeersPerPoll) return false;
  poll_set.clear();
  polled.clear();
  may_move.assign(connected.size(), true);
  for (size_t i = 0; i < connected.size(); ++i) {
    const Channel& channel = *connected[i];
    if (!channel.told_by_poll() || (!channel.wants_read() && !channel.wants_write())) continue;
    may_move[i] = false;
    channel.add_to(poll_set);
    polled.resize(poll_set.size(), i);
  }
  if (::poll(poll_set.data(), static_cast<nfds_t>(poll_set.size()), 0) < 0) return false;
  for (size_t entry = 0; entry < poll_set.size(); ++entry) {
    if (poll_set[entry].revents != 0) may_move[polled[entry]] = true;
  }
  return true;
}

void Group::Impl::sleep(int64_t idle_ns, Deadline deadline) {
  poll_set.clear();
  bool deaf = false;  // some stream cannot wake us
  for (Channel* channel : connected) {
    const bool reads = channel->wants_read(), writes = channel->wants_write();
    if (!reads && !writes) continue;
    if (channel->arm()) return;
    if (!channel->add_to(poll_set)) deaf = true;
  }
  ++(!deaf || idle_ns >= kYieldNs ? wait_stats.polls : wait_stats.yields);
  if (!deaf) {
    if (control->wake_fd() >= 0) poll_set.push_back({control->wake_fd(), POLLIN, 0});
    // EINTR and spurious returns are fine: the caller tries again.
    ::poll(poll_set.data(), static_cast<nfds_t>(poll_set.size()),
           deadline.poll_timeout_ms(kLongestPollMs));
  } else if (idle_ns < kYieldNs) {
    ::sched_yield();
  } else {
    nap(std::min(idle_ns < kLongWaitNs ? kNapNs : kLongNapNs,
                 std::max<int64_t>(deadline.remaining_ns(), 0)));
  }
}

Group::Group(int rank, int size, uint32_t id, std::vector<std::unique_ptr<ByteStream>> streams,
             Connect connect, std::shared_ptr<ControlPlane> control,
             const ChannelOptions& channel_options, const WaitOptions& wait_options,
             std::shared_ptr<const PairTransports> pairs, std::shared_ptr<ArrayPool> arrays)
    : impl_(new Impl{rank,
                     size,
                     id,
                     {},
                     {},
                     std::move(connect),
                     std::move(control),
                     channel_options,
                     wait_options,
                     std::move(pairs),
                     std::move(arrays),
                     {},
                     {},
                     {},
                     nullptr,
                     {},
                     {}}) {
  impl_->wait_options.failed = [plane = impl_->control.get()] { return plane->failed(); };
  impl_->channels.resize(static_cast<size_t>(size));
  for (size_t peer = 0; peer < streams.size() && peer < impl_->channels.size(); ++peer) {
    if (streams[peer]) impl_->add_channel(static_cast<int>(peer), std::move(streams[peer]));
  }
}

Group::~Group() = default;

int Group::rank() const { return impl_->rank; }
int Group::size() const { return impl_->size; }
uint32_t Group::id() const { return impl_->id; }
std::string Group::transport_name() const { return impl_->pairs->name(); }
const std::vector<PairTransport>& Group::pair_transports() const { return impl_->pairs->by_peer(); }
ControlPlane& Group::control() { return *impl_->control; }
const WaitOptions& Group::wait_options() const { return impl_->wait_options; }
const ChannelOptions& Group::channel_options() const { return impl_->channel_options; }

Expected<Channel*> Group::channel(int peer, Deadline deadline) {
  if (peer < 0 || peer >= impl_->size || peer == impl_->rank) {
    return fail(ErrorCode::kUsage, fmt::format("rank {} of {} asked for a channel to rank {}",
                                               impl_->rank, impl_->size, peer));
  }
  auto& slot = impl_->channels[static_cast<size_t>(peer)];
  if (slot) return slot.get();
  if (!impl_->connect) {
    return fail(ErrorCode::kPeerLost,
                fmt::format("rank {} has no connection to rank {}", impl_->rank, peer));
  }
  Expected<std::unique_ptr<ByteStream>> stream = impl_->connect(peer, deadline);
  if (!stream) return fail(stream.error());
  impl_->add_channel(peer, std::move(*stream));
  return slot.get();
}

Expected<bool> Group::progress() {
  if (!impl_->failure && impl_->control->failed()) impl_->failure = impl_->control->failure();
  if (impl_->failure) return fail(*impl_->failure);
  bool moved = false;
  const bool looked = impl_->look();
  // By index: a callback may connect one more channel.
  for (size_t i = 0; i < impl_->connected.size(); ++i) {
    if (looked && i < impl_->may_move.size() && !impl_->may_move[i]) continue;
    Channel& channel = *impl_->connected[i];
    if (!channel.wants_read() && !channel.wants_write()) continue;
    const Expected<bool> progressed = channel.progress();
    if (!progressed) {
      impl_->failure = impl_->fail_channel(channel, progressed.error());
      return fail(*impl_->failure);
    }
    moved = moved || *progressed;
  }
  return moved;
}

void Group::note_time() {
  const int64_t now = monotonic_ns();
  for (Channel* channel : impl_->connected) channel->note_time(now);
}

Status Group::wait(const std::function<bool()>& done, Deadline deadline) {
  int64_t idle_since = 0;  // 0 = bytes moved in the last round
  int64_t published = 0;   // when the peers were told last, 0 = never
  int moves = 0, tries = 0;
  WaitTimer timer;
  Status status;
  for (;;) {
    timer.before_try(impl_->wait_times);
    const Expected<bool> moved = progress();
    if (!moved) {
      status = fail(moved.error());
      break;
    }
    timer.after_try(*moved, [this] { return impl_->stall(); });
    if (done() && !impl_->owes()) break;
    if (*moved) {
      idle_since = 0;
      tries = 0;
      if (++moves % kMovesPerLook != 0) continue;
    }
    const bool spins = impl_->wait_options.spin_ns > 0 && !impl_->wait_options.yield;
    if (!*moved && spins && ++tries % kTriesPerLook != 0) continue;
    const int64_t now = monotonic_ns();
    if (now >= deadline.at_ns()) {
      status = fail(Error{ErrorCode::kTimeout,
                          fmt::format("rank {}: the deadline passed while waiting", impl_->rank),
                          0,
                          {},
                          {},
                          {impl_->rank}});
      break;
    }
    if (*moved) continue;
    if (idle_since == 0) {
      idle_since = now;
      ++impl_->wait_stats.stalls[static_cast<size_t>(impl_->stall())];
      for (Channel* channel : impl_->connected) channel->note_time(now);
    }
    const int64_t idle = now - idle_since;
    if (idle >= kPublishNs && now - published >= kLongWaitNs) {
      impl_->publish();
      for (Channel* channel : impl_->connected) channel->stream().keep_up();
      published = now;
    }
    if (idle >= impl_->wait_options.spin_ns) {
      impl_->sleep(idle, deadline);
    } else if (impl_->wait_options.yield || idle > kAloneNs) {
      impl_->yield();
    }
  }
  if (published != 0) impl_->control->waiting(-1, 0, impl_->last_progress());
  return status;
}

Expected<Array> Group::allocate(size_t bytes) const {
  return impl_->arrays ? impl_->arrays->allocate(bytes) : allocate_array(bytes);
}

ChannelStats Group::stats() const {
  ChannelStats sum;
  for (const Channel* channel : impl_->connected) {
    const ChannelStats& one = channel->stats();
    sum.payload_sent += one.payload_sent;
    sum.payload_received += one.payload_received;
    sum.wire_sent += one.wire_sent;
    sum.wire_received += one.wire_received;
    sum.frames_sent += one.frames_sent;
    sum.frames_received += one.frames_received;
    sum.write_calls += one.write_calls;
    sum.read_calls += one.read_calls;
    sum.direct_sent += one.direct_sent;
    sum.direct_received += one.direct_received;
    sum.in_place_bytes += one.in_place_bytes;
    sum.copied_bytes += one.copied_bytes;
    sum.parked_bytes_peak = std::max(sum.parked_bytes_peak, one.parked_bytes_peak);
  }
  return sum;
}

const WaitStats& Group::wait_stats() const { return impl_->wait_stats; }
void Group::time_waits(WaitTimes* into) { impl_->wait_times = into; }

std::vector<std::optional<StreamStats>> Group::stream_stats() const {
  std::vector<std::optional<StreamStats>> stats(impl_->channels.size());
  for (size_t peer = 0; peer < stats.size(); ++peer) {
    if (impl_->channels[peer]) stats[peer] = impl_->channels[peer]->stream_stats();
  }
  return stats;
}

Error Group::blame(int peer, uint32_t sequence, uint32_t step, const std::string& operation) {
  BlameQuestion question{impl_->rank, peer, sequence, step, operation, {}, {}, {}};
  if (peer >= 0 && peer < impl_->size && impl_->channels[static_cast<size_t>(peer)]) {
    Channel& channel = *impl_->channels[static_cast<size_t>(peer)];
    question.since_progress_ns = monotonic_ns() - channel.last_progress_ns();
    question.stream = channel.stream_stats();
    question.obstacle = channel.obstacle();
  }
  return find_blame(*impl_->control, question);
}

Error Group::fail_stream(int peer, const Error& error, const std::string& doing) {
  ControlPlane& control = *impl_->control;
  if (control.failed()) return control.failure();
  if (error.code == ErrorCode::kPeerLost && impl_->reason_came()) return control.failure();
  control.abort(error.code == ErrorCode::kTimeout ? blame(peer, 0, 0, doing) : error);
  return control.failure();
}

}  // namespace plumbline
