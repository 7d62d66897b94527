#include "core/stats/floor.h"

namespace plumbline {

std::optional<Floor> floor_in(const Measurement& measurement) {
  constexpr double kLargest = 9007199254740992.0;  // 2^53: doubles count up to here
  for (const FloorRow& row : kFloors) {
    const auto found = measurement.extra.find(row.key);
    if (found == measurement.extra.end()) continue;
    if (!(found->second >= 1 && found->second <= kLargest)) return std::nullopt;
    return Floor{row.manner, static_cast<uint64_t>(found->second)};
  }
  return std::nullopt;
}

}  // namespace plumbline
