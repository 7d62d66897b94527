// Time. Measuring uses monotonic_ns(), which no clock adjustment can move; records carry wall time
// as RFC 3339 UTC. A Deadline is a point on the monotonic clock, so that it can be handed down
// through several waits without being restarted. Thread-safe.
#pragma once

#include <time.h>

#include <cstdint>
#include <limits>
#include <string>

namespace plumbline {

// Nanoseconds of CLOCK_MONOTONIC; zero point arbitrary, same for all processes of one boot.
inline int64_t monotonic_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

// The same clock as of the system's last tick, some milliseconds ago at most, for a fraction of the
// price: for ages that people read. CLOCK_MONOTONIC_COARSE (clock_gettime(2)) where there is one.
inline int64_t coarse_monotonic_ns() {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
#else
  return monotonic_ns();
#endif
}

constexpr int64_t kMillisecond = 1'000'000;  // ns
constexpr int64_t kSecond = 1'000'000'000;   // ns

class Deadline {
 public:
  static Deadline after_ns(int64_t ns) { return Deadline(monotonic_ns() + ns); }
  static Deadline after_ms(int64_t ms) { return after_ns(ms * kMillisecond); }
  static Deadline never() { return Deadline(std::numeric_limits<int64_t>::max()); }
  static Deadline at_ns(int64_t ns) { return Deadline(ns); }

  bool passed() const { return monotonic_ns() >= at_ns_; }
  int64_t at_ns() const { return at_ns_; }
  int64_t remaining_ns() const { return at_ns_ - monotonic_ns(); }
  // For poll(2): whole milliseconds, rounded up, 0 when passed, capped at `cap_ms`.
  int poll_timeout_ms(int cap_ms) const {
    const int64_t left = remaining_ns();
    if (left <= 0) return 0;
    const int64_t ms = (left + kMillisecond - 1) / kMillisecond;
    return ms < cap_ms ? static_cast<int>(ms) : cap_ms;
  }

 private:
  explicit Deadline(int64_t at) : at_ns_(at) {}
  int64_t at_ns_;
};

// "2026-11-20T05:06:07.123Z" now.
std::string utc_now_rfc3339();

// What the clock costs and resolves on this machine: medians over a short loop (< 1 ms).
struct ClockQuality {
  int64_t call_ns = 0;        // one monotonic_ns() call
  int64_t resolution_ns = 0;  // smallest step seen
};
ClockQuality measure_clock();

}  // namespace plumbline
