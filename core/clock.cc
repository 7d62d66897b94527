#include "core/clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

namespace plumbline {

std::string utc_now_rfc3339() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 40> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + length, text.size() - length, ".%03dZ", static_cast<int>(millis));
  return text.data();
}

ClockQuality measure_clock() {
  constexpr int kCalls = 2000;
  ClockQuality quality;
  quality.resolution_ns = kSecond;
  const int64_t start = monotonic_ns();
  int64_t last = start;
  for (int i = 0; i < kCalls; ++i) {
    const int64_t now = monotonic_ns();
    if (now > last) quality.resolution_ns = std::min(quality.resolution_ns, now - last);
    last = now;
  }
  quality.call_ns = std::max<int64_t>(1, (last - start) / kCalls);
  return quality;
}

}  // namespace plumbline
