// Division by the number of ranks, every target x dtype.
#include <gtest/gtest.h>

#include <climits>

#include "tests/kernels/reference.h"

namespace plumbline {
namespace {

class ScaleSet : public testing::TestWithParam<const KernelSet*> {};
INSTANTIATE_TEST_SUITE_P(Scale, ScaleSet, testing::ValuesIn(reference::all_sets()),
                         reference::set_name);

TEST_P(ScaleSet, divides_like_the_reference) {
  for (const DTypeRow& d : dtype_table()) {
    std::vector<uint64_t> values = reference::random_values(d.dtype, 1031, 7);
    for (const uint64_t v : reference::special_values(d.dtype)) values.push_back(v);
    const std::vector<std::byte> in = reference::pack(d.dtype, values);
    for (const int divisor : {1, 2, 3, 4, 5, 7, 9, 64, 127, 255, 256, 257, 1000, INT_MAX}) {
      std::vector<std::byte> apart(in.size()), same = in;
      GetParam()->scale_fn(d.dtype)(apart.data(), in.data(), values.size(), divisor);
      GetParam()->scale_fn(d.dtype)(same.data(), same.data(), values.size(), divisor);
      EXPECT_EQ(apart, same) << d.name << " in place / " << divisor;
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(reference::element(d.dtype, apart.data(), i),
                  reference::scale(d.dtype, values[i], divisor))
            << d.name << " " << std::hex << values[i] << std::dec << " / " << divisor;
      }
    }
  }
}

TEST_P(ScaleSet, divides_every_byte_by_every_divisor) {
  std::vector<uint64_t> all(256);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const std::vector<std::byte> in = reference::pack(DType::kU8, all);
  for (int divisor = 1; divisor <= 300; ++divisor) {
    std::vector<std::byte> out(in.size());
    GetParam()->scale_fn(DType::kU8)(out.data(), in.data(), in.size(), divisor);
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(reference::element(DType::kU8, out.data(), i), i / static_cast<size_t>(divisor))
          << i << " / " << divisor;
    }
  }
}

// Quotients next to an integer, where a division through floating point would round up.
TEST_P(ScaleSet, truncates_32_bit_integers_exactly) {
  for (const int divisor : {2, 3, 255, 256, 65537, INT_MAX - 1, INT_MAX}) {
    std::vector<uint64_t> values;
    for (int64_t quotient = INT_MAX / divisor; quotient >= 0 && values.size() < 300; --quotient) {
      for (const int64_t beside : {-1, 0, 1}) {
        const int64_t v = quotient * divisor + beside;
        values.push_back(static_cast<uint32_t>(v));
        values.push_back(static_cast<uint32_t>(-v));
      }
    }
    const std::vector<std::byte> in = reference::pack(DType::kI32, values);
    std::vector<std::byte> out(in.size());
    GetParam()->scale_fn(DType::kI32)(out.data(), in.data(), values.size(), divisor);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(reference::element(DType::kI32, out.data(), i),
                reference::scale(DType::kI32, values[i], divisor))
          << static_cast<int32_t>(values[i]) << " / " << divisor;
    }
  }
}

TEST_P(ScaleSet, leaves_an_empty_buffer_alone) {
  for (const DTypeRow& d : dtype_table()) {
    for (const int divisor : {1, 3, 1000}) {
      std::byte guard{0x5a};
      GetParam()->scale_fn(d.dtype)(&guard, &guard, 0, divisor);
      EXPECT_EQ(guard, std::byte{0x5a}) << d.name;
    }
  }
}

}  // namespace
}  // namespace plumbline
