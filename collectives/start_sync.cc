#include "collectives/start_sync.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace plumbline {
namespace {

// A sample that some rank started late: larger than any time, so a maximum keeps it.
constexpr int64_t kLate = std::numeric_limits<int64_t>::max();

// The part of an operation's time that clock error and a late start may make up.
constexpr double kErrorShare = 0.1;
// ... but comparing clocks again is of no use before the bound has grown by this much.
constexpr double kStaleFactor = 1.5;
// ... or this, so that ranks that share a core may take turns, which costs a few us. Whoever lost
// its core to others is gone for longer.
constexpr int64_t kLeastToleranceNs = 20'000;
// The window opens after so many times what an announcement took until the last rank had it.
constexpr int64_t kWindowFactor = 3;
constexpr int64_t kLeastWindowNs = 20'000;
constexpr int64_t kMostWindowNs = kSecond;
constexpr int64_t kWidest = 16;    // times the first one, when too many ranks come late
constexpr int kAnnouncements = 9;  // measured to find the first window
constexpr int kFirstRounds = 3;    // of exchanges, before the first window
constexpr int kMostRounds = 6;     // until every rank's clock is known
// Waiting ranks sleep until so long before the start, then look at the clock.
constexpr int64_t kSpinNs = 200'000;

class NoSync : public StartSync {
 public:
  bool apart() const override { return false; }
  Status begin() override {
    start_ = monotonic_ns();
    return {};
  }
  int64_t end() override { return monotonic_ns() - start_; }

 private:
  int64_t start_ = 0;
};

class BarrierSync : public StartSync {
 public:
  explicit BarrierSync(Exchange& exchange) : exchange_(exchange) {}
  Status begin() override {
    const Status ready = exchange_.barrier();
    start_ = monotonic_ns();
    return ready;
  }
  int64_t end() override { return monotonic_ns() - start_; }

 private:
  Exchange& exchange_;
  int64_t start_ = 0;
};

class WindowSync : public StartSync {
 public:
  WindowSync(Group& group, Exchange& exchange, ClockSync& clocks, int64_t timeout_ms)
      : group_(group), exchange_(exchange), clocks_(clocks), timeout_ms_(timeout_ms) {}

  // All decisions are taken by all ranks on the same numbers.
  Status before_block() override {
    if (window_ns_ == 0) return prepare();
    const auto late = std::count(late_.begin(), late_.end(), true);
    std::vector<int64_t> view = {error_now(), late, typical_own()};
    const auto operations = static_cast<int64_t>(late_.size());
    late_.clear();
    times_.clear();
    errors_.clear();
    if (const Status agreed = exchange_.max(view); !agreed) return agreed;
    if (2 * view[1] > operations) window_ns_ = std::min(2 * window_ns_, widest_ns_);
    if (operations > 0) typical_ns_ = view[2];
    const double tolerable = std::max(kErrorShare * static_cast<double>(typical_ns_),
                                      kStaleFactor * static_cast<double>(fresh_error_ns_));
    return static_cast<double>(view[0]) > tolerable ? compare() : Status{};
  }

  Status begin() override {
    if (const Status ready = exchange_.barrier(); !ready) return ready;
    global_start_ = clocks_.to_global(clocks_.now()) + window_ns_;
    if (const Status told = exchange_.from_rank_zero(global_start_); !told) return told;
    const int64_t start = clocks_.to_own(global_start_);
    const int64_t left = start - clocks_.now();
    // The start was announced in the past, so it cannot be farther away: a clock has jumped, and
    // waiting for it could take for ever. The next comparison will tell.
    const bool credible = static_cast<double>(left - window_ns_) <=
                          2 * clocks_.at(start).error_ns + static_cast<double>(kLeastToleranceNs);
    if (credible) wait_until(start, left);
    // Whoever lost its core while it waited is late too, and whose clock went back has not waited.
    const int64_t past = clocks_.now() - start;
    late_.push_back(left < 0 || !credible || past < 0 || past > tolerance());
    return {};
  }

  int64_t end() override {
    const int64_t now = clocks_.now();
    const ClockOffset offset = clocks_.at(now);
    errors_.push_back(offset.error_ns);
    times_.push_back(std::max<int64_t>(now + offset.offset_ns - global_start_, 1));
    return times_.back();
  }

  void mark_late(std::vector<int64_t>& durations) override {
    for (size_t i = 0; i < durations.size() && i < late_.size(); ++i) {
      if (late_[i]) durations[i] = kLate;
    }
  }

  void drop_late(std::vector<int64_t>& slowest, std::vector<int64_t>& own) override {
    size_t kept = 0;
    for (size_t i = 0; i < slowest.size(); ++i) {
      if (slowest[i] == kLate) continue;
      worst_error_ns_ = std::max(worst_error_ns_, errors_[i]);
      slowest[kept] = slowest[i];
      own[kept++] = own[i];
    }
    dropped_ += slowest.size() - kept;
    slowest.resize(kept);
    own.resize(kept);
  }

  Status describe(Measurement& result) override;

 private:
  // Clocks and the time that an announcement takes, from scratch.
  Status prepare() {
    for (int i = 0; i < kMostRounds; ++i) {
      if (const Status done = clocks_.round(timeout_ms_); !done) return done;
      std::vector<int64_t> unknown = {clocks_.ready() ? 0 : 1};
      if (const Status agreed = exchange_.max(unknown); !agreed) return agreed;
      if (unknown[0] == 0 && i + 1 >= kFirstRounds) break;
    }
    if (const Status done = compare(); !done) return done;
    breaks_before_ = clocks_.breaks();  // what jumped between two cells does not matter here
    std::vector<int64_t> took;
    for (int i = 0; i < kAnnouncements; ++i) {
      if (const Status ready = exchange_.barrier(); !ready) return ready;
      int64_t announced = clocks_.to_global(clocks_.now());
      if (const Status told = exchange_.from_rank_zero(announced); !told) return told;
      took.push_back(clocks_.to_global(clocks_.now()) - announced);
    }
    if (const Status agreed = exchange_.max(took); !agreed) return agreed;
    std::sort(took.begin(), took.end());
    window_ns_ = std::clamp(kWindowFactor * took[took.size() / 2], kLeastWindowNs, kMostWindowNs);
    widest_ns_ = kWidest * window_ns_;
    return {};
  }

  Status compare() {
    if (const Status done = clocks_.round(timeout_ms_); !done) return done;
    std::vector<int64_t> view = {error_now()};
    const Status agreed = exchange_.max(view);
    fresh_error_ns_ = view[0];
    return agreed;
  }

  int64_t error_now() const {
    return static_cast<int64_t>(std::ceil(clocks_.at(clocks_.now()).error_ns));
  }

  int64_t typical_own() const {
    if (times_.empty()) return 0;
    std::vector<int64_t> times = times_;
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
  }

  // A start is not later than the clocks can tell, or than what matters to the sample.
  int64_t tolerance() const {
    return std::max({static_cast<int64_t>(kErrorShare * static_cast<double>(typical_ns_)),
                     fresh_error_ns_, kLeastToleranceNs});
  }

  // `before`: how far it was when that was last looked at.
  void wait_until(int64_t start, int64_t before) const {
    while (true) {
      const int64_t left = start - clocks_.now();
      if (left <= 0 || left > before) return;  // a clock that goes back is not waited for either
      before = left;
      if (left > kSpinNs) {
        const timespec time{0, static_cast<long>(std::min(left - kSpinNs, kSecond - 1))};
        ::nanosleep(&time, nullptr);
      } else if (group_.wait_options().yield) {
        ::sched_yield();
      }
    }
  }

  Group& group_;
  Exchange& exchange_;
  ClockSync& clocks_;
  int64_t timeout_ms_;
  int64_t window_ns_ = 0;  // 0 = nothing measured yet
  int64_t widest_ns_ = 0;
  int64_t global_start_ = 0;
  int64_t fresh_error_ns_ = 0;  // largest bound of any rank when clocks were compared last
  int64_t typical_ns_ = 0;      // of the block before, slowest rank
  double worst_error_ns_ = 0;   // this rank's, at any sample that was kept
  uint64_t dropped_ = 0;
  int breaks_before_ = 0;
  std::vector<bool> late_;      // of this block, by operation
  std::vector<int64_t> times_;  // of this block, this rank's, late ones too
  std::vector<double> errors_;  // of the translations of this block's ends, ns
};

// A last comparison tells whether the clocks kept to what they were taken for until the end.
Status WindowSync::describe(Measurement& result) {
  if (const Status done = compare(); !done) return done;
  const ClockOffset offset = clocks_.at(clocks_.now());
  const ClockDrift drift = clocks_.drift();
  std::vector<int64_t> view = {
      static_cast<int64_t>(std::ceil(worst_error_ns_)), std::llround(std::abs(drift.ppm) * 1000),
      std::llround(drift.error_ppm * 1000), clocks_.breaks() - breaks_before_, window_ns_};
  if (const Status agreed = exchange_.max(view); !agreed) return agreed;
  result.extra[kClockError] = static_cast<double>(view[0]);
  result.extra[kClockDrift] = static_cast<double>(view[1]) / 1000;
  result.extra[kClockDriftError] = static_cast<double>(view[2]) / 1000;
  result.extra[kClockBreaks] = static_cast<double>(view[3]);
  result.extra[kWindow] = static_cast<double>(view[4]);
  result.extra[kLateSamples] = static_cast<double>(dropped_);
  for (PerRank& mine : result.per_rank) {
    mine.clock_offset_ns = static_cast<double>(offset.offset_ns);
    mine.clock_error_ns = offset.error_ns;
  }
  return {};
}

}  // namespace

Expected<Executor::Prepared*> Exchange::prepared_for(Op op, RedOp redop, size_t capacity) {
  const auto key = std::tuple{op, redop, capacity};
  const auto found = prepared_.find(key);
  if (found != prepared_.end()) return found->second.get();
  OperationSpec spec;
  spec.op = op;
  spec.dtype = DType::kI64;
  spec.redop = redop;
  spec.count = capacity;
  spec.in_place = op != Op::kBarrier;
  Expected<Executor::PreparedPtr> prepared = executor_.prepare(spec);
  if (!prepared) return fail(prepared.error());
  return prepared_.emplace(key, std::move(*prepared)).first->second.get();
}

Status Exchange::combine(std::vector<int64_t>& values, RedOp redop) {
  const size_t capacity = std::bit_ceil(std::max<size_t>(values.size(), 8));
  const Expected<Executor::Prepared*> prepared = prepared_for(Op::kAllreduce, redop, capacity);
  if (!prepared) return fail(prepared.error());
  padded_.assign(capacity, 0);
  std::copy(values.begin(), values.end(), padded_.begin());
  const Status done =
      executor_.run(**prepared, nullptr, padded_.data(), Deadline::after_ms(timeout_ms_));
  if (done) std::copy_n(padded_.begin(), values.size(), values.begin());
  return done;
}

Status Exchange::barrier() {
  const Expected<Executor::Prepared*> prepared = prepared_for(Op::kBarrier, RedOp::kSum, 0);
  if (!prepared) return fail(prepared.error());
  return executor_.run(**prepared, nullptr, nullptr, Deadline::after_ms(timeout_ms_));
}

Status Exchange::from_rank_zero(int64_t& value) {
  const Expected<Executor::Prepared*> prepared = prepared_for(Op::kBroadcast, RedOp::kSum, 1);
  if (!prepared) return fail(prepared.error());
  return executor_.run(**prepared, nullptr, &value, Deadline::after_ms(timeout_ms_));
}

Status Exchange::follow_rank_zero() {
  int64_t nothing = 0;
  return from_rank_zero(nothing);
}

std::unique_ptr<StartSync> make_start_sync(const std::string& sync, Group& group,
                                           Exchange& exchange, ClockSync& clocks,
                                           int64_t timeout_ms) {
  if (sync == "none") return std::make_unique<NoSync>();
  if (sync == "barrier") return std::make_unique<BarrierSync>(exchange);
  if (sync == "window") {
    return std::make_unique<WindowSync>(group, exchange, clocks, timeout_ms);
  }
  return nullptr;
}

}  // namespace plumbline
