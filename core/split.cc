#include "core/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/number.h"
#include "core/op.h"
#include "core/text.h"

namespace plumbline {
namespace {

// In the order of the enum.
constexpr std::array kSplits = {
    SplitRow{SplitWay::kNone, kNoSplit, "all ranks are one group"},
    SplitRow{SplitWay::kMod, "mod", "mod:N, the colour of rank r is r % N"},
    SplitRow{SplitWay::kDiv, "div", "div:N, the colour of rank r is r / N: groups of N neighbours"},
};

constexpr int kMostColours = 1024;

Error unknown_split(std::string_view name) {
  std::vector<std::string> names;
  for (const SplitRow& row : kSplits) names.emplace_back(row.name);
  return {ErrorCode::kConfig, fmt::format("unknown split {}", in_quotes(std::string(name))), 0,
          near_or(std::string(name), names, "use none, mod:N or div:N"), ""};
}

// What the numbers of groups and of their ranks come to; both at least 2.
std::string choices_for(SplitWay way, int ranks) {
  std::string text;
  for (int n = 2; 2 * n <= ranks; ++n) {
    if (ranks % n != 0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(Split{way, n}));
  }
  return text;
}

}  // namespace

std::span<const SplitRow> split_table() { return kSplits; }

Expected<Split> parse_split(std::string_view text) {
  if (text.empty()) return Split{};
  const size_t mark = text.find(kParameterMark);
  const std::string_view name = text.substr(0, mark);
  const auto* const found = std::find_if(kSplits.begin(), kSplits.end(),
                                         [name](const SplitRow& row) { return name == row.name; });
  if (found == kSplits.end()) return fail(unknown_split(name));
  const bool has_number = mark != std::string_view::npos;
  if (found->way == SplitWay::kNone) {
    if (!has_number) return Split{};
    return fail(ErrorCode::kConfig, "split none takes no number", "write none");
  }
  const std::string number(has_number ? text.substr(mark + 1) : std::string_view());
  const std::optional<int> n = parse_whole(number, 1, kMostColours);
  if (n) return Split{found->way, *n};
  return fail(ErrorCode::kConfig,
              fmt::format("split {} needs a number from 1 to {}, not {}", name, kMostColours,
                          in_quotes(number)),
              fmt::format("write {}:2, for example", name));
}

std::string to_string(const Split& split) {
  const char* name = kSplits[static_cast<size_t>(split.way)].name;
  return split ? fmt::format("{}{}{}", name, kParameterMark, split.n) : name;
}

std::string split_unsupported(const Split& split, int ranks) {
  if (!split) return {};
  const bool even = split.n > 1 && ranks % split.n == 0 && ranks / split.n > 1;
  if (even) return {};
  const std::string choices = choices_for(split.way, ranks);
  return fmt::format("{} does not part {} rank{} into several equal groups of 2 or more: use {}",
                     to_string(split), ranks, ranks == 1 ? "" : "s",
                     choices.empty() ? "none, or other numbers of ranks" : choices + ", or none");
}

int colour_of(const Split& split, int rank) {
  if (!split) return 0;
  return split.way == SplitWay::kMod ? rank % split.n : rank / split.n;
}

int group_size(const Split& split, int ranks) {
  if (!split) return ranks;
  return split.way == SplitWay::kMod ? ranks / split.n : split.n;
}

std::vector<int> members_of(const Split& split, int ranks, int rank) {
  std::vector<int> members;
  for (int other = 0; other < ranks; ++other) {
    if (colour_of(split, other) == colour_of(split, rank)) members.push_back(other);
  }
  return members;
}

}  // namespace plumbline
