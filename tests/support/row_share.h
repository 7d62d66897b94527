// Tests that ask the same of many rows (algorithms, sizes, types, shapes of a wire) run all of them
// in every build but those of the sanitizers, which take ten times as long: a race, or a byte too
// far, is a matter of the way through the code, not of how many elements take it. They run a share
// of the rows, of each kind at least one, and the share moves on with the date, so that every
// row has its turn within a few days. Each test says at its end which share it was:
//   TEST_SHARE=20784 runs the same again, and any other number another one.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/support/covering.h"
#include "tests/support/sanitized.h"

namespace plumbline::test {

// One row in so many is run.
inline constexpr size_t kUsualShare = 4;

// The number of this run's share: the days since 1970, in UTC.
inline uint64_t share_number() {
  if (const char* text = std::getenv("TEST_SHARE")) return std::strtoull(text, nullptr, 10);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::hours>(now).count()) / 24;
}

// Whether a row belongs to share `number` of `one_in`. Of each `one_in` rows that follow one
// another exactly one does, at a place that looks random: an even step would always meet the same
// value of whatever the inner loops of a test alternate.
inline bool in_share(size_t row, size_t one_in, uint64_t number) {
  uint64_t mixed = (row / one_in + 1) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ (mixed >> 31)) * 0xBF58476D1CE4E5B9u;
  return (row + (mixed ^ (mixed >> 29)) % one_in) % one_in == number % one_in;
}

// Asked once for every row of a test, in the same order each time.
class RowShare {
 public:
  // `turn`: tests that ask the same rows in several ways give each way a number.
  explicit RowShare(size_t one_in = kUsualShare, size_t turn = 0)
      : RowShare(one_in, turn, kSanitized, share_number()) {}
  RowShare(size_t one_in, size_t turn, bool partly, uint64_t number)
      : one_in_(partly ? one_in : 1), turn_(turn), number_(number) {}
  RowShare(const RowShare&) = delete;
  RowShare& operator=(const RowShare&) = delete;

  ~RowShare() {
    EXPECT_GT(run_, 0u) << "a test of no rows shows nothing";
    // Or else there would be days on which none of that kind is run.
    for (const auto& [name, kind] : kinds_) {
      if (testing::Test::HasFailure()) break;  // it may have ended before it had asked for all
      EXPECT_GE(kind.seen, one_in_) << "rows of kind '" << name << "'";
    }
    if (one_in_ == 1) return;
    std::printf("one row in %zu, %zu in all: again with TEST_SHARE=%llu\n", one_in_, run_,
                static_cast<unsigned long long>(number_));
    std::fflush(stdout);
  }

  // Whether the next row is run. Of each kind one row in `one_in` is, each way through the code
  // that all runs must see being a kind of its own; it has `one_in` rows or more.
  bool runs(const std::string& name = {}) {
    Kind& kind = kinds_.try_emplace(name, Kind{kinds_.size()}).first->second;
    const bool wanted = in_share(kind.seen++, one_in_, number_ + turn_ + kind.number);
    run_ += wanted ? 1 : 0;
    return wanted;
  }

  size_t run() const { return run_; }

 private:
  struct Kind {
    size_t number;  // the first, the second, ... so that not all run the same rows
    size_t seen = 0;
  };
  const size_t one_in_, turn_;
  const uint64_t number_;
  size_t run_ = 0;
  std::map<std::string, Kind> kinds_;
};

// The share of a covering array: one row in `one_in`, and as many more as it takes for every value
// of every axis to be met, so every algorithm, number of ranks, size and shape of wire.
inline std::vector<CoveringRow> covering_share(const std::vector<CoveringRow>& rows, size_t one_in,
                                               uint64_t number) {
  std::vector<bool> taken(rows.size());
  std::vector<std::vector<bool>> met;
  const auto take = [&](size_t i) {
    taken[i] = true;
    met.resize(rows[i].size());
    for (size_t axis = 0; axis < rows[i].size(); ++axis) {
      if (met[axis].size() <= rows[i][axis]) met[axis].resize(rows[i][axis] + 1);
      met[axis][rows[i][axis]] = true;
    }
  };
  const auto is_new = [&](const CoveringRow& row) {
    for (size_t axis = 0; axis < row.size(); ++axis) {
      if (met[axis].size() <= row[axis] || !met[axis][row[axis]]) return true;
    }
    return false;
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    if (in_share(i, one_in, number)) take(i);
  }
  if (met.empty() && !rows.empty()) take(number % rows.size());  // fewer rows than shares
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t turned = (i + number) % rows.size();
    if (is_new(rows[turned])) take(turned);
  }
  std::vector<CoveringRow> share;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (taken[i]) share.push_back(rows[i]);
  }
  return share;
}

// What this build runs of a covering array. `turn`: as above, so that each way runs other rows.
inline std::vector<CoveringRow> rows_to_run(const std::vector<CoveringRow>& rows, size_t turn = 0) {
  std::vector<CoveringRow> share = rows;
  if (kSanitized) {
    const uint64_t number = share_number();
    share = covering_share(rows, kUsualShare, number + turn);
    std::printf("%zu of %zu rows: again with TEST_SHARE=%llu\n", share.size(), rows.size(),
                static_cast<unsigned long long>(number));
    std::fflush(stdout);
  }
  EXPECT_FALSE(share.empty()) << "a test of no rows shows nothing";
  return share;
}

}  // namespace plumbline::test
