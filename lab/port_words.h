// Ports as nft and people write them: "29500,29600-29603". Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace plumbline {

// Sorted, each port once.
Expected<std::vector<int>> parse_ports(const std::string& text);
// Runs of neighbours as ranges, joined by `comma`, with `dash` inside a range.
std::string port_words(const std::vector<int>& ports, const char* comma = ",",
                       const char* dash = "-");
// First and last of each run of neighbours.
std::vector<std::pair<int, int>> port_runs(const std::vector<int>& ports);

}  // namespace plumbline
