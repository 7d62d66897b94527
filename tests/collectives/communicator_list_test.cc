// Lists of arrays as one operation: right sums of odd sizes and many, in place, on all ranks the
// same bits; and lists that no two ranks agree about are an Error with both.
#include "collectives/communicator_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tests/support/communicators.h"
#include "tests/support/row_share.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

using IntArrays = std::vector<std::vector<int32_t>>;

constexpr size_t kAlone = kAloneBytes / 4, kPacked = kPackedBytes / 4;  // elements of 4 bytes

std::vector<Buffer> list_of(IntArrays& arrays) { return {arrays.begin(), arrays.end()}; }

// Element i of array a, as rank r brings it.
int32_t brought(int r, size_t a, size_t i) {
  return r * 100'000 + static_cast<int>(a * 1000 + i % 997);
}

IntArrays arrays_of(const std::vector<size_t>& sizes, int rank) {
  IntArrays arrays;
  for (size_t a = 0; a < sizes.size(); ++a) {
    arrays.emplace_back(sizes[a]);
    for (size_t i = 0; i < sizes[a]; ++i) arrays[a][i] = brought(rank, a, i);
  }
  return arrays;
}

// What all ranks get.
IntArrays sums_of(const std::vector<size_t>& sizes, int ranks) {
  IntArrays sums = arrays_of(sizes, 0);
  for (auto& array : sums) {
    for (int32_t& value : array) value = ranks * value + brought(1, 0, 0) * ranks * (ranks - 1) / 2;
  }
  return sums;
}

const std::vector<std::vector<size_t>>& lists() {
  static const std::vector<std::vector<size_t>> all = {
      {},
      {0},
      {0, 0, 0},
      {1},
      {3, 0, 1, 7, 1000},
      std::vector<size_t>(64, 1024),
      {kAlone, 5, kAlone - 1, 5, kAlone + 1, 0, 5},   // large ones between small ones
      std::vector<size_t>(11, kAlone - 3),            // several parts, odd sizes
      {kAlone + 17, 2 * kAlone - 1, 1, kPacked, 13},  // only the smallest are packed
  };
  return all;
}

TEST(CoalescedAllreduce, OneToNineRanksGetTheSums) {
  test::RowShare share;
  for (const char* way : kAllWays) {
    for (int size = 1; size <= 9; size += size < 4 ? 1 : 5) {
      SCOPED_TRACE(std::string(way) + ", ranks: " + std::to_string(size));
      std::vector<Communicator> ranks = ranks_over(way, size);
      ASSERT_EQ(ranks.size(), static_cast<size_t>(size));
      std::vector<std::vector<size_t>> some;
      for (const std::vector<size_t>& sizes : lists()) {
        if (share.runs(way + std::to_string(size))) some.push_back(sizes);
      }
      in_threads(ranks, [size, &some](Communicator& group) {
        for (int round = 0; round < 2; ++round) {  // the second with what the first has left
          for (const std::vector<size_t>& sizes : some) {
            IntArrays arrays = arrays_of(sizes, group.rank());
            expect_done(group.allreduce_coalesced(list_of(arrays)).wait(kPatience));
            EXPECT_EQ(arrays, sums_of(sizes, size));
          }
        }
        EXPECT_FALSE(group.failure());
      });
    }
  }
}

TEST(CoalescedAllreduce, OtherTypesAndReductions) {
  std::vector<Communicator> ranks = ranks_over("memory", 2);
  in_threads(ranks, [](Communicator& group) {
    const auto r = static_cast<float>(group.rank());
    std::vector<float> a = {r, 1}, b = {2 * r}, none;
    expect_done(group.allreduce_coalesced({a, none, b}, RedOp::kAvg).wait());
    EXPECT_EQ(a, (std::vector<float>{0.5f, 1}));
    EXPECT_EQ(b, (std::vector<float>{1}));
    uint16_t half[] = {0x3f80}, halves[] = {0x4000, 0x3f80};  // 1, and 2 and 1, as bfloat16
    expect_done(
        group.allreduce_coalesced({{half, 1, DType::kBf16}, {halves, 2, DType::kBf16}}).wait());
    EXPECT_EQ(half[0], 0x4000);
    EXPECT_EQ(halves[0], 0x4080);
    std::vector<uint8_t> odd(3, static_cast<uint8_t>(group.rank())), more(5, 9);
    expect_done(group.allreduce_coalesced({odd, more}, RedOp::kMax).wait());
    EXPECT_EQ(odd, std::vector<uint8_t>(3, 1));
    EXPECT_EQ(more, std::vector<uint8_t>(5, 9));
  });
}

// Bits of what one rank ends with, from numbers whose sum depends on the order.
std::vector<uint32_t> bits_of_sums(Communicator& group, const std::vector<size_t>& sizes) {
  std::mt19937 random(static_cast<unsigned>(group.rank() + 1));
  std::vector<std::vector<float>> arrays;
  for (const size_t size : sizes) {
    arrays.emplace_back(size);
    for (float& value : arrays.back()) {
      value = std::ldexp(static_cast<float>(random() % 1000), static_cast<int>(random() % 30));
    }
  }
  expect_done(group.allreduce_coalesced({arrays.begin(), arrays.end()}).wait(kPatience));
  std::vector<uint32_t> bits;
  for (const auto& array : arrays) {
    for (const float value : array) bits.push_back(std::bit_cast<uint32_t>(value));
  }
  return bits;
}

TEST(CoalescedAllreduce, TheSameBitsOnAllRanksAndAgain) {
  const std::vector<size_t> sizes = {7, 1000, kAlone + 1, 31, kAlone - 1, 1};
  for (const char* way : kAllWays) {
    std::vector<Communicator> ranks = ranks_over(way, 5);
    std::vector<std::vector<uint32_t>> first(5), again(5);
    in_threads(ranks, [&](Communicator& group) {
      first[static_cast<size_t>(group.rank())] = bits_of_sums(group, sizes);
      again[static_cast<size_t>(group.rank())] = bits_of_sums(group, sizes);
    });
    for (size_t rank = 0; rank < 5; ++rank) {
      EXPECT_TRUE(first[rank] == first[0]) << way << ", rank " << rank;
      EXPECT_TRUE(again[rank] == first[0]) << way << ", rank " << rank;
    }
  }
}

TEST(CoalescedAllreduce, SeveralAreUnderWayBesideOthers) {
  const std::vector<size_t> small(20, 100);
  std::vector<size_t> large(12, kAlone - 1);
  large[1] = kAlone;
  large[2] = 3;
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    std::vector<Communicator> ranks = ranks_over(way, 3);
    in_threads(ranks, [&](Communicator& group) {
      for (int round = 0; round < 5; ++round) {
        IntArrays a = arrays_of(small, group.rank()), b = arrays_of(large, group.rank()), c = a;
        std::vector<int32_t> single(1000, 1);
        Work first = group.allreduce_coalesced(list_of(a));
        Work second = group.allreduce_coalesced(list_of(b));
        Work between = group.allreduce(single);
        static_cast<void>(group.allreduce_coalesced(list_of(c)));  // dropped
        expect_done(between.wait(kPatience));
        const Deadline deadline = Deadline::after_ms(20'000);
        ErrorOr<bool> done = second.test();
        while (done && !*done && !deadline.passed()) done = second.test();
        EXPECT_TRUE(done && *done);
        expect_done(first.wait(kPatience));
        expect_done(first.wait(kPatience));
        EXPECT_EQ(a, sums_of(small, 3));
        EXPECT_EQ(b, sums_of(large, 3));
        EXPECT_EQ(single, std::vector<int32_t>(1000, 3));
        expect_done(group.barrier().wait(kPatience));  // and with it the dropped one
        expect_done(group.barrier().wait(kPatience));
        EXPECT_EQ(c, sums_of(small, 3));
      }
    });
  }
}

// ---- what a user may do wrong or lose ----------------------------------------------------------

TEST(CoalescedAllreduce, WrongListsStartNothing) {
  std::vector<Communicator> ranks = ranks_over("memory", 2);
  in_threads(ranks, [](Communicator& group) {
    std::vector<int32_t> ints(10);
    std::vector<float> floats(10);
    const auto refused = [&group](std::vector<Buffer> list) {
      const Done done = group.allreduce_coalesced(std::move(list)).wait(kPatience);
      EXPECT_FALSE(done);
      return done ? std::string() : done.error().message();
    };
    EXPECT_THAT(refused({ints, floats}), HasSubstr("array 1 has elements f32, array 0 i32"));
    EXPECT_THAT(refused({ints, ints}), HasSubstr("arrays 0 and 1 overlap"));
    std::vector<int32_t> other(1);
    const Buffer head(ints.data(), 6, DType::kI32), tail(ints.data() + 5, 5, DType::kI32);
    EXPECT_THAT(refused({tail, other, head}), HasSubstr("arrays 0 and 2 overlap"));
    const Buffer rest(ints.data() + 6, 4, DType::kI32), empty(ints.data() + 2, 0, DType::kI32);
    expect_done(group.allreduce_coalesced({rest, head, empty}).wait(kPatience));
  });
}

// What each of two ranks calls; the two have the same number of elements in all.
void expect_told(const char* way, const std::function<Work(Communicator&)>& other) {
  std::vector<Communicator> ranks = ranks_over(way, 2);
  std::mutex mutex;
  std::string said;
  in_threads(ranks, [&](Communicator& group) {
    IntArrays arrays = arrays_of({3, 5}, group.rank());
    Work work = group.rank() == 0 ? group.allreduce_coalesced(list_of(arrays)) : other(group);
    static_cast<void>(work.wait(5s));
    const Done next = group.barrier().wait(5s);
    EXPECT_FALSE(next);
    const std::scoped_lock lock(mutex);
    said += next ? "" : next.error().message();
  });
  EXPECT_THAT(said, AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"),
                          HasSubstr("list of 2 arrays (3, 5 elements")))
      << way;
}

TEST(CoalescedAllreduce, ListsThatDifferAreNamed) {
  for (const char* way : kAllWays) {
    IntArrays turned = arrays_of({5, 3}, 1), three = arrays_of({3, 4, 1}, 1),
              one = arrays_of({8}, 1);
    expect_told(way,
                [&](Communicator& group) { return group.allreduce_coalesced(list_of(turned)); });
    expect_told(way,
                [&](Communicator& group) { return group.allreduce_coalesced(list_of(three)); });
    expect_told(way, [&](Communicator& group) { return group.allreduce(one[0]); });
    expect_told(way, [&](Communicator& group) { return group.allreduce_coalesced({}); });
  }
}

TEST(CoalescedAllreduce, ALostRankIsNamedInTime) {
  for (const char* way : kAllWays) {
    SCOPED_TRACE(way);
    std::vector<Communicator> ranks = ranks_over(way, 3);
    in_threads(ranks, [](Communicator& group) { expect_done(group.barrier().wait(kPatience)); });
    ranks.pop_back();
    in_threads(ranks, [](Communicator& group) {
      const Deadline deadline = Deadline::after_ms(10'000);
      const std::vector<size_t> sizes(20, kAlone - 1);
      IntArrays arrays = arrays_of(sizes, group.rank());
      const Done done = group.allreduce_coalesced(list_of(arrays)).wait(5s);
      ASSERT_FALSE(done);
      EXPECT_THAT(done.error().message(), HasSubstr("rank 2"));
      EXPECT_FALSE(deadline.passed());
    });
  }
}

// ---- what is packed with what ------------------------------------------------------------------

std::vector<std::vector<size_t>> parts_with(const std::vector<size_t>& sizes) {
  std::vector<Buffer> list;
  for (const size_t size : sizes) list.emplace_back(nullptr, size, DType::kF32);
  std::vector<std::vector<size_t>> indices;
  for (const ListPart& part : parts_of(list)) {
    size_t elements = 0;
    for (const size_t i : part.arrays) elements += sizes[i];
    EXPECT_EQ(part.elements, elements);
    indices.push_back(part.arrays);
  }
  return indices;
}

TEST(CoalescedAllreduce, PartsFollowFromSizes) {
  using Indices = std::vector<std::vector<size_t>>;
  EXPECT_EQ(parts_with({}), (Indices{{}}));
  EXPECT_EQ(parts_with({0, 0}), (Indices{{}}));
  EXPECT_EQ(parts_with({1, 0, 2}), (Indices{{0, 2}}));
  EXPECT_EQ(parts_with({1, kAlone, 2}), (Indices{{1}, {0, 2}}));
  EXPECT_EQ(parts_with({kAlone, kPacked}), (Indices{{0}, {1}}));
  const size_t most = kAlone - 1;
  EXPECT_EQ(parts_with(std::vector<size_t>(10, most)), (Indices{{0, 1, 2, 3, 4, 5, 6, 7, 8}, {9}}));
}

}  // namespace
}  // namespace plumbline
