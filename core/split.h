// Groups of the ranks by colour, several at once, as NCCL_TESTS_SPLIT of nccl-tests makes them:
// `mod:N` gives rank r the colour r % N, `div:N` the colour r / N. Where ranks fill one host after
// the other, N to a host, div:N is the ranks of each host and mod:N one rank of every host. All
// groups are of one size, so that one bandwidth factor is that of all. The text is read here, where
// it enters. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

enum class SplitWay : uint8_t { kNone, kMod, kDiv };

struct SplitRow {
  SplitWay way;
  const char* name;
  const char* help;  // one line
};

std::span<const SplitRow> split_table();

inline constexpr const char* kNoSplit = "none";

struct Split {
  SplitWay way = SplitWay::kNone;
  int n = 1;

  bool operator==(const Split&) const = default;
  explicit operator bool() const { return way != SplitWay::kNone; }
};

// "none" and "" are no groups. kConfig for what is none of the table, or for an N that cannot be.
Expected<Split> parse_split(std::string_view text);
// "mod:2"; "none".
std::string to_string(const Split& split);

// Why so many ranks have no such groups, and what would work; empty = they do.
std::string split_unsupported(const Split& split, int ranks);

// Of ranks that have such groups.
int colour_of(const Split& split, int rank);
int group_size(const Split& split, int ranks);
// The ranks of this one's group, in their order; itself among them.
std::vector<int> members_of(const Split& split, int ranks, int rank);

}  // namespace plumbline
