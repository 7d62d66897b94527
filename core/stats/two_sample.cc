#include "core/stats/two_sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/stats/stats.h"

namespace plumbline {
namespace {

constexpr double kNormal95 = 1.959964;
// Samples beyond this are thinned to their order statistics at even distances before all pairs are
// formed: 512 x 512 pairs already place the median of the ratios within a thousandth of the spread.
constexpr size_t kMostPaired = 512;
constexpr int kSplits = 200;

std::vector<double> pooled(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

// Of all ways to choose `chosen` of these doubled ranks: how many have each sum.
std::vector<double> ways_by_sum(const std::vector<int>& doubled, size_t chosen) {
  const auto most = static_cast<size_t>(std::accumulate(doubled.begin(), doubled.end(), 0));
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1, 0));
  ways[0][0] = 1;
  for (size_t seen = 0; seen < doubled.size(); ++seen) {
    const auto rank = static_cast<size_t>(doubled[seen]);
    for (size_t k = std::min(chosen, seen + 1); k > 0; --k) {
      for (size_t sum = most; sum >= rank; --sum) ways[k][sum] += ways[k - 1][sum - rank];
    }
  }
  return ways[chosen];
}

// Of all ways to choose any number of these doubled ranks: how many have each sum.
std::vector<double> ways_by_signs(const std::vector<int>& doubled) {
  const auto most = static_cast<size_t>(std::accumulate(doubled.begin(), doubled.end(), 0));
  std::vector<double> ways(most + 1, 0);
  ways[0] = 1;
  for (const int rank : doubled) {
    for (size_t sum = most; sum >= static_cast<size_t>(rank); --sum) {
      ways[sum] += ways[sum - static_cast<size_t>(rank)];
    }
  }
  return ways;
}

// Two-sided: how many of all ways are at least as extreme as the observed sum.
double p_of(const std::vector<double>& ways, size_t observed) {
  double total = 0, below = 0, above = 0;
  for (size_t sum = 0; sum < ways.size(); ++sum) {
    total += ways[sum];
    if (sum <= observed) below += ways[sum];
    if (sum >= observed) above += ways[sum];
  }
  return std::min(1.0, 2 * std::min(below, above) / total);
}

// The same by the normal approximation, with correction for continuity.
double normal_p(double rank_sum, double mean, double variance) {
  if (variance <= 0) return 1;  // all values are the same
  const double z = std::max(0.0, std::abs(rank_sum - mean) - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

// How many of the values, sorted, lie outside a 95 % interval at each end, where `ways` says how
// many of all arrangements have each (doubled) statistic from its least on; absent = no interval.
std::optional<double> outside_of(const std::vector<double>& ways, size_t least) {
  const double total = std::accumulate(ways.begin(), ways.end(), 0.0);
  double below = 0;
  size_t outside = 0;
  while (below + ways[least + 2 * outside] <= 0.025 * total) below += ways[least + 2 * outside++];
  if (outside == 0) return std::nullopt;
  return static_cast<double>(outside - 1);
}

std::vector<int> doubled_ranks(size_t n) {
  std::vector<int> doubled(n);
  for (size_t i = 0; i < n; ++i) doubled[i] = static_cast<int>(2 * (i + 1));
  return doubled;
}

// Evenly spaced order statistics where there are too many.
std::vector<double> thinned(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() <= kMostPaired) return sorted;
  std::vector<double> out;
  const double step = static_cast<double>(sorted.size()) / kMostPaired;
  for (size_t i = 0; i < kMostPaired; ++i) {
    out.push_back(sorted[static_cast<size_t>((static_cast<double>(i) + 0.5) * step)]);
  }
  return out;
}

// How many of the sorted pairs lie outside the 95 % interval at each end; absent = no interval.
std::optional<double> pairs_outside(size_t n_a, size_t n_b) {
  if (n_a + n_b > kMostExact) {
    const auto a = static_cast<double>(n_a), b = static_cast<double>(n_b);
    return std::max(0.0,
                    std::floor(a * b / 2 - kNormal95 * std::sqrt(a * b * (a + b + 1) / 12)) - 1);
  }
  return outside_of(ways_by_sum(doubled_ranks(n_a + n_b), n_a), n_a * (n_a + 1));
}

std::optional<double> walsh_outside(size_t n) {
  if (n > kMostExact) {
    const auto pairs = static_cast<double>(n);
    return std::max(0.0,
                    std::floor(pairs * (pairs + 1) / 4 -
                               kNormal95 * std::sqrt(pairs * (pairs + 1) * (2 * pairs + 1) / 24)) -
                        1);
  }
  return outside_of(ways_by_signs(doubled_ranks(n)), 0);
}

double at_place(std::vector<double>& values, size_t place) {
  const auto where = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), where, values.end());
  return *where;
}

double middle_of(std::vector<double>& values) {
  const size_t half = values.size() / 2;
  const double upper = at_place(values, half);
  return values.size() % 2 != 0 ? upper : (at_place(values, half - 1) + upper) / 2;
}

}  // namespace

Ranks tied_ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return values[x] < values[y]; });
  Ranks ranks;
  ranks.doubled.resize(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) {
      ranks.doubled[order[i]] =
          static_cast<int>(begin + 1 + end);  // twice the mean of begin+1..end
    }
    const auto ties = static_cast<double>(end - begin);
    ranks.tie_sum += ties * ties * ties - ties;
    begin = end;
  }
  return ranks;
}

Shift shift_of(std::span<const double> a, std::span<const double> b) {
  Shift shift;
  const Ranks ranks = tied_ranks(pooled(a, b));
  size_t sum_a = 0;
  for (size_t i = 0; i < a.size(); ++i) sum_a += static_cast<size_t>(ranks.doubled[i]);
  const auto n_a = static_cast<double>(a.size()), n_b = static_cast<double>(b.size());
  const double n = n_a + n_b, rank_sum = static_cast<double>(sum_a) / 2;
  shift.p = a.size() + b.size() <= kMostExact
                ? p_of(ways_by_sum(ranks.doubled, a.size()), sum_a)
                : normal_p(rank_sum, n_a * (n + 1) / 2,
                           n_a * n_b / 12 * (n + 1 - ranks.tie_sum / (n * (n - 1))));
  // U of a counts the pairs in which a is the larger one, ties half.
  shift.delta = 1 - 2 * (rank_sum - n_a * (n_a + 1) / 2) / (n_a * n_b);

  const std::vector<double> few_a = thinned(a), few_b = thinned(b);
  std::vector<double> pairs;
  pairs.reserve(few_a.size() * few_b.size());
  for (const double x : few_a) {
    for (const double y : few_b) pairs.push_back(std::log(y / x));
  }
  shift.ratio = std::exp(middle_of(pairs));
  if (const std::optional<double> outside = pairs_outside(a.size(), b.size())) {
    // Multiplied first: exact where nothing was thinned.
    const auto place =
        static_cast<size_t>(*outside * static_cast<double>(pairs.size()) / (n_a * n_b));
    shift.ci95 = {std::exp(at_place(pairs, place)),
                  std::exp(at_place(pairs, pairs.size() - 1 - place))};
  }
  return shift;
}

Shift shift_of_pairs(std::span<const double> a, std::span<const double> b) {
  Shift shift;
  std::vector<double> logs, sizes, averages;  // sizes: of the pairs that differ
  std::vector<bool> grows;
  double wins = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    logs.push_back(std::log(b[i] / a[i]));
    if (a[i] == b[i]) continue;
    sizes.push_back(std::abs(logs.back()));
    grows.push_back(b[i] > a[i]);
    wins += b[i] > a[i] ? 1 : -1;
  }
  shift.delta = wins / static_cast<double>(a.size());
  const Ranks ranks = tied_ranks(sizes);
  size_t sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (grows[i]) sum += static_cast<size_t>(ranks.doubled[i]);
  }
  const auto n = static_cast<double>(sizes.size());
  shift.p = sizes.size() <= kMostExact
                ? p_of(ways_by_signs(ranks.doubled), sum)
                : normal_p(static_cast<double>(sum) / 2, n * (n + 1) / 4,
                           n * (n + 1) * (2 * n + 1) / 24 - ranks.tie_sum / 48);
  const std::vector<double> few = thinned(logs);
  for (size_t i = 0; i < few.size(); ++i) {
    for (size_t j = i; j < few.size(); ++j) averages.push_back((few[i] + few[j]) / 2);
  }
  shift.ratio = std::exp(middle_of(averages));
  if (const std::optional<double> outside = walsh_outside(logs.size())) {
    const auto all = static_cast<double>(logs.size()) * static_cast<double>(logs.size() + 1) / 2;
    const auto place = static_cast<size_t>(*outside * static_cast<double>(averages.size()) / all);
    shift.ci95 = {std::exp(at_place(averages, place)),
                  std::exp(at_place(averages, averages.size() - 1 - place))};
  }
  return shift;
}

double smallest_p_of_pairs(size_t pairs) {
  return std::min(1.0, 2 * std::pow(0.5, static_cast<double>(pairs)));
}

double smallest_p(size_t a, size_t b) {
  if (a == 0 || b == 0) return 1;
  double ways = 1;  // (a + b) choose a
  for (size_t i = 1; i <= a; ++i) ways = ways * static_cast<double>(b + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

std::optional<double> self_distance(std::span<const double> values) {
  if (values.size() < 4) return std::nullopt;
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  std::mt19937_64 random(20261122);
  std::vector<double> distances;
  const auto half = static_cast<std::ptrdiff_t>(logs.size() / 2);
  for (int split = 0; split < kSplits; ++split) {
    // std::shuffle may differ between libraries; the answer must not.
    for (size_t i = logs.size() - 1; i > 0; --i) std::swap(logs[i], logs[random() % (i + 1)]);
    distances.push_back(std::abs(median({logs.begin(), logs.begin() + half}) -
                                 median({logs.begin() + half, logs.end()})));
  }
  return median(distances) / std::sqrt(2.0);
}

std::optional<double> self_distance_of_pairs(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 4) return std::nullopt;
  std::vector<double> logs, distances;
  for (size_t i = 0; i < a.size(); ++i) logs.push_back(std::log(b[i] / a[i]));
  const double shared = median(logs);
  std::mt19937_64 random(20261122);
  for (int turn = 0; turn < kSplits; ++turn) {
    std::vector<double> turned;
    for (const double log : logs) {
      turned.push_back((random() & 1U) != 0 ? log - shared : shared - log);
    }
    distances.push_back(std::abs(median(turned)));
  }
  return median(distances);
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return p[x] < p[y]; });
  std::vector<double> out(p.size(), 1);
  double running = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    running = std::max(running, p[order[i]] * static_cast<double>(p.size() - i));
    out[order[i]] = std::min(1.0, running);
  }
  return out;
}

}  // namespace plumbline
