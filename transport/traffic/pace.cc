#include "transport/traffic/pace.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/clock.h"

namespace plumbline {
namespace {

constexpr int64_t kLongestNap = 20 * kMillisecond;

}  // namespace

Pace::Pace(int64_t gap_ns, int most_behind)
    : gap_ns_(gap_ns), behind_ns_(gap_ns * most_behind), due_ns_(monotonic_ns()) {}

bool Pace::wait() const {
  const int64_t early = due_ns_ - monotonic_ns();
  if (early <= 0) return true;
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(early, kLongestNap)));
  return monotonic_ns() >= due_ns_;
}

void Pace::next() { due_ns_ = std::max(due_ns_ + gap_ns_, monotonic_ns() - behind_ns_); }

}  // namespace plumbline
