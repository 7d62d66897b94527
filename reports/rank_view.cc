
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/stats/stats.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

constexpr int kMostRanks = 1024;  // of one world; more is no cluster that this page is for

// Operations in which every rank has the same work.
bool is_even(const Cell& cell) {
  const bool timed = row(cell.kind).timing == CellTiming::kEach;
  return timed && (cell.op == "barrier" || is_two_way(cell.op));
}

// What each rank has, over what the rank in the middle has; empty unless all ranks have it.
std::vector<double> ratios_of(const std::vector<PerRank>& ranks,
                              const std::optional<double> PerRank::*field) {
  std::vector<double> values;
  for (const PerRank& rank : ranks) {
    const std::optional<double>& value = rank.*field;
    if (!value || !(*value > 0) || !std::isfinite(*value)) return {};
    values.push_back(*value);
  }
  const double middle = median(values);
  for (double& value : values) value /= middle;
  return values;
}

void keep_least(const std::optional<uint64_t>& bytes, std::optional<uint64_t>& least) {
  if (bytes) least = std::min(least.value_or(*bytes), *bytes);
}

void add_cell(const std::vector<PerRank>& ranks, RankWorld& world) {
  const std::vector<double> p50 = ratios_of(ranks, &PerRank::p50);
  const std::vector<double> p99 = ratios_of(ranks, &PerRank::p99);
  const std::vector<double> mean = ratios_of(ranks, &PerRank::mean);
  if (p50.empty()) return;
  ++world.cells;
  const auto slowest = static_cast<size_t>(std::max_element(p50.begin(), p50.end()) - p50.begin());
  const auto fastest = static_cast<size_t>(std::min_element(p50.begin(), p50.end()) - p50.begin());
  world.standings.resize(std::max(world.standings.size(), ranks.size()));
  for (size_t i = 0; i < ranks.size(); ++i) {
    RankStanding& standing = world.standings[i];
    standing.rank = ranks[i].rank;
    standing.host = clean(ranks[i].host);
    standing.p50_ratios.push_back(p50[i]);
    if (!p99.empty()) standing.p99_ratios.push_back(p99[i]);
    if (!mean.empty()) standing.mean_ratios.push_back(mean[i]);
    standing.slowest_in += i == slowest ? 1 : 0;
    standing.fastest_in += i == fastest ? 1 : 0;
    standing.cpu_ns += std::max<int64_t>(0, ranks[i].cpu_ns);
    standing.context_switches += std::max<int64_t>(0, ranks[i].context_switches);
    standing.wire_bytes += ranks[i].wire_bytes;
    standing.retransmits += ranks[i].retransmits;
    if (ranks[i].counters) {
      if (!standing.counters) standing.counters.emplace();
      *standing.counters += *ranks[i].counters;
    }
    keep_least(ranks[i].send_buffer_bytes, standing.send_buffer_bytes);
    keep_least(ranks[i].recv_buffer_bytes, standing.recv_buffer_bytes);
  }
}

}  // namespace

std::vector<RankWorld> rank_worlds(const View& view) {
  std::vector<RankWorld> worlds;
  std::map<WorldKey, size_t> index;
  for (const Item& item : view.items) {
    const Cell& cell = item.record->cell;
    const std::vector<PerRank>& ranks = item.record->measurement.per_rank;
    if (!item.valid() || !is_even(cell) || ranks.size() < 2 || ranks.size() > kMostRanks) continue;
    if (static_cast<int>(ranks.size()) != cell.ranks) continue;
    const auto [found, fresh] = index.try_emplace(world_key(*item.record), worlds.size());
    if (fresh) {
      RankWorld& world = worlds.emplace_back();
      world.ranks = cell.ranks;
      world.title = world_title(*item.record);
    }
    add_cell(ranks, worlds[found->second]);
  }
  std::erase_if(worlds, [](const RankWorld& world) { return world.cells == 0; });
  for (RankWorld& world : worlds) {
    for (RankStanding& standing : world.standings) {
      std::sort(standing.p50_ratios.begin(), standing.p50_ratios.end());
      std::sort(standing.p99_ratios.begin(), standing.p99_ratios.end());
      std::sort(standing.mean_ratios.begin(), standing.mean_ratios.end());
    }
  }
  return worlds;
}

std::string ratio_text(double ratio) {
  constexpr double kLarge = 10;
  return ratio < kLarge ? fmt::format("{:.3f}", ratio) : fmt::format("{:.1f}", ratio);
}

double sorted_quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace plumbline
