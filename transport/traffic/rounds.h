// Who may send at the same time without being in another's way: the circle method of round-robin
// tournaments (Kirkman 1847; de Werra, "Scheduling in sports", 1981). Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace plumbline {

// Rounds of unordered pairs, the smaller first: each place at most once in a round, and every pair
// once in all of them: places - 1 rounds where these are even, else as many as places.
std::vector<std::vector<std::pair<size_t, size_t>>> disjoint_rounds(size_t places);

}  // namespace plumbline
