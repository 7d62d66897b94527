// Fill and verify: exact in any order of reduction, and blind to nothing that goes wrong.
#include "kernels/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/kernels.h"

namespace plumbline {
namespace {

using PatternBytes = std::vector<std::byte>;
constexpr size_t kCount = kPatternPeriod;

struct Case {
  DType dtype;
  RedOp redop;
};
void PrintTo(const Case& one, std::ostream* out) {  // NOLINT
  *out << to_string(one.dtype) << ' ' << to_string(one.redop);
}
std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(to_string(info.param.dtype)) + "_" + to_string(info.param.redop);
}
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const DTypeRow& d : dtype_table()) {
    for (const RedOpRow& op : redop_table()) {
      if (reduction_unsupported(d.dtype, op.redop).empty()) cases.push_back({d.dtype, op.redop});
    }
  }
  return cases;
}

class PatternCase : public testing::TestWithParam<Case> {
 protected:
  DType dtype() const { return GetParam().dtype; }
  RedOp redop() const { return GetParam().redop; }
  size_t size() const { return size_of(dtype()); }
  Pattern make(int ranks, uint32_t seed = 1) const { return {dtype(), redop(), ranks, seed}; }

  PatternBytes input(const Pattern& pattern, int rank, uint64_t first = 0,
                     size_t count = kCount) const {
    PatternBytes data(count * size());
    pattern.fill(data.data(), rank, first, count);
    return data;
  }
  // The inputs of `ranks` combined two at a time in a random order, as any algorithm might, and
  // divided by `world` where the operator asks for it.
  PatternBytes reduced(const Pattern& pattern, const std::vector<int>& ranks, int world,
                       uint32_t order) const {
    std::vector<PatternBytes> parts;
    parts.reserve(ranks.size());
    for (const int rank : ranks) parts.push_back(input(pattern, rank));
    const KernelSet& kernels = *kernel_sets().front();
    std::mt19937 random(order);
    while (parts.size() > 1) {
      std::swap(parts[random() % parts.size()], parts.back());
      PatternBytes last = std::move(parts.back());
      parts.pop_back();
      PatternBytes& into = parts[random() % parts.size()];
      const bool swap = random() % 2 != 0;
      kernels.reduce(dtype(), redop(), false)(into.data(), swap ? last.data() : into.data(),
                                              swap ? into.data() : last.data(), kCount);
    }
    if (redop() == RedOp::kAvg) {
      kernels.scale_fn(dtype())(parts[0].data(), parts[0].data(), kCount, world);
    }
    return parts[0];
  }
  static std::vector<int> everybody(int ranks) {
    std::vector<int> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  bool truth() const { return dtype() == DType::kBool; }
  // Or and and are, too.
  bool extreme() const { return redop() == RedOp::kMin || redop() == RedOp::kMax || truth(); }
  // No value but 0 can come out: nothing to see.
  bool blind(int ranks) const {
    return dtype() == DType::kU8 && redop() == RedOp::kAvg && ranks == 256;
  }
};
INSTANTIATE_TEST_SUITE_P(Pattern, PatternCase, testing::ValuesIn(all_cases()), name_of);

constexpr int kWorlds[] = {1, 2, 3, 9, 64, 256};

TEST_P(PatternCase, is_exact_in_any_order) {
  for (const int ranks : kWorlds) {
    const Pattern pattern = make(ranks);
    for (uint32_t order = 0; order < (ranks < 64 ? 5u : 1u); ++order) {
      const PatternBytes data = reduced(pattern, everybody(ranks), ranks, order);
      std::optional<uint64_t> first_wrong = 7;
      ASSERT_EQ(pattern.count_wrong_reduced(data.data(), 0, kCount, &first_wrong), 0u)
          << ranks << " ranks, order " << order << ", element " << *first_wrong;
      EXPECT_FALSE(first_wrong);
    }
  }
}

TEST_P(PatternCase, is_exact_for_every_small_world) {
  for (int ranks = 4; ranks <= 20; ++ranks) {
    const Pattern pattern = make(ranks, 99);
    const PatternBytes data = reduced(pattern, everybody(ranks), ranks, 3);
    ASSERT_EQ(pattern.count_wrong_reduced(data.data(), 0, kCount), 0u) << ranks << " ranks";
  }
}

TEST_P(PatternCase, sees_a_missing_rank) {
  for (const int ranks : {2, 3, 9, 64, 256}) {
    if (blind(ranks)) continue;
    const Pattern pattern = make(ranks);
    for (const int missing : {ranks / 2, ranks - 1}) {
      std::vector<int> present = everybody(ranks);
      present.erase(present.begin() + missing);
      const PatternBytes data = reduced(pattern, present, ranks, 1);
      const size_t wrong = pattern.count_wrong_reduced(data.data(), 0, kCount);
      // MIN and MAX show the extreme contribution only; few average in u8 over many ranks.
      const bool few = extreme() || (dtype() == DType::kU8 && redop() == RedOp::kAvg);
      EXPECT_GT(wrong, few ? 0 : kCount / 3) << missing << " of " << ranks;
    }
  }
}

// For MIN and MAX such a result is right: they are idempotent.
TEST_P(PatternCase, sees_a_rank_counted_twice) {
  for (const int ranks : {2, 3, 9, 64}) {
    const Pattern pattern = make(ranks);
    for (const int twice : {0, ranks - 1}) {
      std::vector<int> present = everybody(ranks);
      present.push_back(twice);
      const PatternBytes more = reduced(pattern, present, ranks, 1);
      EXPECT_EQ(pattern.count_wrong_reduced(more.data(), 0, kCount) > 0, !extreme())
          << twice << " of " << ranks;
      // In place of another one: the number of contributions is right.
      present.erase(present.begin() + (twice + 1) % ranks);
      const PatternBytes instead = reduced(pattern, present, ranks, 1);
      EXPECT_GT(pattern.count_wrong_reduced(instead.data(), 0, kCount), 0u)
          << twice << " of " << ranks;
    }
  }
}

TEST_P(PatternCase, tells_ranks_apart) {
  for (const int ranks : {2, 9, 256}) {
    const Pattern pattern = make(ranks);
    const bool little_room = dtype() == DType::kU8 && redop() == RedOp::kAvg && ranks > 9;
    for (const int other : {1, ranks / 2, ranks - 1}) {
      const PatternBytes data = input(pattern, other);
      EXPECT_EQ(pattern.count_wrong_copy(data.data(), other, 0, kCount), 0u);
      const size_t most_truths = ranks == 2 ? kCount * 2 / 5 : kCount / 10;
      EXPECT_GT(pattern.count_wrong_copy(data.data(), 0, 0, kCount), little_room ? 0
                                                                     : truth()   ? most_truths
                                                                                 : kCount * 2 / 5)
          << other << " of " << ranks;
    }
  }
}

TEST_P(PatternCase, sees_each_flipped_bit_where_it_is) {
  const Pattern pattern = make(3);
  constexpr uint64_t kFirst = 5000;
  PatternBytes copy = input(pattern, 2, kFirst, 2 * kCount);
  PatternBytes result = reduced(pattern, everybody(3), 3, 1);
  for (const size_t bit : {size_t{0}, 8 * size() - 1, 8 * size() * (kCount - 1),
                           8 * size() * 4098 + 7, 8 * size() * kCount / 2 + 3}) {
    const std::byte mask{static_cast<unsigned char>(1u << (bit % 8))};
    const uint64_t at = bit / 8 / size();
    std::optional<uint64_t> first_wrong;
    copy[bit / 8] ^= mask;
    EXPECT_EQ(pattern.count_wrong_copy(copy.data(), 2, kFirst, 2 * kCount, &first_wrong), 1u);
    EXPECT_EQ(first_wrong, kFirst + at);
    copy[bit / 8] ^= mask;
    result[bit / 8] ^= mask;
    EXPECT_EQ(pattern.count_wrong_reduced(result.data(), 0, kCount, &first_wrong), 1u);
    EXPECT_EQ(first_wrong, at);
    result[bit / 8] ^= mask;
  }
  copy[0] ^= std::byte{1};
  copy[size() * 4100] ^= std::byte{1};
  copy[size() * 8190] ^= std::byte{1};
  std::optional<uint64_t> first_wrong;
  EXPECT_EQ(pattern.count_wrong_copy(copy.data(), 2, kFirst, 2 * kCount, &first_wrong), 3u);
  EXPECT_EQ(first_wrong, kFirst);
}

TEST_P(PatternCase, sees_chunks_shifted_by_powers_of_two) {
  const Pattern pattern = make(2);
  for (int power = 0; power < 40; ++power) {
    const uint64_t shift = uint64_t{1} << power;
    const PatternBytes data = input(pattern, 1, shift);
    EXPECT_EQ(pattern.count_wrong_copy(data.data(), 1, shift, kCount), 0u);
    EXPECT_GT(pattern.count_wrong_copy(data.data(), 1, 0, kCount),
              truth() ? kCount / 3 : kCount / 2)
        << shift;
  }
}

TEST_P(PatternCase, sees_stale_data_of_another_seed) {
  for (const int ranks : {1, 2, 9, 64}) {
    for (const uint32_t seed : {0u, 1u, 0x7fffffffu}) {
      const Pattern before = make(ranks, seed), now = make(ranks, seed + 1);
      const PatternBytes copy = input(before, 0);
      const PatternBytes result = reduced(before, everybody(ranks), ranks, 1);
      const bool little_room = dtype() == DType::kU8 && redop() == RedOp::kAvg && ranks > 9;
      EXPECT_GT(now.count_wrong_copy(copy.data(), 0, 0, kCount), little_room ? 0
                                                                 : truth()   ? kCount / 6
                                                                             : kCount * 2 / 5);
      EXPECT_GT(now.count_wrong_reduced(result.data(), 0, kCount), kCount / 3) << ranks;
    }
  }
}

// Ranges compose: whatever the pieces in which an array is filled and verified.
TEST_P(PatternCase, fills_and_verifies_in_any_pieces) {
  const Pattern pattern = make(2);
  constexpr size_t kTotal = 3 * kPatternPeriod + 17;
  constexpr uint64_t kFirst = (uint64_t{1} << 33) + 12345;
  const PatternBytes whole = input(pattern, 1, kFirst, kTotal);
  PatternBytes pieces(whole.size(), std::byte{0x5a});
  std::mt19937 random(2);
  for (size_t at = 0; at < kTotal;) {
    const size_t count = std::min<size_t>(random() % 5000, kTotal - at);
    pattern.fill(pieces.data() + at * size(), 1, kFirst + at, count);
    EXPECT_EQ(pattern.count_wrong_copy(whole.data() + at * size(), 1, kFirst + at, count), 0u);
    at += count;
  }
  EXPECT_EQ(whole, pieces);
  EXPECT_EQ(pattern.count_wrong_copy(nullptr, 1, kFirst, 0), 0u);
  pattern.fill(nullptr, 1, kFirst, 0);
}

}  // namespace
}  // namespace plumbline
