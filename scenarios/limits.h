// How large a scenario may get before it is taken for a mistake. Plain constants.
#pragma once

#include <cstddef>

namespace plumbline {

inline constexpr size_t kMaxListLength = 1000;  // elements of one list in the file
inline constexpr size_t kMaxRangeSizes = 1000;  // sizes that one range may expand to
inline constexpr size_t kMaxPlanCells = 100'000;
inline constexpr int kMaxIncludeDepth = 8;

}  // namespace plumbline
