// Names what differs between the configurations of two ranks. Pure functions, thread-safe.
#pragma once

#include <string>

namespace plumbline {

// The keys of two "key=value\n" texts that differ, both values with them: "transport_crc: rank 0
// has off, rank 1 has on". A few at most; empty = none. The texts may come from anybody.
std::string config_differences(const std::string& a, int rank_a, const std::string& b, int rank_b);

}  // namespace plumbline
