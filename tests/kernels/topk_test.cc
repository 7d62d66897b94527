// The fast choice of the largest elements against its definition, on data that is made to mislead
// it.
#include "kernels/topk.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "kernels/kernels.h"

namespace plumbline {
namespace {

struct Chosen {
  std::vector<uint32_t> indices;
  std::vector<float> values;
};

Chosen reference(const std::vector<float>& data, size_t k) {
  Chosen chosen{std::vector<uint32_t>(k), std::vector<float>(k)};
  topk_reference(data.data(), data.size(), k, chosen.indices.data(), chosen.values.data());
  return chosen;
}

void expect_reference(TopkSelector& selector, const std::vector<float>& data, size_t k,
                      const std::string& what) {
  const Chosen want = reference(data, k);
  Chosen got{std::vector<uint32_t>(k + 1, 7), std::vector<float>(k + 1, 7)};
  selector.select(data.data(), data.size(), k, got.indices.data(), got.values.data());
  EXPECT_EQ(got.indices.back(), 7u) << what << ": wrote beyond k";
  EXPECT_EQ(got.values.back(), 7) << what << ": wrote beyond k";
  got.indices.pop_back();
  got.values.pop_back();
  ASSERT_EQ(got.indices, want.indices) << what;
  ASSERT_EQ(std::memcmp(got.values.data(), want.values.data(), k * sizeof(float)), 0) << what;
}

// One kind of data each.
std::vector<float> data_of(int kind, size_t count, std::mt19937& random) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> data(count);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < count; ++i) {
    float& x = data[i];
    switch (kind) {
      case 0:  // as gradients are
        x = normal(random);
        break;
      case 1:  // all zero, of both signs
        x = random() % 2 == 0 ? 0.0F : -0.0F;
        break;
      case 2:  // many ties
        x = static_cast<float>(random() % 3) - 1;
        break;
      case 3:  // any bits: subnormals, infinities, NaN with payloads
        x = std::bit_cast<float>(static_cast<uint32_t>(random()));
        break;
      case 4:  // what is large lies together, where few samples look
        x = i < count / 50 ? 1000.0F + static_cast<float>(i % 7) : normal(random);
        break;
      case 5:  // a few that are no numbers
        x = i % 97 == 3 ? kNan : i % 89 == 5 ? -kInf : normal(random);
        break;
      default:  // descending
        x = static_cast<float>(count - i);
    }
  }
  return data;
}
constexpr int kKinds = 7;

TEST(Topk, EqualsItsDefinition) {
  std::mt19937 random(20261125);
  for (const size_t count : {1, 2, 3, 63, 64, 65, 127, 1000, 4095, 4097, 40'001}) {
    TopkSelector selector(count);
    for (int kind = 0; kind < kKinds; ++kind) {
      const std::vector<float> data = data_of(kind, count, random);
      for (const size_t k : {size_t{1}, count / 100 + 1, count / 2, count - 1, count}) {
        if (k == 0 || k > count) continue;
        const std::string what = "kind " + std::to_string(kind) + ", " + std::to_string(k) +
                                 " of " + std::to_string(count);
        ASSERT_NO_FATAL_FAILURE(expect_reference(selector, data, k, what));
      }
    }
  }
}

TEST(Topk, SumsAreMadeInTheSamePass) {
  std::mt19937 random(20261126);
  const ReduceFn add = kernel_sets().front()->reduce(DType::kF32, RedOp::kSum, false);
  for (const size_t count : {1, 63, 4097, 40'001}) {
    TopkSelector selector(count);
    for (int kind = 0; kind < kKinds; ++kind) {
      const std::vector<float> addends = data_of(kind, count, random);
      std::vector<float> sums = data_of(0, count, random), want = sums;
      add(want.data(), want.data(), addends.data(), count);
      for (const size_t k : {size_t{0}, count / 100 + 1, count}) {
        std::vector<float> made = sums;
        Chosen got{std::vector<uint32_t>(k), std::vector<float>(k)};
        selector.select_sums(made.data(), addends.data(), add, count, k, got.indices.data(),
                             got.values.data());
        ASSERT_EQ(std::memcmp(made.data(), want.data(), count * sizeof(float)), 0) << kind;
        ASSERT_EQ(got.indices, reference(want, k).indices) << kind << ", " << k << " of " << count;
      }
    }
  }
}

TEST(Topk, TheOrderIsAsPromised) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> data = {1, -3, 3, -kInf, 2, std::nanf(""), 3, 0};
  EXPECT_EQ(reference(data, 1).indices, (std::vector<uint32_t>{5}));           // NaN first
  EXPECT_EQ(reference(data, 2).indices, (std::vector<uint32_t>{3, 5}));        // then infinity
  EXPECT_EQ(reference(data, 4).indices, (std::vector<uint32_t>{1, 2, 3, 5}));  // ties: lowest index
  EXPECT_EQ(reference(data, 0).indices, std::vector<uint32_t>{});
}

TEST(Topk, NothingIsChosenOfNothing) {
  TopkSelector selector(0);
  selector.select(nullptr, 0, 0, nullptr, nullptr);
}

// Whatever was selected before: a selector keeps nothing.
TEST(Topk, ASelectorIsUsedAgain) {
  std::mt19937 random(3);
  TopkSelector selector(5000);
  for (int round = 0; round < 20; ++round) {
    const size_t count = 1 + random() % 5000;
    const std::vector<float> data = data_of(round % kKinds, count, random);
    ASSERT_NO_FATAL_FAILURE(
        expect_reference(selector, data, 1 + random() % count, std::to_string(round)));
  }
}

}  // namespace
}  // namespace plumbline
