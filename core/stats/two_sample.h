// Two samples of positive numbers, each from independent launches: did the second one move, by how
// much, and how sure is that? Launches that took turns are pairs: what slowly changes on the
// machine meets both of a pair and cancels out. Built on ranks, so that no distribution of the
// noise is assumed and single outliers decide nothing. The unit does not matter: shifts are ratios.
// Pure functions, thread-safe; deterministic, drawing included.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace plumbline {

// Ranks of values from 1, ties sharing the mean of theirs, doubled so that they are whole.
struct Ranks {
  std::vector<int> doubled;  // in the order of the values
  double tie_sum = 0;        // sum over ties of t^3 - t
};
Ranks tied_ranks(std::span<const double> values);

// How the second sample stands to the first.
struct Shift {
  // Two-sided p of the Mann-Whitney test (Ann. Math. Stat. 18, 1947): the chance of such a
  // difference of ranks where both samples come from the same source. Exact, given the ties, up to
  // kMostExact values; beyond, the normal approximation with correction for ties and continuity.
  double p = 1;
  // Hodges and Lehmann's shift of the logarithms, as a ratio: the median of b / a over all pairs
  // (Ann. Math. Stat. 34, 1963). 1.1 = b is 10 % larger.
  double ratio = 1;
  // Its 95 % confidence interval, by inverting the same test; absent where there are too few values
  // (fewer than 4 in each).
  std::optional<std::pair<double, double>> ci95;
  // Cliff's delta (Psychol. Bull. 114, 1993): P(b > a) - P(b < a), -1 to 1.
  double delta = 0;
};

inline constexpr size_t kMostExact = 60;  // values of both samples together

// Values must be positive and finite, and neither sample empty.
Shift shift_of(std::span<const double> a, std::span<const double> b);

// The same for pairs a[i], b[i] (as many of each, at least one): p is that of the signed-rank test
// (Wilcoxon, Biometrics Bulletin 1, 1945; pairs without a difference left out), exact up to
// kMostExact pairs, and valid however the pairs differ among themselves as long as the order within
// each was drawn; the ratio is the median of the Walsh averages (Hodges and Lehmann, see above),
// its interval needs 6 pairs.
Shift shift_of_pairs(std::span<const double> a, std::span<const double> b);

// The smallest p that samples of these sizes, or so many pairs, can have, without ties.
double smallest_p(size_t a, size_t b);
double smallest_p_of_pairs(size_t pairs);

// How far two samples like this one lie apart although nothing changed: the sample is cut into
// random halves again and again; the median distance of their medians' logarithms, scaled down to
// samples of the full size (halves of n/2 have the square root of 2 times the spread). 0.01 = two
// halves typically differ by 1 %. Absent below 4 values.
std::optional<double> self_distance(std::span<const double> values);
// The same for pairs: the shift that they share is taken away, and who is a and who is b in each is
// drawn again and again.
std::optional<double> self_distance_of_pairs(std::span<const double> a, std::span<const double> b);

// p values corrected for having asked so many questions at once, so that the chance of even one
// false alarm stays below alpha where `p <= alpha` is asked of each (Holm, Scand. J. Stat. 6,
// 1979). In the order given.
std::vector<double> holm(std::span<const double> p);

}  // namespace plumbline
