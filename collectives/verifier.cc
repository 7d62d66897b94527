#include "collectives/verifier.h"

#include <sys/resource.h>

#include <algorithm>

#include "core/clock.h"

namespace plumbline {
namespace {

constexpr uint64_t kColdBytes = 64u << 20;  // rotate over at least this much memory when cold
constexpr size_t kMaxSlots = 64;
// Drawn operations of one stretch: so many that stops are rare where operations are short, and few
// enough that their arrays stay in a processor's larger caches.
constexpr uint64_t kDrawnBytes = 4u << 20;
constexpr uint64_t kMostDrawn = 256;
// Enough that no operation finds the data of the one before, few enough that an Operand keeps their
// patterns at hand.
constexpr uint32_t kSeeds = 4;

size_t drawn_slots(VerifyMode mode, uint64_t bytes, size_t in_flight) {
  if (mode == VerifyMode::kEvery) return in_flight;
  if (mode != VerifyMode::kSampled) return 0;
  return static_cast<size_t>(std::min(kMostDrawn, kDrawnBytes / std::max<uint64_t>(1, bytes)));
}

}  // namespace

VerifyMode verify_mode(const OptionSet& options, bool wanted) {
  if (!wanted) return VerifyMode::kNone;
  const std::string& word = options.text("verify");
  if (word == "every") return VerifyMode::kEvery;
  return word == "last" ? VerifyMode::kLast : VerifyMode::kSampled;
}

size_t in_flight_of(const Cell& cell) {
  const bool sustained = row(cell.kind).timing == CellTiming::kSustained;
  return sustained ? static_cast<size_t>(std::max(1, cell.outstanding)) : 1;
}

SlotCounts slots_of(const Cell& cell, VerifyMode mode) {
  SlotCounts slots;
  const CellTiming timing = row(cell.kind).timing;
  const bool sustained = timing == CellTiming::kSustained;
  const size_t in_flight = in_flight_of(cell);
  if (sustained) {
    slots.ordinary = in_flight;
  } else if (cell.cache == "cold" && cell.bytes > 0) {
    slots.ordinary =
        static_cast<size_t>(std::clamp<uint64_t>(kColdBytes / cell.bytes, 1, kMaxSlots));
  }
  const bool back_to_back = sustained || (cell.sync == "none" && timing != CellTiming::kNothing);
  if (back_to_back && mode != VerifyMode::kNone) {
    slots.check = in_flight + drawn_slots(mode, cell.bytes, in_flight);
  }
  return slots;
}

void Verifier::fill(size_t slot) {
  seed_ = seed_ % kSeeds + 1;
  seeds_[slot] = seed_;
  work_.fill(slot, seed_);
}

void Verifier::check(size_t slot) {
  const uint64_t wrong = work_.count_wrong(slot, seeds_[slot]);
  wrong_ += wrong;
  wrong_operations_ += wrong > 0 ? 1 : 0;
  ++verified_;
}

Usage& Usage::operator+=(const Usage& other) {
  cpu_ns += other.cpu_ns;
  switches += other.switches;
  involuntary += other.involuntary;
  return *this;
}

Usage operator-(Usage from, const Usage& what) {
  return from += {-what.cpu_ns, -what.switches, -what.involuntary};
}

Usage usage_now() {
  rusage raw{};
  getrusage(RUSAGE_SELF, &raw);
  const auto ns = [](const timeval& t) {
    return int64_t{t.tv_sec} * kSecond + int64_t{t.tv_usec} * 1000;
  };
  return {ns(raw.ru_utime) + ns(raw.ru_stime), raw.ru_nvcsw + raw.ru_nivcsw, raw.ru_nivcsw};
}

// Draws the operations of the next stretch that are verified besides its last ones; returns its
// last timed operation, which `in_flight() - 1` others follow. No more than `left` are to be timed.
uint64_t BackToBack::choose(uint64_t left) {
  drawn_.clear();
  if (s_.verifier->mode() == VerifyMode::kEvery) {
    const uint64_t last = std::min(left, in_flight());
    for (uint64_t i = 0; i < last; ++i) drawn_.push_back(i);
    return last;
  }
  if (s_.verifier->mode() != VerifyMode::kSampled) return left;
  const uint64_t own = s_.slots.check - in_flight();
  for (uint64_t i = 0; i < left; ++i) {
    if (!s_.verifier->chosen()) continue;
    if (drawn_.size() == own) return i;  // the last ones are verified too, so this one is
    drawn_.push_back(i);
  }
  return left;
}

// The last ones, as many as can be in flight, work on data of their own; so do those that were
// drawn. The rest take turns. Asked once for each operation, in order.
size_t BackToBack::slot_for(uint64_t index, uint64_t length) {
  const uint64_t k = in_flight(), last = length - std::min(length, k);
  const auto check = static_cast<size_t>(s_.slots.ordinary);
  if (s_.verifier->on() && index >= last) return check + static_cast<size_t>(index - last);
  if (used_ < drawn_.size() && drawn_[used_] == index) {
    return check + static_cast<size_t>(k) + used_++;
  }
  return static_cast<size_t>(index % s_.slots.ordinary);
}

void BackToBack::for_each_verified(uint64_t length, const std::function<void(size_t)>& use) const {
  if (!s_.verifier->on()) return;
  const UsageAside aside(*s_.aside);
  const auto k = static_cast<size_t>(in_flight());
  const size_t last = std::min(static_cast<size_t>(length), k);
  for (size_t i = 0; i < last; ++i) use(s_.slots.ordinary + i);
  for (size_t i = 0; i < drawn_.size(); ++i) use(s_.slots.ordinary + k + i);
}

Status BackToBack::meet(bool& leave) {
  std::vector<int64_t> values = {leave ? 1 : 0};
  const Status met = s_.exchange->max(values);
  leave = values[0] != 0;
  return met;
}

Status BackToBack::launch(uint64_t index, uint64_t length) {
  const size_t slot = slot_for(index, length);
  for (uint64_t repeat = 1; repeat < s_.aggregate; ++repeat) {
    const Status done = s_.work->run(slot, Deadline::after_ms(s_.timeout_ms));
    if (!done) return done;
  }
  return s_.work->start(static_cast<size_t>(index % in_flight()), slot);
}

// Operations 1 to length - k are timed, k in flight: until then each that ends has another behind
// it.
Status BackToBack::stretch(uint64_t length, bool& leave, std::vector<int64_t>& durations,
                           int64_t& window_ns) {
  for_each_verified(length, [&](size_t slot) { s_.verifier->fill(slot); });
  if (const Status met = meet(leave); !met || leave) return met;
  used_ = 0;
  const uint64_t k = in_flight(), last_timed = length - std::min(length, k);
  std::vector<int64_t> started(k);
  const int64_t timeout_ns = s_.timeout_ms * kMillisecond * static_cast<int64_t>(s_.aggregate);
  int64_t first_end = 0, now = monotonic_ns();
  for (uint64_t i = 0; i < length + k; ++i) {
    if (i >= k) {
      const uint64_t ended = i - k;
      // From the last look at the clock on, which is when the newest operation began: what looking
      // once more would cost is a part of an operation of less than a microsecond.
      const Status done =
          s_.work->wait(static_cast<size_t>(ended % k), Deadline::at_ns(now + timeout_ns));
      if (!done) return done;
      now = monotonic_ns();
      if (ended == 0) first_end = now;
      if (ended > 0 && ended <= last_timed) {
        durations.push_back((now - started[ended % k]) / static_cast<int64_t>(s_.aggregate));
      }
      if (ended == last_timed) window_ns += now - first_end;
    }
    if (i >= length) continue;
    started[i % k] = now;  // where one ends, the next begins
    if (const Status begun = launch(i, length); !begun) return begun;
  }
  s_.verifier->ran(length * s_.aggregate);
  if (s_.verifiable) for_each_verified(length, [&](size_t slot) { s_.verifier->check(slot); });
  return {};
}

Status BackToBack::timed(uint64_t count, const Enough& enough, std::vector<int64_t>& durations,
                         int64_t& window_ns) {
  durations.clear();
  window_ns = 0;
  bool leave = false;
  while (durations.size() < count && !leave) {
    leave = !durations.empty() && enough(durations.size());
    const uint64_t next = choose(count - durations.size()) + in_flight();
    if (const Status done = stretch(next, leave, durations, window_ns); !done) return done;
  }
  return {};
}

Status BackToBack::untimed(uint64_t count, const Enough& enough) {
  std::vector<int64_t> durations;
  int64_t window_ns = 0;
  bool leave = false;
  while (count > 0 && !leave) {
    leave = enough(0);
    const uint64_t k = std::min(count, in_flight());
    const uint64_t next = choose(count - k) + k;
    if (const Status done = stretch(next, leave, durations, window_ns); !done) return done;
    count -= next;
  }
  return {};
}

}  // namespace plumbline
