// Measured rates in groups that belong together, fastest first, so that a rate is judged against
// the best that its kind reaches: half of a cluster's links, or all but two, may be slow without
// becoming the measure themselves. A group ends where the next rate is further away than the
// members are from each other. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace plumbline {

// Members that agree are a group however few; the fewer there are, the wider the gap behind them.
inline constexpr size_t kFewInRateGroup = 6;
inline constexpr double kRateGroupGapFew = 1.4, kRateGroupGap = 1.2;  // times slower: another group
// The gap must also be so many robust standard deviations (of the logarithms) of the group.
inline constexpr double kRateGroupDeviations = 1.5;

struct RateGroup {
  std::vector<double> members;  // fastest first; never empty
  double usual = 0;             // their median, of the logarithms
};

// Rates that are not above 0 or not finite are left out.
std::vector<RateGroup> rate_groups(std::vector<double> rates);

// The fastest group of at least `fewest` members: fewer that are faster than all others are no
// measure. nullptr when there is none.
const RateGroup* best_group(const std::vector<RateGroup>& groups, size_t fewest);

// Of no group as fast as this one, and `factor` times slower than usual there.
bool is_below(const RateGroup& group, double rate, double factor);

}  // namespace plumbline
