// Does a number move over time? Two answers for a series of rounds: where it steps, and how fast it
// drifts between the steps. Both are built on ranks and medians, so that single outliers neither
// make nor hide anything, and no distribution of the noise is assumed. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plumbline {

// When two stretches of a series count as different.
struct StepRule {
  double alpha = 0.005;       // chance, at most, that noise alone gives such a step
  double least_share = 0.05;  // of the median before it; smaller ones are of no use to anybody
  // That a value behind it lies beyond one before it, in the step's direction (A of Vargha and
  // Delaney, J. Educational and Behavioral Statistics 25, 2000): 0.85 is 1.5 standard deviations,
  // and leaves room for outliers.
  double least_superiority = 0.85;
  size_t least_rounds = 3;     // on each side
  size_t permutations = 1999;  // of the test
  size_t most_steps = 32;      // of one series
};

struct LevelStep {
  size_t at = 0;                 // index of the first value behind the step
  double before = 0, after = 0;  // medians from the step before to this one, and on to the next
  double p = 1;                  // of the permutation test
  double share() const { return before != 0 ? after / before - 1 : 0; }
};

// The steps of `values` (in time order; at most a few thousand), in order. The place is where the
// standardised rank sum of what lies before it (Mann-Whitney; for change points Pettitt, Applied
// Statistics 28, 1979, standardised as by Hawkins and Deng, J. Quality Technology 42, 2010) is
// largest, over all splits of the series and of overlapping halves, quarters ... of it (seeded
// binary segmentation, Kovacs et al., Biometrika 110, 2023), so that down and up again is seen too.
// Whether it is a step, a permutation test of that very maximum decides, p = (b + 1) / (m + 1)
// (Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9, 2010), with a fixed seed, so that the same
// series always gets the same answer. Both sides are searched again; at the end every place is
// looked for once more between its neighbours. Fewer than 11 values have no steps: no order of them
// is rare enough.
std::vector<LevelStep> find_steps(std::span<const double> values, const StepRule& rule = {});

// Change of y per unit of x.
struct Slope {
  double value = 0, low = 0, high = 0;  // 99 % confidence interval
  bool includes_zero() const { return low <= 0 && high >= 0; }
};

// Theil-Sen: the median of the slopes of all pairs, with Sen's confidence interval from the
// variance of Kendall's S (Sen, J. Am. Stat. Assoc. 63, 1968). Pairs across a step are left out and
// the variances of the stretches added up, as the seasonal Kendall test does (Hirsch, Slack and
// Smith, Water Resources Research 18, 1982), so that a step is no drift. `steps`: index of the
// first value of every stretch but the first, ascending. Absent where there are too few pairs for
// an interval (fewer than 7 values in one stretch). Memory: one number a pair.
std::optional<Slope> theil_sen(std::span<const double> x, std::span<const double> y,
                               std::span<const size_t> steps = {});

// A series of any length in bounded memory: once `kMostPoints` are there, neighbours are merged
// two by two, and from then on every point stands for twice as many rounds (its value and its time
// are their means).
struct TrendPoint {
  double x = 0, y = 0;
  int64_t first_round = 0, last_round = 0;
};
class BoundedSeries {
 public:
  static constexpr size_t kMostPoints = 512;
  // Rounds ascend.
  void add(double x, int64_t round, double y);
  // With the last, not yet complete point, if there is one.
  std::vector<TrendPoint> points() const;
  size_t added() const { return added_; }

 private:
  std::vector<TrendPoint> points_;
  TrendPoint open_;
  size_t in_open_ = 0, per_point_ = 1, added_ = 0;
};

}  // namespace plumbline
