// What the kernels have to compute, written a second time and differently: elements are bits in a
// uint64_t, 16-bit floats are decoded and rounded through double arithmetic. Slow and plain.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/op.h"
#include "kernels/kernels.h"

namespace plumbline::reference {

struct FloatFormat {
  int exponent_bits;
  int significand_bits;  // without the hidden one
};
inline constexpr FloatFormat kF16{5, 10};
inline constexpr FloatFormat kBf16{8, 7};
inline constexpr FloatFormat kF32{8, 23};
inline constexpr FloatFormat kF64{11, 52};

// The value of a bit pattern, exactly; NaN for every NaN.
double decode(const FloatFormat& format, uint64_t bits);
// The nearest number of a 16-bit format, ties to even, as bits; `value` must not be NaN.
uint16_t encode(const FloatFormat& format, double value);
bool is_nan(DType dtype, uint64_t bits);  // false for integers

// One element of dst = a (op) b and of dst = a / divisor, fast_math off.
uint64_t reduce(DType dtype, RedOp redop, uint64_t a, uint64_t b);
uint64_t scale(DType dtype, uint64_t a, int divisor);

// Zeros, subnormals, limits, infinities, quiet and signalling NaNs of both signs; for integers the
// limits and what lies beside them.
std::vector<uint64_t> special_values(DType dtype);
// Specials and arbitrary bits mixed, `count` of them.
std::vector<uint64_t> random_values(DType dtype, size_t count, uint32_t seed);

// Elements to bytes in memory and back.
std::vector<std::byte> pack(DType dtype, const std::vector<uint64_t>& values);
uint64_t element(DType dtype, const std::byte* data, size_t index);

// For parameterised tests: one run per kernel set of this machine, named after it.
std::vector<const KernelSet*> all_sets();
std::string set_name(const testing::TestParamInfo<const KernelSet*>& info);

}  // namespace plumbline::reference
