// Ports as words of remedies: ranges, lists of them, lists that are no longer than a tool takes.
// Pure functions, thread-safe.
#pragma once

#include <utility>
#include <vector>

#include "core/diagnosis/word.h"

namespace plumbline {

// Consecutive ports as ranges, ascending, each port once; those outside 1-65535 are left out.
std::vector<std::pair<int, int>> port_ranges(std::vector<int> ports);
// "29500,29600:29603" with ":" as `to`.
Word ports_word(const std::vector<std::pair<int, int>>& ranges, const Word& to,
                const Word& between);
// In parts of at most `most` ports, where a range counts as two: limit of iptables' multiport and
// of ufw.
std::vector<std::vector<std::pair<int, int>>> split_ranges(
    const std::vector<std::pair<int, int>>& ranges, size_t most);

}  // namespace plumbline
