// Truth values: an or of ones, or an and of zeros, would look right whoever took part. The known
// data are such that each rank shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "kernels/pattern.h"

namespace plumbline {
namespace {

constexpr size_t kTruths = kPatternPeriod;

class TruthCase : public testing::TestWithParam<RedOp> {
 protected:
  static bool is_or() { return GetParam() == RedOp::kSum || GetParam() == RedOp::kMax; }
  static std::vector<uint8_t> input(const Pattern& pattern, int rank) {
    std::vector<uint8_t> data(kTruths);
    pattern.fill(data.data(), rank, 0, kTruths);
    return data;
  }
  // Of those for whom `takes_part` says so, by C++'s own operators.
  static std::vector<uint8_t> combined(const Pattern& pattern, int ranks,
                                       const std::function<bool(int)>& takes_part, bool with_or) {
    std::vector<uint8_t> result(kTruths, with_or ? 0 : 1);
    for (int rank = 0; rank < ranks; ++rank) {
      if (!takes_part(rank)) continue;
      const std::vector<uint8_t> data = input(pattern, rank);
      for (size_t i = 0; i < kTruths; ++i) {
        const bool before = result[i] != 0, now = data[i] != 0;
        result[i] = (with_or ? before || now : before && now) ? 1 : 0;
      }
    }
    return result;
  }
  static size_t wrong(const Pattern& pattern, const std::vector<uint8_t>& result) {
    return pattern.count_wrong_reduced(result.data(), 0, kTruths);
  }
  static bool everybody(int /*rank*/) { return true; }
};
INSTANTIATE_TEST_SUITE_P(Pattern, TruthCase,
                         testing::Values(RedOp::kSum, RedOp::kMin, RedOp::kMax, RedOp::kProduct),
                         [](const auto& one) { return std::string(to_string(one.param)); });

TEST_P(TruthCase, results_are_ones_and_zeros_in_every_world) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const uint32_t seed : {1u, 2u, 3u, 4u}) {
      const Pattern pattern(DType::kBool, GetParam(), ranks, seed);
      const std::vector<uint8_t> result = combined(pattern, ranks, everybody, is_or());
      EXPECT_EQ(wrong(pattern, result), 0u) << ranks;
      const auto ones = static_cast<size_t>(std::count(result.begin(), result.end(), 1));
      EXPECT_GT(ones, kTruths / 4) << ranks;
      EXPECT_LT(ones, kTruths * 3 / 4) << ranks;
      for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<uint8_t> data = input(pattern, rank);
        const auto true_ones = static_cast<size_t>(std::count(data.begin(), data.end(), 1));
        EXPECT_EQ(true_ones + static_cast<size_t>(std::count(data.begin(), data.end(), 0)),
                  kTruths);
        EXPECT_GT(std::min(true_ones, kTruths - true_ones), kTruths / 8) << rank << " of " << ranks;
      }
    }
  }
}

TEST_P(TruthCase, sees_each_rank_that_is_left_out_or_replaced_by_another) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (const uint32_t seed : {1u, 2u, 3u, 4u}) {
      const Pattern pattern(DType::kBool, GetParam(), ranks, seed);
      for (int out = 0; out < ranks; ++out) {
        // Twice the contribution of another one instead of this is the same as none of this.
        const auto others = [out](int rank) { return rank != out; };
        EXPECT_GT(wrong(pattern, combined(pattern, ranks, others, is_or())),
                  kTruths / 4 / static_cast<size_t>(ranks))
            << out << " of " << ranks;
        const auto alone = [out](int rank) { return rank == out; };
        EXPECT_GT(wrong(pattern, combined(pattern, ranks, alone, is_or())), kTruths / 8)
            << out << " of " << ranks;
      }
    }
  }
}

TEST_P(TruthCase, sees_the_other_operator_and_a_result_of_one_value) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Pattern pattern(DType::kBool, GetParam(), ranks, 1);
    EXPECT_GT(wrong(pattern, combined(pattern, ranks, everybody, !is_or())), kTruths / 3) << ranks;
    for (const uint8_t value : {0, 1}) {
      EXPECT_GT(wrong(pattern, std::vector<uint8_t>(kTruths, value)), kTruths / 4) << ranks;
    }
  }
}

}  // namespace
}  // namespace plumbline
