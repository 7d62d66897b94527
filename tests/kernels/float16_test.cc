// Conversions between f32 and the 16-bit floats, on every target: all 65536 values one way, ties
// and their neighbours, special values and random bits the other way.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "tests/kernels/reference.h"

namespace plumbline {
namespace {

struct Converter {
  const char* name;
  DType dtype;
  reference::FloatFormat format;
  NarrowFn KernelSet::*narrow;
  WidenFn KernelSet::*widen;
};
const Converter kConverters[] = {
    {"f16", DType::kF16, reference::kF16, &KernelSet::f32_to_f16, &KernelSet::f16_to_f32},
    {"bf16", DType::kBf16, reference::kBf16, &KernelSet::f32_to_bf16, &KernelSet::bf16_to_f32},
};

class Float16 : public testing::TestWithParam<const KernelSet*> {
 protected:
  std::vector<float> widen(const Converter& c, const std::vector<uint16_t>& in) const {
    std::vector<float> out(in.size());
    (GetParam()->*c.widen)(out.data(), in.data(), in.size());
    return out;
  }
  std::vector<uint16_t> narrow(const Converter& c, const std::vector<float>& in) const {
    std::vector<uint16_t> out(in.size());
    (GetParam()->*c.narrow)(out.data(), in.data(), in.size());
    return out;
  }
  // Each of `in` narrows to what double arithmetic says; a NaN to the quiet NaN with its upper
  // bits.
  void expect_narrow(const Converter& c, const std::vector<float>& in) const {
    const std::vector<uint16_t> out = narrow(c, in);
    const uint32_t shift = 23 - static_cast<uint32_t>(c.format.significand_bits);
    const uint32_t quiet = 1u << (c.format.significand_bits - 1);
    const uint32_t infinity = ((1u << c.format.exponent_bits) - 1) << c.format.significand_bits;
    for (size_t i = 0; i < in.size(); ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(in[i]);
      const uint32_t payload = (bits & 0x7fffffu) >> shift;
      const uint32_t want = std::isnan(in[i])
                                ? ((bits >> 16) & 0x8000u) | infinity | quiet | payload
                                : reference::encode(c.format, static_cast<double>(in[i]));
      ASSERT_EQ(out[i], want) << c.name << " of bits " << std::hex << bits;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Convert, Float16, testing::ValuesIn(reference::all_sets()),
                         reference::set_name);

std::vector<uint16_t> all_values() {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  return all;
}

TEST_P(Float16, widens_every_value_exactly_and_narrows_it_back) {
  for (const Converter& c : kConverters) {
    const std::vector<uint16_t> all = all_values();
    const std::vector<float> wide = widen(c, all);
    const std::vector<uint16_t> back = narrow(c, wide);
    const uint32_t quiet = 1u << (c.format.significand_bits - 1);
    for (size_t i = 0; i < all.size(); ++i) {
      if (reference::is_nan(c.dtype, i)) {
        const uint32_t bits = std::bit_cast<uint32_t>(wide[i]);
        ASSERT_TRUE(std::isnan(wide[i])) << c.name << " " << std::hex << i;
        ASSERT_NE(bits & 0x00400000u, 0u) << c.name << ": signalling " << std::hex << i;
        ASSERT_EQ(back[i], i | quiet) << c.name << " " << std::hex << i;
      } else {
        const double want = reference::decode(c.format, i);
        ASSERT_EQ(std::bit_cast<uint64_t>(static_cast<double>(wide[i])),
                  std::bit_cast<uint64_t>(want))
            << c.name << " " << std::hex << i;
        ASSERT_EQ(back[i], i) << c.name;
      }
    }
  }
}

// Half way between each two neighbours, and one f32 to either side of it.
TEST_P(Float16, rounds_ties_to_even_everywhere) {
  for (const Converter& c : kConverters) {
    std::vector<float> in;
    const uint32_t infinity = ((1u << c.format.exponent_bits) - 1) << c.format.significand_bits;
    for (uint32_t h = 0; h + 1 < infinity; ++h) {
      const double low = reference::decode(c.format, h), high = reference::decode(c.format, h + 1);
      const float tie = static_cast<float>((low + high) / 2);  // exact: one bit more
      for (const float f : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, INFINITY)}) {
        in.push_back(f);
        in.push_back(-f);
      }
    }
    expect_narrow(c, in);
  }
}

TEST_P(Float16, rounds_known_values) {
  const std::vector<float> in = {65504.0f,   65519.0f,  65520.0f,        0x1p-24f,         0x1p-25f,
                                 0x1.8p-25f, 0x1p-149f, 1.0f + 0x1p-11f, 1.0f + 0x1.8p-10f};
  const std::vector<uint16_t> want = {0x7bff, 0x7bff, 0x7c00, 0x0001, 0x0000,
                                      0x0001, 0x0000, 0x3c00, 0x3c02};
  EXPECT_EQ(narrow(kConverters[0], in), want);
  // bf16: a subnormal stays, the largest f32 becomes infinity, ties go to even.
  const std::vector<float> in_b = {0x1p-133f,       0x1p-134f,      0x1.8p-134f,
                                   0x1.fffffep127f, 1.0f + 0x1p-8f, 1.0f + 0x1.8p-7f};
  const std::vector<uint16_t> want_b = {0x0001, 0x0000, 0x0001, 0x7f80, 0x3f80, 0x3f82};
  EXPECT_EQ(narrow(kConverters[1], in_b), want_b);
}

TEST_P(Float16, narrows_special_and_random_bits) {
  std::vector<float> in;
  for (const uint64_t bits : reference::special_values(DType::kF32)) {
    in.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  std::mt19937 random(11);
  for (int i = 0; i < 200000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    in.push_back(std::bit_cast<float>(bits));
    // Near the range of f16, which few random exponents hit.
    in.push_back(std::bit_cast<float>((bits & 0x80ffffffu) | (0x33u + i % 21) << 24));
  }
  for (const Converter& c : kConverters) expect_narrow(c, in);
}

TEST_P(Float16, converts_any_length_and_nothing_beyond) {
  for (const Converter& c : kConverters) {
    const std::vector<uint16_t> all = all_values();
    for (size_t count = 0; count <= 130; ++count) {
      const size_t start = count % 5;
      std::vector<float> wide(140, 42.0f);
      (GetParam()->*c.widen)(wide.data() + start, all.data() + 0x3c00 + start, count);
      std::vector<uint16_t> back(140, 0x5a5a);
      (GetParam()->*c.narrow)(back.data() + start, wide.data() + start, count);
      for (size_t i = 0; i < wide.size(); ++i) {
        const bool inside = i >= start && i < start + count;
        const double want = inside ? reference::decode(c.format, 0x3c00 + i) : 42.0;
        ASSERT_EQ(static_cast<double>(wide[i]), want) << c.name << " " << count << " at " << i;
        ASSERT_EQ(back[i], inside ? 0x3c00 + i : 0x5a5a) << c.name << " " << count << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
