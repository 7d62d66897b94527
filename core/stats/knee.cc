#include "core/stats/knee.h"

#include <cmath>

namespace plumbline {
namespace {

constexpr size_t kFewestPoints = 3;

bool is_sound(const LoadPoint& point) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  return positive(point.load) && positive(point.rate) && positive(point.time_ns);
}

}  // namespace

std::optional<Knee> knee_of(std::span<const LoadPoint> points) {
  Knee knee;
  size_t sound = 0, last = 0;
  double most = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!is_sound(points[i])) continue;
    ++sound;
    last = i;
    const double power = points[i].rate / points[i].time_ns;
    if (power <= most) continue;
    most = power;
    knee.index = i;
  }
  if (sound < kFewestPoints) return std::nullopt;
  knee.at_end = knee.index == last;
  return knee;
}

}  // namespace plumbline
