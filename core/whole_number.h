// Doubles as whole numbers: a plain cast of what is too large, or is no number, is undefined.
#pragma once

#include <cstdint>
#include <limits>

namespace plumbline {

// Cut off towards zero; the nearest that there is for what is too large; 0 for what is no number.
inline int64_t whole_number_of(double number) {
  using Limits = std::numeric_limits<int64_t>;
  constexpr double kEnd = 9223372036854775808.0;  // 2^63, the first one too large
  if (number != number) return 0;
  if (number >= kEnd) return Limits::max();
  return number < -kEnd ? Limits::min() : static_cast<int64_t>(number);
}

}  // namespace plumbline
