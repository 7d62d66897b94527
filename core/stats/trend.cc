#include "core/stats/trend.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/stats/stats.h"
#include "core/stats/two_sample.h"

namespace plumbline {
namespace {

constexpr uint64_t kSeed = 0x706c756d62;  // any; fixed, so that a report can be repeated
constexpr double kZ99 = 2.5758;           // 99 % of a normal distribution lie within +- this

struct Split {
  size_t at = 0;
  double z = 0;  // magnitude
};

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<double> ranks;
  for (const int doubled : tied_ranks(values).doubled) ranks.push_back(doubled / 2.0);
  return ranks;
}

constexpr size_t kShortestPart = 12;  // values: of fewer no order is rare enough

// The split of `ranks` with the largest standardised sum before it. Mean k m and variance
// k (n - k) / (n - 1) s^2 of the sum of k out of n given numbers (m, s^2: their mean and variance).
Split best_split(std::span<const double> ranks, size_t least) {
  Split best;
  if (ranks.size() < 2 * least) return best;
  const auto n = static_cast<double>(ranks.size());
  double mean = 0, variance = 0;
  for (const double rank : ranks) mean += rank / n;
  for (const double rank : ranks) variance += (rank - mean) * (rank - mean) / n;
  if (variance <= 0) return best;
  double sum = 0, best_squared = 0;
  for (size_t k = 1; k + least <= ranks.size(); ++k) {
    sum += ranks[k - 1] - mean;
    if (k < least) continue;
    const double before = static_cast<double>(k);
    const double squared = sum * sum * (n - 1) / (before * (n - before) * variance);
    if (squared > best_squared) {
      best_squared = squared;
      best.at = k;
    }
  }
  best.z = std::sqrt(best_squared);
  return best;
}

// The same over the whole and over overlapping parts of it, each half as long as those before.
Split best_anywhere(std::span<const double> ranks, size_t least) {
  Split best = best_split(ranks, least);
  for (size_t length = ranks.size() / 2; length >= kShortestPart; length /= 2) {
    const size_t stride = std::max<size_t>(1, length / 2);
    for (size_t from = 0; from + length <= ranks.size(); from += stride) {
      const Split split = best_split(ranks.subspan(from, length), least);
      if (split.z > best.z) best = {from + split.at, split.z};
    }
  }
  return best;
}

// How often a random order of the same values has a split as clear as this one.
double chance_of(const Split& split, std::vector<double> ranks, const StepRule& rule) {
  std::mt19937_64 random(kSeed);
  // More than so many decide the question already.
  const auto enough = static_cast<size_t>(rule.alpha * static_cast<double>(rule.permutations + 1));
  size_t as_clear = 0;
  for (size_t i = 0; i < rule.permutations && as_clear <= enough; ++i) {
    for (size_t k = ranks.size(); k-- > 1;) std::swap(ranks[k], ranks[random() % (k + 1)]);
    if (best_anywhere(ranks, rule.least_rounds).z >= split.z - 1e-9) ++as_clear;
  }
  return static_cast<double>(as_clear + 1) / static_cast<double>(rule.permutations + 1);
}

double median_of(std::span<const double> values) { return median({values.begin(), values.end()}); }

// Large enough to matter, and clear of the scatter on both sides.
bool matters(std::span<const double> before, std::span<const double> after, const StepRule& rule) {
  const double low = median_of(before), high = median_of(after);
  if (std::abs(high - low) < rule.least_share * std::abs(low) || high == low) return false;
  double beyond = 0;
  for (const double a : before) {
    for (const double b : after) beyond += (high > low ? b > a : b < a) ? 1 : b == a ? 0.5 : 0;
  }
  const auto pairs = static_cast<double>(before.size() * after.size());
  return beyond >= rule.least_superiority * pairs;
}

// Given the levels on both sides, the place where the absolute deviations from them are least.
size_t sharpest(std::span<const double> values, const Split& rough, size_t least) {
  const double low = median_of(values.first(rough.at));
  const double high = median_of(values.subspan(rough.at));
  double sum = 0, smallest = INFINITY;
  size_t at = rough.at;
  for (size_t k = 1; k + least <= values.size(); ++k) {
    sum += std::abs(values[k - 1] - low) - std::abs(values[k - 1] - high);
    if (k < least || sum >= smallest) continue;
    smallest = sum;
    at = k;
  }
  return at;
}

struct Found {
  size_t at;
  double p;
};

void search(std::span<const double> values, size_t offset, const StepRule& rule,
            std::vector<Found>& found) {
  if (values.size() < 2 * rule.least_rounds || found.size() >= rule.most_steps) return;
  const std::vector<double> ranks = ranks_of(values);
  const Split split = best_anywhere(ranks, rule.least_rounds);
  if (split.z == 0) return;
  const double p = chance_of(split, ranks, rule);
  if (p > rule.alpha) return;
  found.push_back({offset + split.at, p});
  search(values.first(split.at), offset, rule, found);
  search(values.subspan(split.at), offset + split.at, rule, found);
}

// Begin of the stretch before step i, and end of the one behind it.
std::pair<size_t, size_t> around(const std::vector<Found>& found, size_t i, size_t size) {
  return {i == 0 ? 0 : found[i - 1].at, i + 1 == found.size() ? size : found[i + 1].at};
}

}  // namespace

std::vector<LevelStep> find_steps(std::span<const double> values, const StepRule& rule) {
  std::vector<Found> found;
  search(values, 0, rule, found);
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.at < b.at; });
  // With the other steps known, each place is clearer; those that do not matter go.
  for (size_t i = 0; i < found.size();) {
    const auto [begin, end] = around(found, i, values.size());
    const std::span<const double> part = values.subspan(begin, end - begin);
    Split split = best_split(ranks_of(part), rule.least_rounds);
    if (split.z > 0) {
      split.at = sharpest(part, split, rule.least_rounds);
      found[i].at = begin + split.at;
    }
    if (split.z > 0 && matters(part.first(split.at), part.subspan(split.at), rule)) {
      ++i;
    } else {
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(i));
      i = i == 0 ? 0 : i - 1;  // its neighbour has a longer stretch now
    }
  }
  std::vector<LevelStep> steps;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = around(found, i, values.size());
    const size_t at = found[i].at;
    steps.push_back({at, median_of(values.subspan(begin, at - begin)),
                     median_of(values.subspan(at, end - at)), found[i].p});
  }
  return steps;
}

std::optional<Slope> theil_sen(std::span<const double> x, std::span<const double> y,
                               std::span<const size_t> steps) {
  std::vector<double> slopes;
  double variance = 0;
  std::vector<size_t> bounds(steps.begin(), steps.end());
  bounds.push_back(x.size());
  size_t begin = 0;
  for (const size_t end : bounds) {
    for (size_t i = begin; i < end; ++i) {
      for (size_t j = i + 1; j < end; ++j) {
        if (x[j] > x[i]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
      }
    }
    const auto n = static_cast<double>(end - begin);
    variance += n * (n - 1) * (2 * n + 5) / 18;
    begin = end;
  }
  const auto pairs = static_cast<double>(slopes.size());
  const double reach = kZ99 * std::sqrt(variance);
  // 1-based places (N - C) / 2 and (N + C) / 2 + 1 among the sorted slopes.
  const double low = std::floor((pairs - reach) / 2), high = std::ceil((pairs + reach) / 2) + 1;
  if (low < 1 || high > pairs) return std::nullopt;
  std::sort(slopes.begin(), slopes.end());
  const size_t middle = slopes.size() / 2;
  Slope slope;
  slope.value = slopes.size() % 2 != 0 ? slopes[middle] : (slopes[middle - 1] + slopes[middle]) / 2;
  slope.low = slopes[static_cast<size_t>(low) - 1];
  slope.high = slopes[static_cast<size_t>(high) - 1];
  return slope;
}

void BoundedSeries::add(double x, int64_t round, double y) {
  ++added_;
  if (in_open_ == 0) open_ = {0, 0, round, round};
  const auto have = static_cast<double>(in_open_++);
  open_.x += (x - open_.x) / (have + 1);
  open_.y += (y - open_.y) / (have + 1);
  open_.last_round = round;
  if (in_open_ < per_point_) return;
  points_.push_back(open_);
  in_open_ = 0;
  if (points_.size() < kMostPoints) return;
  for (size_t i = 0; i < kMostPoints / 2; ++i) {
    const TrendPoint &a = points_[2 * i], &b = points_[2 * i + 1];
    points_[i] = {(a.x + b.x) / 2, (a.y + b.y) / 2, a.first_round, b.last_round};
  }
  points_.resize(kMostPoints / 2);
  per_point_ *= 2;
}

std::vector<TrendPoint> BoundedSeries::points() const {
  std::vector<TrendPoint> out = points_;
  if (in_open_ > 0) out.push_back(open_);
  return out;
}

}  // namespace plumbline
