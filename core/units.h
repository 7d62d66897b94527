// Sizes, durations and rates as people write and read them. Inside the program everything is SI
// base units: bytes, nanoseconds, bytes per second. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace plumbline {

// Sizes as scenarios and options give them: "64", "64Ki", "16Mi", "2Gi", "1e6". K, M and G mean the
// same as Ki, Mi and Gi, as with `coll` (upper or lower case).
Expected<uint64_t> parse_bytes(std::string_view text);
// nccl-tests sizes: K, M, G = 2^10, 2^20, 2^30 (upper or lower case, "128M"); plain numbers too.
Expected<uint64_t> parse_bytes_nccl(std::string_view text);
// "2s", "500ms", "100us", "50ns", "1.5m", "1h" -> nanoseconds. A number without unit is refused.
Expected<int64_t> parse_duration(std::string_view text);
// Link speeds: "40Gbit", "2.5Gbit", "100Mbit" -> bits per second; the units are Kbit, Mbit, Gbit
// and Tbit, 10^3 each.
Expected<double> parse_bit_rate(std::string_view text);

// Shares: "2%" or "0.02" -> 0.02.
Expected<double> parse_share(std::string_view text);

// "8 B", "1 KiB", "1.5 MiB": exact where the number is, else at most three significant digits.
std::string format_bytes(uint64_t bytes);
// "950 ns", "4.21 us", "1.3 ms", "2 s": three significant digits.
std::string format_duration(double ns);
// "5.63 GB/s": 10^9 bytes per second and its neighbours, three significant digits.
std::string format_rate(double bytes_per_second);

}  // namespace plumbline
