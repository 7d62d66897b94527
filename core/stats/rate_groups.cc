#include "core/stats/rate_groups.h"

#include <algorithm>
#include <cmath>

#include "core/stats/stats.h"

namespace plumbline {
namespace {

constexpr double kNormal = 1.4826;  // median absolute deviation -> standard deviation

std::vector<double> logs_of(const std::vector<double>& rates) {
  std::vector<double> logs;
  logs.reserve(rates.size());
  for (const double rate : rates) logs.push_back(std::log(rate));
  return logs;
}

double spread_of(std::vector<double> logs) {
  const double middle = median(logs);
  for (double& log : logs) log = std::abs(log - middle);
  return kNormal * median(logs);
}

bool ends_before(const std::vector<double>& members, double next) {
  const double least =
      std::log(members.size() < kFewInRateGroup ? kRateGroupGapFew : kRateGroupGap);
  const double gap = std::log(members.back() / next);
  return gap >= least && gap >= kRateGroupDeviations * spread_of(logs_of(members));
}

}  // namespace

std::vector<RateGroup> rate_groups(std::vector<double> rates) {
  std::erase_if(rates, [](double rate) { return !std::isfinite(rate) || rate <= 0; });
  std::sort(rates.rbegin(), rates.rend());
  std::vector<RateGroup> groups;
  for (const double rate : rates) {
    if (groups.empty() || ends_before(groups.back().members, rate)) groups.emplace_back();
    groups.back().members.push_back(rate);
  }
  for (RateGroup& group : groups) group.usual = std::exp(median(logs_of(group.members)));
  return groups;
}

const RateGroup* best_group(const std::vector<RateGroup>& groups, size_t fewest) {
  const auto found = std::find_if(groups.begin(), groups.end(), [fewest](const RateGroup& group) {
    return group.members.size() >= fewest;
  });
  return found == groups.end() ? nullptr : &*found;
}

bool is_below(const RateGroup& group, double rate, double factor) {
  return rate < group.members.back() && rate * factor <= group.usual;
}

}  // namespace plumbline
