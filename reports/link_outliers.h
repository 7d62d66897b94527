// Which senders, receivers and single links stand out of an N x N matrix, by a robust rule: the
// values' logarithms are compared with their median; a value is an outlier when it is worse by a
// factor and by a number of robust deviations (1.4826 times the median absolute deviation, Iglewicz
// and Hoaglin, "How to Detect and Handle Outliers", 1993). Where most of a row (or column) are
// outliers the sender (or receiver) is named, and its pairs no longer one by one. With few values
// the deviation says nothing and the factor alone decides. Thresholds: link_thresholds.h. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace plumbline {

using LinkValues = std::vector<std::optional<double>>;  // [from * ranks + to]

struct LinkOutlier {
  int from = -1, to = -1;  // -1 = all: a sender (to = -1) or a receiver (from = -1)
  double value = 0;        // of a line: its median
  double factor = 0;       // how many times worse than the median
};

struct LinkOutliers {
  std::vector<LinkOutlier> senders, receivers, pairs;
  size_t values = 0;
  double median = 0;         // of all values
  bool factor_only = false;  // too few values for a spread

  bool empty() const { return senders.empty() && receivers.empty() && pairs.empty(); }
};

struct LinkRule {
  bool more_is_better = true;
  double factor = 1.5;     // at least so many times worse than the median
  double least_more = 0;   // and at least so much away from it, in the values' unit
  double asymmetry = 1.5;  // directions of a pair that differ so many times are uneven
};

// Values that are absent, zero or negative are left out.
LinkOutliers find_outliers(const LinkValues& values, int ranks, const LinkRule& rule);

struct LinkAsymmetry {
  int from = -1, to = -1;  // the worse direction
  double value = 0, other = 0, factor = 0;
};
// Pairs whose two directions differ by the rule's asymmetry, worst first.
std::vector<LinkAsymmetry> find_asymmetries(const LinkValues& values, int ranks,
                                            const LinkRule& rule);

}  // namespace plumbline
