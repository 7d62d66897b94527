#include "reports/link_outliers.h"

#include <algorithm>
#include <cmath>

#include "core/link.h"
#include "core/stats.h"
#include "reports/link_thresholds.h"

namespace plumbline {
namespace {

constexpr double kNormal = 1.4826;  // median absolute deviation -> standard deviation

bool usable(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value > 0;
}

class Judge {
 public:
  Judge(const LinkValues& values, int ranks, const LinkRule& rule)
      : values_(values), ranks_(ranks), rule_(rule) {
    std::vector<double> logs;
    for (const auto& value : values_) {
      if (usable(value)) logs.push_back(std::log(*value));
    }
    out_.values = logs.size();
    out_.factor_only =
        static_cast<double>(logs.size()) < threshold(LinkThreshold::kFewestForSpread);
    if (logs.empty()) return;
    middle_ = median(logs);
    out_.median = std::exp(middle_);
    for (double& log : logs) log = std::abs(log - middle_);
    spread_ = std::max(kNormal * median(logs), threshold(LinkThreshold::kLeastSpread));
  }

  LinkOutliers all() {
    if (out_.values < 2) return out_;
    find_lines(true, out_.senders);
    find_lines(false, out_.receivers);
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        if (!outlier(from, to) || named(out_.senders, from, true) ||
            named(out_.receivers, to, false)) {
          continue;
        }
        const double value = *at(from, to);
        out_.pairs.push_back({from, to, value, worse_by(value)});
      }
    }
    for (auto* list : {&out_.senders, &out_.receivers, &out_.pairs}) {
      std::stable_sort(list->begin(), list->end(), [](const LinkOutlier& a, const LinkOutlier& b) {
        return a.factor > b.factor;
      });
    }
    return out_;
  }

 private:
  const std::optional<double>& at(int from, int to) const {
    static const std::optional<double> kNone;
    const auto index = pair_index(ranks_, from, to);
    return from == to || index >= values_.size() ? kNone : values_[index];
  }

  // How many times worse than the median; below 1 = better.
  double worse_by(double value) const {
    return rule_.more_is_better ? out_.median / value : value / out_.median;
  }

  bool outlier(int from, int to) const {
    const auto& value = at(from, to);
    if (!usable(value)) return false;
    const double factor = worse_by(*value);
    if (factor < rule_.factor || std::abs(*value - out_.median) < rule_.least_more) return false;
    return out_.factor_only || std::log(factor) > threshold(LinkThreshold::kDeviations) * spread_;
  }

  // Rows (sending) or columns of which most are outliers.
  void find_lines(bool sending, std::vector<LinkOutlier>& lines) {
    for (int line = 0; line < ranks_; ++line) {
      size_t known = 0, bad = 0;
      std::vector<double> logs;
      for (int other = 0; other < ranks_; ++other) {
        const int from = sending ? line : other, to = sending ? other : line;
        if (!usable(at(from, to))) continue;
        ++known;
        logs.push_back(std::log(*at(from, to)));
        if (outlier(from, to)) ++bad;
      }
      const double share = known == 0 ? 0 : static_cast<double>(bad) / static_cast<double>(known);
      if (bad < 2 || share < threshold(LinkThreshold::kLineShare)) continue;
      const double value = std::exp(median(logs));
      lines.push_back({sending ? line : -1, sending ? -1 : line, value, worse_by(value)});
    }
  }

  static bool named(const std::vector<LinkOutlier>& lines, int rank, bool sending) {
    return std::any_of(lines.begin(), lines.end(), [&](const LinkOutlier& line) {
      return (sending ? line.from : line.to) == rank;
    });
  }

  const LinkValues& values_;
  const int ranks_;
  const LinkRule rule_;
  double middle_ = 0, spread_ = 0;  // of the logarithms
  LinkOutliers out_;
};

}  // namespace

LinkOutliers find_outliers(const LinkValues& values, int ranks, const LinkRule& rule) {
  return Judge(values, ranks, rule).all();
}

std::vector<LinkAsymmetry> find_asymmetries(const LinkValues& values, int ranks,
                                            const LinkRule& rule) {
  std::vector<LinkAsymmetry> out;
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks; ++b) {
      const auto there = pair_index(ranks, a, b);
      const auto back = pair_index(ranks, b, a);
      if (back >= values.size() || !usable(values[there]) || !usable(values[back])) continue;
      const double factor =
          std::max(*values[there] / *values[back], *values[back] / *values[there]);
      if (factor < rule.asymmetry) continue;
      const bool there_is_worse = (*values[there] < *values[back]) == rule.more_is_better;
      out.push_back(there_is_worse ? LinkAsymmetry{a, b, *values[there], *values[back], factor}
                                   : LinkAsymmetry{b, a, *values[back], *values[there], factor});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const LinkAsymmetry& a, const LinkAsymmetry& b) {
    return a.factor > b.factor;
  });
  return out;
}

}  // namespace plumbline
