// 128-bit whole numbers, for quotients of large products without rounding on the way.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

// NOLINTNEXTLINE(modernize-use-using): `using` cannot carry the __extension__ that -Wpedantic wants
__extension__ typedef unsigned __int128 Wide;

// numerator / denominator as decimal text with exactly `digits` digits behind the point, cut off
// and not rounded, the same text on every machine. Needs denominator > 0, digits >= 1 and
// denominator < 2^64.
std::string decimal_text(Wide numerator, Wide denominator, int digits);

}  // namespace plumbline
