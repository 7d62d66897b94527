#include "transport/traffic/rounds.h"

#include <algorithm>

namespace plumbline {

std::vector<std::vector<std::pair<size_t, size_t>>> disjoint_rounds(size_t places) {
  std::vector<std::vector<std::pair<size_t, size_t>>> rounds;
  const size_t even = places + places % 2;
  for (size_t round = 0; round + 1 < even; ++round) {
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t i = 0; i < even / 2; ++i) {
      // Place 0 stays, the others turn around it.
      const auto at = [&](size_t place) {
        return place == 0 ? size_t{0} : 1 + (place - 1 + round) % (even - 1);
      };
      const size_t a = at(i), b = at(even - 1 - i);
      if (a < places && b < places) pairs.emplace_back(std::min(a, b), std::max(a, b));
    }
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

}  // namespace plumbline
