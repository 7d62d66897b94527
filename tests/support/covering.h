// Covering arrays: a small list of rows over several axes in which every pair of values of every
// two axes occurs together, as far as some valid row has it. Most defects of a combination of
// settings need only two of them (Kuhn, Wallace and Gallo, "Software fault interactions", 2004), so
// this finds what a full cross would find in a fraction of its time. Deterministic for a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace plumbline {

using CoveringRow = std::vector<size_t>;  // one value index per axis

class PairSet {
 public:
  explicit PairSet(const std::vector<size_t>& axes) : axes_(axes) {
    for (size_t size : axes_) {
      first_.push_back(values_);
      values_ += size;
    }
    seen_.resize(values_ * values_, false);
  }
  bool has(size_t a, size_t x, size_t b, size_t y) const { return seen_[index(a, x, b, y)]; }
  void mark(size_t a, size_t x, size_t b, size_t y) { seen_[index(a, x, b, y)] = true; }
  void mark(const CoveringRow& row) {
    for (size_t a = 0; a < row.size(); ++a) {
      for (size_t b = a + 1; b < row.size(); ++b) mark(a, row[a], b, row[b]);
    }
  }
  size_t count_new(const CoveringRow& row) const {
    size_t fresh = 0;
    for (size_t a = 0; a < row.size(); ++a) {
      for (size_t b = a + 1; b < row.size(); ++b) fresh += has(a, row[a], b, row[b]) ? 0 : 1;
    }
    return fresh;
  }

 private:
  size_t index(size_t a, size_t x, size_t b, size_t y) const {
    return (first_[a] + x) * values_ + first_[b] + y;
  }
  std::vector<size_t> axes_, first_;
  size_t values_ = 0;
  std::vector<bool> seen_;
};

// Greedy: each row is built around a pair that is still missing, the best of some random tries. A
// pair for which no try is valid is taken for impossible.
inline std::vector<CoveringRow> covering_array(
    const std::vector<size_t>& axes, uint32_t seed,
    const std::function<bool(const CoveringRow&)>& valid) {
  constexpr int kTries = 40, kGood = 12;
  std::mt19937 random(
      seed);  // its sequence is fixed by the standard, those of distributions are not
  PairSet covered(axes);
  std::vector<CoveringRow> rows;
  const auto cover = [&](size_t a, size_t x, size_t b, size_t y) {
    CoveringRow best, row(axes.size());
    size_t most = 0;
    for (int tries = 0, good = 0; tries < kTries * 10 && good < kGood; ++tries) {
      for (size_t axis = 0; axis < axes.size(); ++axis) row[axis] = random() % axes[axis];
      row[a] = x;
      row[b] = y;
      if (!valid(row)) continue;
      ++good;
      const size_t fresh = covered.count_new(row);
      if (fresh <= most) continue;
      most = fresh;
      best = row;
    }
    if (best.empty()) return;
    covered.mark(best);
    rows.push_back(best);
  };
  for (size_t a = 0; a < axes.size(); ++a) {
    for (size_t b = a + 1; b < axes.size(); ++b) {
      for (size_t x = 0; x < axes[a]; ++x) {
        for (size_t y = 0; y < axes[b]; ++y) {
          if (!covered.has(a, x, b, y)) cover(a, x, b, y);
        }
      }
    }
  }
  return rows;
}

// All valid rows.
inline std::vector<CoveringRow> full_cross(const std::vector<size_t>& axes,
                                           const std::function<bool(const CoveringRow&)>& valid) {
  std::vector<CoveringRow> rows;
  CoveringRow row(axes.size(), 0);
  for (;;) {
    if (valid(row)) rows.push_back(row);
    size_t axis = 0;
    while (axis < axes.size() && ++row[axis] == axes[axis]) row[axis++] = 0;
    if (axis == axes.size()) return rows;
  }
}

}  // namespace plumbline
