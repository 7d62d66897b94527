// Algorithms with radices, for every list of radices that a number of ranks has: right, as cheap as
// the formulas say, the same bits everywhere; and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/schedule.h"
#include "tests/support/row_share.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

// All ordered lists of radices with this product.
std::vector<std::vector<int>> radices_for(int n) {
  if (n == 1) return {{}};
  std::vector<std::vector<int>> all;
  for (int first = 2; first <= n; ++first) {
    if (n % first != 0) continue;
    for (std::vector<int>& rest : radices_for(n / first)) {
      rest.insert(rest.begin(), first);
      all.push_back(std::move(rest));
    }
  }
  return all;
}

std::vector<const AlgorithmRow*> with_radices() {
  std::vector<const AlgorithmRow*> rows;
  for (const AlgorithmRow& row : algorithm_table()) {
    if (row.parameter.form == ParameterForm::kRadices) rows.push_back(&row);
  }
  return rows;
}

// Elements so large that one is a message of its own, and every way to receive is taken.
constexpr size_t kElements[] = {4, 40'000, 1 << 20};

TEST(Radices, EveryListIsRightForEveryShape) {
  test::RowShare share(7);  // the large ones are most of the time
  for (const AlgorithmRow* row : with_radices()) {
    for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16}) {
      for (const std::vector<int>& radices : radices_for(n)) {
        for (const uint64_t count : {0, 1, n - 1, n, n > 9 ? 2 * n + 1 : 90}) {
          for (const size_t width : kElements) {
            for (const bool in_place : {false, true}) {
              if (!share.runs(to_string(row->op))) continue;
              ScheduleRequest q;
              q.op = row->op;
              q.size = n;
              q.count = count;
              q.elem_size = width;
              q.in_place = in_place;
              q.redop = count % 2 == 0 ? RedOp::kAvg : RedOp::kSum;
              q.root = n - 1;
              q.parameter.radices = radices;
              ASSERT_EQ(check_schedule(*row, q), "")
                  << full_name(*row, q) << " n=" << n << " count=" << count << " width=" << width
                  << (in_place ? " in place" : "");
            }
          }
        }
      }
    }
  }
  EXPECT_GT(share.run(), test::kSanitized ? 500u : 2000u);
}

TEST(Radices, AThousandElements) {
  test::RowShare share;
  for (const AlgorithmRow* row : with_radices()) {
    for (const int n : {3, 5, 8}) {
      for (const size_t width : kElements) {
        if (!share.runs()) continue;
        ScheduleRequest q;
        q.op = row->op;
        q.size = n;
        q.count = 1000;
        q.elem_size = width;
        EXPECT_EQ(check_schedule(*row, q), "") << full_name(*row, q) << " width=" << width;
        q.parameter.radices = {n};
        EXPECT_EQ(check_schedule(*row, q), "") << full_name(*row, q) << " width=" << width;
      }
    }
  }
}

// One message after another: a round of each half is one deep, whatever its radix.
TEST(Radices, CostsAreThoseOfTheFormulas) {
  for (const int n : {2, 4, 6, 8, 9, 12}) {
    for (const std::vector<int>& radices : radices_for(n)) {
      ScheduleRequest q;
      q.size = n;
      q.count = static_cast<uint64_t>(n) * 10;
      q.parameter.radices = radices;
      const uint64_t array = q.count * q.elem_size;
      uint64_t others = 0;
      for (const int radix : radices) others += static_cast<uint64_t>(radix - 1);
      const auto rounds = static_cast<uint32_t>(radices.size());
      const std::string text = radices_text(radices);
      for (q.rank = 0; q.rank < n; ++q.rank) {
        const ScheduleCost exchange = cost_of(**find_algorithm("exchange:" + text, q), q);
        EXPECT_EQ(exchange.depth, rounds) << text;
        EXPECT_EQ(exchange.sends, others) << text;
        EXPECT_EQ(exchange.send_bytes, others * array) << text;
        const ScheduleCost halving = cost_of(**find_algorithm("halving_doubling:" + text, q), q);
        EXPECT_EQ(halving.depth, 2 * rounds) << text;
        EXPECT_EQ(halving.sends, 2 * others) << text;
        EXPECT_EQ(halving.send_bytes, 2 * array / static_cast<uint64_t>(n) * (q.size - 1)) << text;
        EXPECT_EQ(halving.reduce_bytes, array / static_cast<uint64_t>(n) * (q.size - 1)) << text;
      }
    }
  }
}

// Large arrays go in pieces: as many bytes, and still no deeper.
TEST(Radices, PiecesCostNoBytes) {
  for (const std::vector<int>& radices : radices_for(8)) {
    ScheduleRequest q;
    q.size = 8;
    q.count = 8 * 840 * 1024;  // parts that any number of pieces up to 8 divides
    q.parameter.radices = radices;
    const auto found = find_algorithm("halving_doubling:" + radices_text(radices), q);
    ASSERT_TRUE(found);
    const ScheduleCost cost = cost_of(**found, q);
    EXPECT_EQ(cost.send_bytes, 2 * 7 * (q.count / 8) * q.elem_size) << radices_text(radices);
    EXPECT_EQ(cost.depth, 2 * radices.size()) << radices_text(radices);
    EXPECT_GE(cost.sends, 14u) << radices_text(radices);
    EXPECT_EQ((*found)->build(q).scratch_elems, 0u) << radices_text(radices);
  }
}

struct Refusal {
  const char* name;
  int ranks;
  const char* words[2];
};

TEST(Radices, WhatDoesNotFitIsRefusedWithWhatWould) {
  const Refusal refusals[] = {
      {"exchange:3x3", 8, {"product is the number of ranks", "2x2x2, 4x2 or 8"}},
      {"exchange:2x2x2x2", 8, {"product is the number of ranks", "2x2x2, 4x2 or 8"}},
      {"halving_doubling:2", 7, {"product is the number of ranks", "such as 7"}},
      {"exchange:16", 8, {"product is the number of ranks", "or 8"}},
      {"exchange:2", 1, {"needs no radices", "name the algorithm alone"}},
      {"exchange:65536x65536x65536x65536x2", 4, {"product is the number of ranks", "2x2 or 4"}},
      {"exchange:", 4, {"no list of radices", "exchange:4x2"}},
      {"exchange:axb", 4, {"no list of radices", "exchange:4x2"}},
      {"exchange:2x", 4, {"no list of radices", "exchange:4x2"}},
      {"exchange:1x4", 4, {"no list of radices", "exchange:4x2"}},
      {"exchange:-2x-2", 4, {"no list of radices", "exchange:4x2"}},
      {"exchange:2x2:2", 8, {"no list of radices", "exchange:4x2"}},
      {"exchange:99999999999999999999", 8, {"no list of radices", "exchange:4x2"}},
      {"exchange:2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2", 8, {"more than 16 radices", "exchange:4x2"}},
      {"recursive_doubling:2", 4, {"takes no parameter", "use recursive_doubling"}},
      {"auto:2", 4, {"unknown algorithm 'auto:2'", "use one of"}},
      {"exchanje:2x2", 4, {"unknown algorithm 'exchanje:2x2'", "exchange"}},
  };
  for (const Refusal& refusal : refusals) {
    ScheduleRequest q;
    q.size = refusal.ranks;
    q.count = 5;
    const auto found = find_algorithm(refusal.name, q);
    ASSERT_FALSE(found) << refusal.name;
    const std::string said = found.error().message();
    for (const char* word : refusal.words) {
      EXPECT_NE(said.find(word), std::string::npos) << refusal.name << ": " << said;
    }
  }
}

TEST(Radices, TheUsualOnesArePrimeFactors) {
  const auto name = [](const char* asked, int ranks) {
    ScheduleRequest q;
    q.size = ranks;
    return full_name(**find_algorithm(asked, q), q);
  };
  EXPECT_EQ(name("exchange", 8), "exchange:2x2x2");
  EXPECT_EQ(name("exchange", 12), "exchange:2x2x3");
  EXPECT_EQ(name("halving_doubling", 7), "halving_doubling:7");
  EXPECT_EQ(name("halving_doubling:04x2", 8), "halving_doubling:4x2");
  EXPECT_EQ(name("exchange", 1), "exchange");
  EXPECT_EQ(name("ring", 8), "ring");
}

}  // namespace
}  // namespace plumbline
