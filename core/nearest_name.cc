#include <algorithm>

#include "core/lower_case.h"
#include "core/options/options.h"

namespace plumbline {
namespace {

char fold(char c) {
  if (c == '-') return '_';
  return lower_case(c);
}

// Optimal string alignment: insert, delete, replace, and swap of two neighbours cost 1 each; case
// and '-' against '_' cost nothing.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = last[j - 1] + (fold(a[i - 1]) == fold(b[j - 1]) ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replace});
      const bool swapped =
          i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]);
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

bool starts_with_folded(std::string_view text, std::string_view start) {
  return start.size() <= text.size() &&
         std::equal(start.begin(), start.end(), text.begin(),
                    [](char x, char y) { return fold(x) == fold(y); });
}

constexpr size_t kLongestName = 100;  // longer input is no misspelt name; keeps the cost bounded
constexpr size_t kShortestStart = 3;  // letters that must be there before a beginning is a hint

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> valid) {
  if (name.empty() || name.size() > kLongestName) return {};
  // A third of the letters may be wrong: one in "smu", three in "chunksbyts".
  const size_t allowed = std::max<size_t>(1, name.size() / 3);
  const std::string* best = nullptr;
  size_t best_distance = allowed + 1;
  for (const std::string& candidate : valid) {
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best != nullptr) return *best;
  if (name.size() < kShortestStart) return {};
  for (const std::string& candidate : valid) {
    if (starts_with_folded(candidate, name)) return candidate;
  }
  return {};
}

}  // namespace plumbline
