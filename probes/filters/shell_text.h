// Building blocks of remedies: command lines in which nothing that a ruleset or a user wrote can
// become a command of its own (words for the shell: core/shell_words.h). Pure functions,
// thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace plumbline {

// May stand in a command of nft, which parses its arguments once more: letters, digits, "_-./\"
// only.
bool is_nft_name(const std::string& text);
// No control characters, so that it stays one line; not empty, no option.
bool is_one_word(const std::string& text);

// Consecutive ports as ranges, ascending, each port once; those outside 1-65535 are left out.
std::vector<std::pair<int, int>> port_ranges(std::vector<int> ports);
// "29500,29600:29603" with ':' as `to`.
std::string join_ranges(const std::vector<std::pair<int, int>>& ranges, char to,
                        const std::string& between);
// In parts of at most `most` ports, where a range counts as two: limit of iptables' multiport and
// of ufw.
std::vector<std::vector<std::pair<int, int>>> split_ranges(
    const std::vector<std::pair<int, int>>& ranges, size_t most);

}  // namespace plumbline
