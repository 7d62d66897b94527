// Every target x dtype x operator against a plain loop, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "kernels/kernels.h"
#include "tests/kernels/reference.h"

namespace plumbline {
namespace {

using Bytes = std::vector<std::byte>;
using Values = std::vector<uint64_t>;

class EverySet : public testing::TestWithParam<const KernelSet*> {
 protected:
  const KernelSet& set() const { return *GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Reduce, EverySet, testing::ValuesIn(reference::all_sets()),
                         reference::set_name);

struct Reduction {
  DType dtype;
  RedOp redop;
};
std::vector<Reduction> all_reductions() {
  std::vector<Reduction> cases;
  for (const DTypeRow& d : dtype_table()) {
    for (const RedOpRow& op : redop_table()) cases.push_back({d.dtype, op.redop});
  }
  return cases;
}

std::string describe(const Reduction& c) {
  return std::string(to_string(c.dtype)) + " " + to_string(c.redop);
}

Values expected(const Reduction& c, const Values& a, const Values& b) {
  Values want(a.size());
  for (size_t i = 0; i < a.size(); ++i) want[i] = reference::reduce(c.dtype, c.redop, a[i], b[i]);
  return want;
}

// The first `count` elements at `data` are `want`.
testing::AssertionResult equal(const Reduction& c, const std::byte* data, const Values& want,
                               size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint64_t got = reference::element(c.dtype, data, i);
    if (got == want[i]) continue;
    return testing::AssertionFailure() << describe(c) << ": element " << i << " of " << count
                                       << std::hex << " is 0x" << got << ", want 0x" << want[i];
  }
  return testing::AssertionSuccess();
}

TEST_P(EverySet, combines_every_pair_of_special_values) {
  for (const Reduction& c : all_reductions()) {
    Values a, b;
    for (const uint64_t x : reference::special_values(c.dtype)) {
      for (const uint64_t y : reference::special_values(c.dtype)) {
        a.push_back(x);
        b.push_back(y);
      }
    }
    const Bytes x = reference::pack(c.dtype, a), y = reference::pack(c.dtype, b);
    Bytes out(x.size());
    set().reduce(c.dtype, c.redop, false)(out.data(), x.data(), y.data(), a.size());
    EXPECT_TRUE(equal(c, out.data(), expected(c, a, b), a.size()));
  }
}

// Lengths 0 to 130, starts 0 to 3 elements after an aligned address, output apart or on an input;
// what lies around the output must not change.
TEST_P(EverySet, keeps_to_any_length_alignment_and_aliasing) {
  constexpr size_t kMost = 130;
  for (const Reduction& c : all_reductions()) {
    const size_t size = size_of(c.dtype);
    const Values a = reference::random_values(c.dtype, kMost + 4, 1);
    const Values b = reference::random_values(c.dtype, kMost + 4, 2);
    const Bytes x = reference::pack(c.dtype, a), y = reference::pack(c.dtype, b);
    for (size_t count = 0; count <= kMost; ++count) {
      const size_t start = count % 4, skip = start * size;
      const Values want = expected(c, {a.begin() + static_cast<std::ptrdiff_t>(start), a.end()},
                                   {b.begin() + static_cast<std::ptrdiff_t>(start), b.end()});
      for (int place = 0; place < 3; ++place) {
        Bytes in_x = x, in_y = y, apart(x.size(), std::byte{0x5a});
        Bytes& out = place == 0 ? apart : place == 1 ? in_x : in_y;
        const Bytes before = out;
        set().reduce(c.dtype, c.redop, false)(out.data() + skip, in_x.data() + skip,
                                              in_y.data() + skip, count);
        ASSERT_TRUE(equal(c, out.data() + skip, want, count)) << "place " << place;
        const size_t end = skip + count * size;
        ASSERT_EQ(std::memcmp(out.data(), before.data(), skip), 0);
        ASSERT_EQ(std::memcmp(out.data() + end, before.data() + end, out.size() - end), 0)
            << describe(c) << " wrote behind " << count << " elements";
      }
    }
  }
}

TEST_P(EverySet, reduces_large_buffers_at_odd_addresses) {
  constexpr size_t kElements = 20011;
  for (const Reduction& c : all_reductions()) {
    const Values a = reference::random_values(c.dtype, kElements, 3);
    const Values b = reference::random_values(c.dtype, kElements, 4);
    const Values want = expected(c, a, b);
    const size_t size = size_of(c.dtype);
    // The three buffers start 1, 2 and 5 elements after an aligned address.
    Bytes x(size), y(2 * size), out((kElements + 5) * size);
    const Bytes packed_a = reference::pack(c.dtype, a), packed_b = reference::pack(c.dtype, b);
    x.insert(x.end(), packed_a.begin(), packed_a.end());
    y.insert(y.end(), packed_b.begin(), packed_b.end());
    set().reduce(c.dtype, c.redop, false)(out.data() + 5 * size, x.data() + size,
                                          y.data() + 2 * size, kElements);
    EXPECT_TRUE(equal(c, out.data() + 5 * size, want, kElements));
  }
}

// Any byte but 0 is true, at odd addresses and lengths too.
TEST_P(EverySet, combines_truth_values_of_every_two_bytes) {
  Bytes x(1, std::byte{0xa5}), y(3, std::byte{0xa5});  // what lies before the arrays
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      x.push_back(static_cast<std::byte>(a));
      y.push_back(static_cast<std::byte>(b));
    }
  }
  const std::byte no{0};
  for (const RedOp redop : {RedOp::kSum, RedOp::kMax, RedOp::kProduct, RedOp::kMin}) {
    const bool is_or = redop == RedOp::kSum || redop == RedOp::kMax;
    for (const bool fast : {false, true}) {
      for (const size_t count :
           {size_t{1}, size_t{63}, size_t{1001}, size_t{65535}, x.size() - 1}) {
        const Reducer& reducer = set().reducer(DType::kBool, redop, fast);
        Bytes out(count + 2, std::byte{0x5a}), many = out;
        reducer.pair(out.data() + 1, x.data() + 1, y.data() + 3, count);
        const std::array<const void*, 3> sources = {x.data() + 1, y.data() + 3, x.data() + 1};
        reducer.many(many.data() + 1, sources.data(), sources.size(), count, Stores::kNear);
        EXPECT_EQ(out, many) << to_string(redop);
        for (size_t i = 0; i < count; ++i) {
          const bool a = x[1 + i] != no, b = y[3 + i] != no;
          ASSERT_EQ(out[1 + i] != no, is_or ? a || b : a && b) << to_string(redop) << " " << i;
        }
        ASSERT_EQ(out.front(), std::byte{0x5a});
        ASSERT_EQ(out.back(), std::byte{0x5a});
      }
    }
  }
}

// 16-bit floats: all 65536 values against a few partners.
TEST(Reduce, is_exhaustive_for_16_bit_floats) {
  Values all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  for (const DType dtype : {DType::kF16, DType::kBf16}) {
    const Bytes x = reference::pack(dtype, all);
    for (const RedOp redop : {RedOp::kSum, RedOp::kMin, RedOp::kMax, RedOp::kProduct}) {
      const Reduction c{dtype, redop};
      for (const uint64_t partner : {0x0000u, 0x8000u, 0x0001u, 0x3c01u, 0xbf80u, 0x0401u}) {
        const Values b(all.size(), partner);
        const Bytes y = reference::pack(dtype, b);
        const Values want = expected(c, all, b);
        for (const KernelSet* set : kernel_sets()) {
          Bytes out(x.size());
          set->reduce(dtype, redop, false)(out.data(), x.data(), y.data(), all.size());
          EXPECT_TRUE(equal(c, out.data(), want, all.size())) << set->target;
        }
      }
    }
  }
}

// fast_math: the documented freedom in MIN and MAX, nothing else.
TEST_P(EverySet, fast_math_differs_only_where_documented) {
  size_t used = 0;
  for (const Reduction& c : all_reductions()) {
    const Values a = reference::random_values(c.dtype, 5000, 5);
    const Values b = reference::random_values(c.dtype, 5000, 6);
    const Values want = expected(c, a, b);
    const Bytes x = reference::pack(c.dtype, a), y = reference::pack(c.dtype, b);
    Bytes out(x.size());
    set().reduce(c.dtype, c.redop, true)(out.data(), x.data(), y.data(), a.size());
    const bool extreme =
        row(c.dtype).floating && (c.redop == RedOp::kMin || c.redop == RedOp::kMax);
    const uint64_t sign = uint64_t{1} << (8 * size_of(c.dtype) - 1);
    for (size_t i = 0; i < a.size(); ++i) {
      const uint64_t got = reference::element(c.dtype, out.data(), i);
      if (got == want[i]) continue;
      ++used;
      ASSERT_TRUE(extreme) << describe(c) << ", element " << i;
      const bool zeros = ((a[i] | b[i]) & ~sign) == 0;
      const bool nan = reference::is_nan(c.dtype, a[i]) || reference::is_nan(c.dtype, b[i]);
      ASSERT_TRUE(zeros || nan) << describe(c) << ", element " << i;
      ASSERT_TRUE(got == a[i] || got == b[i] || reference::is_nan(c.dtype, got))
          << describe(c) << ", element " << i;
    }
  }
  // The inputs are full of NaNs: a SIMD target that never used its freedom ran the exact kernel.
  EXPECT_EQ(used > 0, std::string_view(set().target) != "scalar");
}

TEST_P(EverySet, agrees_with_its_own_check) {
  for (const std::string& line : check_kernels(set())) ADD_FAILURE() << line;
}

TEST_P(EverySet, has_the_digest_of_the_reference) {
  EXPECT_EQ(digest_kernels(set()), digest_kernels(*kernel_sets().back()));
}

// ---- check_kernels finds what is broken ----

void sum_f32_without_last(void* dst, const void* a, const void* b, size_t count) {
  const auto sum = kernel_sets().back()->reduce(DType::kF32, RedOp::kSum, false);
  if (count > 0) sum(dst, a, b, count - 1);
}
void sum_u8_one_too_far(void* dst, const void* a, const void* b, size_t count) {
  kernel_sets().back()->reduce(DType::kU8, RedOp::kSum, false)(dst, a, b, count);
  static_cast<uint8_t*>(dst)[count] ^= 1;
}
void truncate_to_bf16(uint16_t* dst, const float* src, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, src + i, sizeof(bits));
    dst[i] = static_cast<uint16_t>(bits >> 16);
  }
}
void sum_i32_of_the_first_two(void* dst, const void* const* sources, size_t, size_t elements,
                              Stores) {
  kernel_sets().back()->reduce(DType::kI32, RedOp::kSum, false)(dst, sources[0], sources[1],
                                                                elements);
}
void copy_but_the_last(void* dst, const void* src, size_t bytes) {
  if (bytes > 0) std::memcpy(dst, src, bytes - 1);
}
uint32_t crc_without_end(uint32_t crc, const void* data, size_t bytes) {
  return kernel_sets().back()->crc32c(crc, data, bytes - bytes / 1000);
}

TEST(Check, names_each_broken_kernel) {
  KernelSet broken = *kernel_sets().back();
  broken.target = "broken";
  broken.exact[static_cast<size_t>(DType::kF32)][static_cast<size_t>(RedOp::kSum)].pair =
      sum_f32_without_last;
  broken.exact[static_cast<size_t>(DType::kU8)][static_cast<size_t>(RedOp::kAvg)].pair =
      sum_u8_one_too_far;
  broken.exact[static_cast<size_t>(DType::kI32)][static_cast<size_t>(RedOp::kSum)].many =
      sum_i32_of_the_first_two;
  broken.copy_far = copy_but_the_last;
  broken.f32_to_bf16 = truncate_to_bf16;
  broken.crc32c = crc_without_end;
  const std::vector<std::string> lines = check_kernels(broken);
  EXPECT_NE(digest_kernels(broken), digest_kernels(*kernel_sets().back()));
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0].rfind("broken sum f32: element 0 of 1 ", 0), 0u) << lines[0];
  EXPECT_EQ(lines[1].rfind("broken sum i32 of 3: ", 0), 0u) << lines[1];
  EXPECT_EQ(lines[2].rfind("broken sum i32 of 5, far: ", 0), 0u) << lines[2];
  EXPECT_EQ(lines[3].rfind("broken avg u8: wrote beyond 0 elements ", 0), 0u) << lines[3];
  EXPECT_EQ(lines[4].rfind("broken f32 to bf16: ", 0), 0u) << lines[4];
  EXPECT_EQ(lines[5].rfind("broken copy_far: ", 0), 0u) << lines[5];
  EXPECT_EQ(lines[6].rfind("broken crc32c: ", 0), 0u) << lines[6];
}

}  // namespace
}  // namespace plumbline
