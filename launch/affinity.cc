#include "launch/affinity.h"

namespace plumbline {

std::vector<int> choose_cpus(const std::string& mode, const std::vector<int>& cpus, int ranks,
                             int offset) {
  std::vector<int> chosen(static_cast<size_t>(ranks), -1);
  const bool enough = static_cast<size_t>(ranks) <= cpus.size();
  if (mode == "none" || cpus.empty() || (mode == "auto" && !enough)) return chosen;
  // Where all are taken anyway, there is nothing to choose, and whoever bound this program to some
  // knows which rank has which.
  const size_t first = chosen.size() == cpus.size() ? 0 : static_cast<size_t>(offset);
  for (size_t rank = 0; rank < chosen.size(); ++rank) {
    chosen[rank] = cpus[(first + rank) % cpus.size()];
  }
  return chosen;
}

bool cores_for_second_threads(int cores, int ranks) { return cores > 2 * ranks; }

std::vector<int> choose_spare_cpus(const std::string& mode, const std::vector<int>& cpus, int ranks,
                                   int offset) {
  if (2 * static_cast<size_t>(ranks) > cpus.size()) {
    return std::vector<int>(static_cast<size_t>(ranks), -1);
  }
  return choose_cpus(mode, cpus, ranks, offset + ranks);
}

std::string cpu_ranges(const std::vector<int>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i) text += '-' + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace plumbline
