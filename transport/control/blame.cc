#include "transport/control/blame.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/units.h"

namespace plumbline {
namespace {

constexpr int64_t kBlameNs = kSecond;  // for the whole walk, of which an answer takes little
// A status that old is not an answer but what was heard before: nobody answered within kBlameNs.
constexpr int64_t kSilentNs = 800 * kMillisecond;
constexpr int64_t kMovesNs = 500 * kMillisecond;  // since the last progress: it has not stopped
constexpr int64_t kNeverNs = int64_t{1000} * 3600 * kSecond;  // older than any process

const FlightEntry* entry_of(const std::vector<FlightEntry>& entries, uint32_t sequence) {
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
    if (it->sequence == sequence) return &*it;
  }
  return nullptr;
}

// Number 0: nothing that the ranks call together (a roof on the bare stream).
std::string named(uint32_t sequence, const std::string& operation) {
  if (sequence == 0 && !operation.empty()) return operation;
  return operation.empty() ? fmt::format("op {}", sequence)
                           : fmt::format("op {} {}", sequence, operation);
}

std::string ago(int64_t ns) {
  return format_duration(static_cast<double>(std::max<int64_t>(ns, 0))) + " ago";
}

// "op 91 allreduce f32 64 KiB step 7: rank 2 waits for rank 1, last progress 3.1 s ago, 64 KiB
// unacknowledged, receive window 0"
std::string complaint(const BlameQuestion& q) {
  const std::string step = q.sequence == 0 ? "" : fmt::format(" step {}", q.step);
  std::string text = fmt::format("{}{}: rank {} waits for rank {}", named(q.sequence, q.operation),
                                 step, q.self, q.peer);
  if (q.since_progress_ns) text += fmt::format(", last progress {}", ago(*q.since_progress_ns));
  if (q.stream && q.stream->unacked_bytes) {
    text += fmt::format(", {} unacknowledged", format_bytes(*q.stream->unacked_bytes));
  }
  if (q.stream && q.stream->unsent_bytes && *q.stream->unsent_bytes > 0) {
    text += fmt::format(", {} unsent", format_bytes(*q.stream->unsent_bytes));
  }
  if (q.stream && q.stream->peer_window) {
    text += fmt::format(", receive window {}", *q.stream->peer_window);
  }
  if (!q.obstacle.empty()) text += "; " + q.obstacle;
  return text;
}

Error stalled(std::string what, std::string hint) {
  return Error{ErrorCode::kTimeout, std::move(what), 0, std::move(hint), "collective.stalled"};
}

Error mismatch(std::string what) {
  return Error{ErrorCode::kMismatch, std::move(what), 0,
               "all ranks must call the same operations, with the same sizes, types and roots, in "
               "the same order",
               "collective.mismatch"};
}

std::string calls_differ(uint32_t sequence, int self, const FlightEntry& ours, int peer,
                         const FlightEntry& theirs) {
  return fmt::format("rank {} called op {} {} while rank {} called op {} {}", peer, sequence,
                     theirs.operation, self, sequence, ours.operation);
}

// One rank on the way, as it answered.
struct Station {
  RankStatus status;
  std::vector<FlightEntry> recorder;
};

std::string last_finished(const Station& station) {
  for (auto it = station.recorder.rbegin(); it != station.recorder.rend(); ++it) {
    if (it->finished) return "last finished: " + named(it->sequence, it->operation);
  }
  return "it has finished none";
}

std::string where_of(const RankStatus& status) {
  if (!status.in_operation) return "outside the collectives (a roof)";
  return fmt::format("in {} step {}", named(status.sequence, status.operation), status.step);
}

// The walk: `text_` grows by what each rank on the way says, until one of them is the culprit.
class Walk {
 public:
  Walk(ControlPlane& control, const BlameQuestion& question)
      : control_(control),
        q_(question),
        deadline_(Deadline::after_ns(kBlameNs)),
        longest_ns_(question.since_progress_ns.value_or(kNeverNs)),
        text_(complaint(question)) {
    const std::vector<FlightEntry> mine = control.recorder();
    if (const FlightEntry* entry = entry_of(mine, question.sequence)) ours_ = *entry;
  }

  Error run() {
    std::vector<int> path{q_.self};
    Error error = follow(path);
    error.ranks.assign(path.rbegin(), path.rend());
    return error;
  }

 private:
  // `path`: the ranks that were met; the last one is the culprit.
  Error follow(std::vector<int>& path) {
    int rank = q_.peer;
    for (;;) {
      path.push_back(rank);
      Station station;
      station.status = control_.query(rank, deadline_, &station.recorder);
      if (!station.status.reachable) await_others();
      if (std::optional<Error> culprit = judge(rank, station)) return *culprit;
      longest_ns_ = std::max(longest_ns_, station.status.since_progress_ns);
      const int next = station.status.waiting_for;
      text_ += fmt::format("; rank {} waits for rank {} {} (last progress {})", rank, next,
                           where_of(station.status), ago(station.status.since_progress_ns));
      if (std::find(path.begin(), path.end(), next) != path.end()) return circle(path, next);
      if (deadline_.passed()) return stalled(text_, "");
      rank = next;
    }
  }
  // A rank that this one never meets is asked by one that does, at about the same time: what that
  // one finds out reaches all, and is worth more than that this one cannot ask.
  void await_others() const {
    const Deadline patience = Deadline::after_ns(2 * kBlameNs);
    while (!control_.failed() && !patience.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // The Error when this rank is the end of the walk.
  std::optional<Error> judge(int rank, const Station& station) const {
    const RankStatus& status = station.status;
    if (!status.reachable) {
      return stalled(fmt::format("{}; rank {} has no connection with rank {} and cannot be asked",
                                 text_, rank, q_.self),
                     "look at that rank's process and at its links");
    }
    if (status.age_ns >= kSilentNs) {
      return Error{ErrorCode::kPeerLost,
                   fmt::format("{}; rank {} does not answer (stopped or dead), {}", text_, rank,
                               status.age_ns < kNeverNs ? "last heard of " + ago(status.age_ns)
                                                        : "never heard of"),
                   0, "look at that rank's process and its host", "rank.dead"};
    }
    const FlightEntry* theirs = entry_of(station.recorder, q_.sequence);
    if (theirs != nullptr && ours_ && theirs->op_hash != ours_->op_hash) {
      return mismatch(text_ + "; " + calls_differ(q_.sequence, q_.self, *ours_, rank, *theirs));
    }
    // One that waits all the same moves bytes of its own (a roof).
    if (!status.in_operation && status.waiting_for < 0) return absent(rank, station);
    if (status.waiting_for < 0) {
      return stalled(
          fmt::format("{}; rank {} is in {} and waits for nobody (last progress {})", text_, rank,
                      named(status.sequence, status.operation), ago(status.since_progress_ns)),
          "it is busy or hangs: look at that rank's process");
    }
    return std::nullopt;
  }

  Error absent(int rank, const Station& station) const {
    const bool passed = station.status.sequence != 0 &&
                        static_cast<int32_t>(station.status.sequence - q_.sequence) >= 0;
    if (passed) {
      return stalled(fmt::format("{}; rank {} has finished op {} already ({})", text_, rank,
                                 q_.sequence, last_finished(station)),
                     "bytes were lost between the two, or they disagree about the algorithm");
    }
    return stalled(
        fmt::format("{}; rank {} is not in any operation ({})", text_, rank,
                    last_finished(station)),
        "it computes, sleeps or hangs outside the collectives: look at that rank's process");
  }

  Error circle(const std::vector<int>& path, int next) const {
    const auto start = std::find(path.begin(), path.end(), next);
    std::string ranks;
    for (auto it = start; it != path.end(); ++it) ranks += fmt::format("{} -> ", *it);
    if (longest_ns_ < kMovesNs) {
      return stalled(
          fmt::format("{}; bytes were still moving between them ({}{}) when its time was "
                      "over",
                      text_, ranks, next),
          "it is slow, and not stuck: give it more time, or look for a slow link or a "
          "crowded machine");
    }
    return stalled(
        fmt::format("{}; they wait for one another in a circle ({}{})", text_, ranks, next),
        "bytes were lost, the link is down, or the algorithm deadlocks: try another "
        "algorithm, and look at the link");
  }

  ControlPlane& control_;
  const BlameQuestion& q_;
  const Deadline deadline_;
  int64_t longest_ns_;  // without progress, of the ranks on the way
  std::string text_;
  std::optional<FlightEntry> ours_;  // what this rank called under the stuck number
};

}  // namespace

// Numbers are stored between two changes of the version, and a reader that finds it changed reads
// again. Stores are releases and loads acquires, so that nothing of them leaves that interval.
class FlightRecorder::Write {
 public:
  explicit Write(FlightRecorder& recorder)
      : recorder_(recorder), version_(recorder.version_.load(std::memory_order_relaxed)) {
    recorder_.version_.store(version_ + 1, std::memory_order_relaxed);
  }
  ~Write() { recorder_.version_.store(version_ + 2, std::memory_order_release); }
  Write(const Write&) = delete;
  Write& operator=(const Write&) = delete;

  template <typename T>
  void set(std::atomic<T>& to, T value) {
    to.store(value, std::memory_order_release);
  }

 private:
  FlightRecorder& recorder_;
  const uint64_t version_;
};

void FlightRecorder::begin_operation(uint32_t sequence, uint32_t op_hash, const std::string& text) {
  const uint64_t begun = begun_.load(std::memory_order_relaxed);
  uint64_t unfinished = unfinished_.load(std::memory_order_relaxed);
  Slot& slot = slots_[begun % kEntries];
  if (begun >= kEntries && !slot.finished.load(std::memory_order_relaxed)) {
    --unfinished;  // forgotten, whatever became of it
  }
  std::unique_lock lock(mutex_, std::defer_lock);
  if (slot.op_hash != op_hash || slot.operation != text) {
    lock.lock();
    slot.op_hash = op_hash;
    slot.operation = text;
  }
  Write write(*this);
  write.set(slot.sequence, sequence);
  write.set(slot.finished, false);
  write.set(begun_, begun + 1);
  write.set(unfinished_, unfinished + 1);
  write.set(waiting_for_, -1);
  write.set(last_progress_ns_, coarse_monotonic_ns());
}

void FlightRecorder::end_operation(uint32_t sequence) {
  const uint64_t begun = begun_.load(std::memory_order_relaxed);
  const uint64_t kept = std::min<uint64_t>(begun, kEntries);
  for (uint64_t i = 1; i <= kept; ++i) {
    Slot& slot = slots_[(begun - i) % kEntries];
    if (slot.sequence.load(std::memory_order_relaxed) != sequence) continue;
    if (slot.finished.load(std::memory_order_relaxed)) return;
    Write write(*this);
    write.set(slot.finished, true);
    write.set(unfinished_, unfinished_.load(std::memory_order_relaxed) - 1);
    write.set(waiting_for_, -1);
    write.set(last_progress_ns_, coarse_monotonic_ns());
    return;
  }
}

void FlightRecorder::waiting(int peer, uint32_t step, int64_t last_progress_ns) {
  Write write(*this);
  write.set(waiting_for_, peer);
  write.set(step_, step);
  write.set(last_progress_ns_, last_progress_ns);
}

FlightRecorder::Numbers FlightRecorder::read() const {
  while (true) {
    const uint64_t before = version_.load(std::memory_order_acquire);
    Numbers numbers;
    numbers.begun = begun_.load(std::memory_order_acquire);
    numbers.unfinished = unfinished_.load(std::memory_order_acquire);
    numbers.waiting_for = waiting_for_.load(std::memory_order_acquire);
    numbers.step = step_.load(std::memory_order_acquire);
    numbers.last_progress_ns = last_progress_ns_.load(std::memory_order_acquire);
    for (size_t i = 0; i < kEntries; ++i) {
      numbers.sequences[i] = slots_[i].sequence.load(std::memory_order_acquire);
      numbers.finished[i] = slots_[i].finished.load(std::memory_order_acquire);
    }
    if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) return numbers;
    ::sched_yield();
  }
}

RankStatus FlightRecorder::status(int rank) const {
  const std::lock_guard lock(mutex_);
  const Numbers numbers = read();
  RankStatus status;
  status.rank = rank;
  if (numbers.begun == 0) return status;
  const size_t newest = (numbers.begun - 1) % kEntries;
  status.sequence = numbers.sequences[newest];
  status.op_hash = slots_[newest].op_hash;
  status.operation = slots_[newest].operation;
  status.in_operation = numbers.unfinished > 0;
  status.waiting_for = numbers.waiting_for;
  status.step = numbers.step;
  status.since_progress_ns = std::max<int64_t>(0, monotonic_ns() - numbers.last_progress_ns);
  return status;
}

std::vector<FlightEntry> FlightRecorder::entries() const {
  const std::lock_guard lock(mutex_);
  const Numbers numbers = read();
  std::vector<FlightEntry> entries;
  for (uint64_t i = numbers.begun - std::min<uint64_t>(numbers.begun, kEntries); i < numbers.begun;
       ++i) {
    const size_t at = i % kEntries;
    entries.push_back(
        {numbers.sequences[at], slots_[at].op_hash, slots_[at].operation, numbers.finished[at]});
  }
  return entries;
}

Error find_blame(ControlPlane& control, const BlameQuestion& question) {
  return Walk(control, question).run();
}

std::optional<Error> mismatch_in_words(ControlPlane& control, int self, int peer,
                                       uint32_t sequence) {
  std::vector<FlightEntry> theirs;
  control.query(peer, Deadline::after_ns(kBlameNs), &theirs);
  const std::vector<FlightEntry> ours = control.recorder();
  const FlightEntry* their_entry = entry_of(theirs, sequence);
  const FlightEntry* our_entry = entry_of(ours, sequence);
  if (their_entry == nullptr || our_entry == nullptr) return std::nullopt;
  Error error = mismatch(calls_differ(sequence, self, *our_entry, peer, *their_entry));
  error.ranks = {peer, self};
  return error;
}

Error ended_by(int origin, Error error) {
  const std::string hint = std::exchange(error.hint, {});
  error.what = fmt::format("rank {} ended the operation: {}", origin, error.message());
  error.code = ErrorCode::kAborted;
  error.sys_errno = 0;
  error.hint = hint;
  const bool named = std::find(error.ranks.begin(), error.ranks.end(), origin) != error.ranks.end();
  if (!named) error.ranks.push_back(origin);
  return error;
}

}  // namespace plumbline
