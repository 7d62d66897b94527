#include "probes/filters/port_words.h"

#include <algorithm>

namespace plumbline {
std::vector<std::pair<int, int>> port_ranges(std::vector<int> ports) {
  std::sort(ports.begin(), ports.end());
  std::vector<std::pair<int, int>> ranges;
  for (const int port : ports) {
    if (port < 1 || port > 65535) continue;
    if (!ranges.empty() && port <= ranges.back().second + 1) {
      ranges.back().second = port;
    } else {
      ranges.emplace_back(port, port);
    }
  }
  return ranges;
}

Word ports_word(const std::vector<std::pair<int, int>>& ranges, const Word& to,
                const Word& between) {
  Word word = "";
  for (const auto& [first, last] : ranges) {
    if (!word.text().empty()) word = word + between;
    word = word + port_word(first);
    if (last != first) word = word + to + port_word(last);
  }
  return word;
}

std::vector<std::vector<std::pair<int, int>>> split_ranges(
    const std::vector<std::pair<int, int>>& ranges, size_t most) {
  std::vector<std::vector<std::pair<int, int>>> parts;
  size_t used = most;
  for (const auto& range : ranges) {
    const size_t size = range.first == range.second ? 1 : 2;
    if (used + size > most) {
      parts.emplace_back();
      used = 0;
    }
    parts.back().push_back(range);
    used += size;
  }
  return parts;
}

}  // namespace plumbline
