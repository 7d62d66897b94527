// Reductions of many sources in one pass, and copies past the caches: bit for bit what a chain of
// pairs gives, on every target.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"
#include "tests/kernels/reference.h"

namespace plumbline {
namespace {

using Bytes = std::vector<std::byte>;

class Many : public testing::TestWithParam<const KernelSet*> {
 protected:
  const KernelSet& set() const { return *GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Reduce, Many, testing::ValuesIn(reference::all_sets()),
                         reference::set_name);

// `count` arrays of random and special values, each `skip` elements from its start.
class Arrays {
 public:
  Arrays(DType dtype, size_t count, size_t elements, size_t skip) : skip_(skip * size_of(dtype)) {
    for (size_t k = 0; k < count; ++k) {
      const auto values =
          reference::random_values(dtype, skip + elements, static_cast<uint32_t>(k));
      bytes_.push_back(reference::pack(dtype, values));
    }
  }
  std::byte* at(size_t k) { return bytes_[k].data() + skip_; }
  std::vector<const void*> all() {
    std::vector<const void*> sources;
    for (size_t k = 0; k < bytes_.size(); ++k) sources.push_back(at(k));
    return sources;
  }

 private:
  size_t skip_;
  std::vector<Bytes> bytes_;
};

// What the scalar pairs give, one after the other.
Bytes chain(DType dtype, RedOp redop, Arrays& arrays, size_t count, size_t elements) {
  const ReduceFn pair = kernel_sets().back()->reduce(dtype, redop, false);
  Bytes sum(arrays.at(0), arrays.at(0) + elements * size_of(dtype));
  for (size_t k = 1; k < count; ++k) pair(sum.data(), sum.data(), arrays.at(k), elements);
  return sum;
}

TEST_P(Many, equals_the_chain_of_pairs_for_any_number_length_and_address) {
  for (const DTypeRow& d : dtype_table()) {
    for (const RedOpRow& op : redop_table()) {
      for (const size_t count : {2u, 3u, 4u, 7u, 16u}) {
        for (const size_t elements : {0u, 1u, 2u, 15u, 33u, 130u, 1027u}) {
          const size_t skip = (count + elements) % 4;
          Arrays arrays(d.dtype, count, elements, skip);
          const Bytes want = chain(d.dtype, op.redop, arrays, count, elements);
          const auto sources = arrays.all();
          for (const Stores stores : {Stores::kNear, Stores::kFar}) {
            Bytes out((skip + elements + 1) * d.size, std::byte{0x5a});
            set()
                .reducer(d.dtype, op.redop, false)
                .many(out.data() + skip * d.size, sources.data(), count, elements, stores);
            ASSERT_TRUE(std::equal(want.begin(), want.end(), out.data() + skip * d.size))
                << d.name << " " << op.name << ", " << elements << " elements of " << count;
            for (size_t i = out.size() - d.size; i < out.size(); ++i) {
              ASSERT_EQ(out[i], std::byte{0x5a}) << "wrote behind the end";
            }
          }
        }
      }
    }
  }
}

TEST_P(Many, writes_onto_any_of_its_sources) {
  constexpr size_t kElements = 517;
  for (const DTypeRow& d : dtype_table()) {
    for (size_t onto = 0; onto < 4; ++onto) {
      Arrays arrays(d.dtype, 4, kElements, 1);
      const Bytes want = chain(d.dtype, RedOp::kSum, arrays, 4, kElements);
      const auto sources = arrays.all();
      set()
          .reducer(d.dtype, RedOp::kSum, false)
          .many(arrays.at(onto), sources.data(), 4, kElements, Stores::kNear);
      EXPECT_EQ(std::memcmp(arrays.at(onto), want.data(), want.size()), 0) << d.name << " " << onto;
    }
  }
}

TEST_P(Many, copies_past_the_caches) {
  Bytes from(70001), to(70001);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
  for (const size_t bytes : {0u, 1u, 63u, 64u, 65u, 4099u, 70000u}) {
    for (const size_t skip : {0u, 1u}) {
      std::fill(to.begin(), to.end(), std::byte{0x5a});
      set().copy_far(to.data() + skip, from.data() + 1 - skip, bytes);
      ASSERT_EQ(std::memcmp(to.data() + skip, from.data() + 1 - skip, bytes), 0) << bytes;
      for (size_t i = skip + bytes; i < to.size(); ++i) ASSERT_EQ(to[i], std::byte{0x5a});
    }
  }
}

}  // namespace
}  // namespace plumbline
