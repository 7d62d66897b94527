// Numbers that another host or a file says, checked where they enter the evidence, so that nothing
// that is reckoned from them overflows: differences and sums of a few stay in 64 bits. Pure
// functions, thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace plumbline {

// Throws nlohmann::json::exception, which names the key, where a number is beyond 2^53 in size,
// or beyond 2^61 for times in ns ("took_ns") and counters of the kernel, or where a size or count
// that is kept as an int is negative or beyond 2^30.
void check_numbers(const nlohmann::json& said);

// The counters of a reply to "counters", by name; what is no whole number from 0 to 2^61 is no
// count and is left out.
std::map<std::string, int64_t> counts_of(const nlohmann::json& reply);

// "512 KiB"; "0 B" for a size below 0, which no host has.
std::string describe_size(int64_t bytes);

}  // namespace plumbline
