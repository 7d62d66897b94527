#include "reports/cell_words.h"

#include <fmt/format.h>

namespace plumbline {

std::vector<std::string> variant_words(const Cell& cell) {
  static const Cell kUsual;
  std::vector<std::string> words;
  if (cell.engine != kUsual.engine) words.push_back(cell.engine);
  if (cell.sync != kUsual.sync) words.push_back("sync " + cell.sync);
  if (cell.cache != kUsual.cache) words.push_back("cache " + cell.cache);
  if (cell.outstanding != kUsual.outstanding) {
    words.push_back(fmt::format("{} {}", cell.outstanding, word_of_outstanding(cell)));
  }
  if (cell.root > 0) words.push_back(fmt::format("root {}", cell.root));
  if (cell.rate_bps > 0) {
    words.push_back(fmt::format("{:g} Mbit/s", static_cast<double>(cell.rate_bps) * 1e-6));
  }
  if (cell.repeat > 0) words.push_back(fmt::format("repetition {}", cell.repeat));
  if (!cell.hosts.empty()) words.push_back("on " + cell.hosts);
  if (!cell.distribution.empty()) words.push_back(cell.distribution);
  for (const auto& [name, value] : cell.params) words.push_back(name + "=" + value);
  return words;
}

const char* word_of_outstanding(const Cell& cell) {
  return cell.kind == CellKind::kLink ? "streams" : "in flight";
}

std::string ranges_text(const std::set<int>& numbers) {
  std::string text;
  for (auto it = numbers.begin(); it != numbers.end();) {
    const int first = *it;
    int last = first;
    while (++it != numbers.end() && *it == last + 1) last = *it;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

}  // namespace plumbline
