#include "tests/kernels/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace plumbline::reference {
namespace {

constexpr uint64_t kNanF16 = 0x7e00, kNanBf16 = 0x7fc0, kNanF32 = 0x7fc00000,
                   kNanF64 = 0x7ff8000000000000;

template <typename F>
F float_op(RedOp redop, F a, F b) {
  switch (redop) {
    case RedOp::kSum:
    case RedOp::kAvg:
      return a + b;
    case RedOp::kProduct:
      return a * b;
    case RedOp::kMin:
    case RedOp::kMax:
      break;
  }
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<F>::quiet_NaN();
  const bool a_is_less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
  return a_is_less == (redop == RedOp::kMin) ? a : b;
}

// Two's complement, so that wrapping is unsigned arithmetic; only the order looks at the sign.
uint64_t integer_op(RedOp redop, uint64_t a, uint64_t b, int64_t signed_a, int64_t signed_b) {
  switch (redop) {
    case RedOp::kSum:
    case RedOp::kAvg:
      return a + b;
    case RedOp::kProduct:
      return a * b;
    case RedOp::kMin:
      return signed_a < signed_b ? a : b;
    case RedOp::kMax:
      return signed_a > signed_b ? a : b;
  }
  return 0;
}

// An or that is true is the greater of its bytes, an and that is true the lesser.
uint64_t truth_op(RedOp redop, uint64_t a, uint64_t b) {
  const bool both = redop == RedOp::kProduct || redop == RedOp::kMin;
  const bool truth = both ? a != 0 && b != 0 : a != 0 || b != 0;
  if (!truth) return 0;
  return (a < b) == both ? a : b;
}

float as_f32(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double as_f64(uint64_t bits) { return std::bit_cast<double>(bits); }
int64_t as_i32(uint64_t bits) { return static_cast<int32_t>(static_cast<uint32_t>(bits)); }

uint64_t bits_of(float f) { return std::isnan(f) ? kNanF32 : std::bit_cast<uint32_t>(f); }
uint64_t bits_of(double f) { return std::isnan(f) ? kNanF64 : std::bit_cast<uint64_t>(f); }
uint64_t rounded(const FloatFormat& format, uint64_t nan, float f) {
  return std::isnan(f) ? nan : encode(format, f);
}
float wide(const FloatFormat& format, uint64_t bits) {
  return static_cast<float>(decode(format, bits));
}

const FloatFormat* format_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return &kF32;
    case DType::kF64:
      return &kF64;
    case DType::kF16:
      return &kF16;
    case DType::kBf16:
      return &kBf16;
    default:
      return nullptr;
  }
}

uint64_t low_bits(uint64_t value, size_t bytes) {
  return bytes == 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
}

}  // namespace

double decode(const FloatFormat& format, uint64_t bits) {
  const int top = (1 << format.exponent_bits) - 1;
  const uint64_t significand = bits & ((uint64_t{1} << format.significand_bits) - 1);
  const int exponent = static_cast<int>(bits >> format.significand_bits) & top;
  const bool negative = ((bits >> (format.significand_bits + format.exponent_bits)) & 1) != 0;
  const int bias = top / 2;
  double value = 0;
  if (exponent == top) {
    value = significand == 0 ? std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
  } else {
    const uint64_t hidden = exponent == 0 ? 0 : uint64_t{1} << format.significand_bits;
    value = std::ldexp(static_cast<double>(hidden + significand),
                       std::max(exponent, 1) - bias - format.significand_bits);
  }
  return negative ? -value : value;
}

uint16_t encode(const FloatFormat& format, double value) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint64_t sign = std::signbit(value) ? 0x8000u : 0u;
  const uint64_t infinity = static_cast<uint64_t>(2 * bias + 1) << format.significand_bits;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | infinity);
  int exponent = 0;  // magnitude = fraction * 2^exponent, fraction in [0.5, 1)
  std::frexp(magnitude, &exponent);
  const int scale = std::max(exponent - 1, 1 - bias) - format.significand_bits;
  // In units of the last place; rounded to nearest even by the default rounding mode.
  const double units = std::nearbyint(std::ldexp(magnitude, -scale));
  const double result = std::ldexp(units, scale);
  if (result >= std::ldexp(1.0, bias + 1)) return static_cast<uint16_t>(sign | infinity);
  const auto hidden = uint64_t{1} << format.significand_bits;
  auto significand = static_cast<uint64_t>(units);
  if (significand < hidden) return static_cast<uint16_t>(sign | significand);  // subnormal
  int field = scale + format.significand_bits + bias;
  if (significand == 2 * hidden) {
    significand = hidden;
    ++field;
  }
  return static_cast<uint16_t>(sign | (static_cast<uint64_t>(field) << format.significand_bits) |
                               (significand - hidden));
}

bool is_nan(DType dtype, uint64_t bits) {
  const FloatFormat* format = format_of(dtype);
  return format != nullptr && std::isnan(decode(*format, bits));
}

uint64_t reduce(DType dtype, RedOp redop, uint64_t a, uint64_t b) {
  switch (dtype) {
    case DType::kF32:
      return bits_of(float_op(redop, as_f32(a), as_f32(b)));
    case DType::kF64:
      return bits_of(float_op(redop, as_f64(a), as_f64(b)));
    case DType::kF16:
      return rounded(kF16, kNanF16, float_op(redop, wide(kF16, a), wide(kF16, b)));
    case DType::kBf16:
      return rounded(kBf16, kNanBf16, float_op(redop, wide(kBf16, a), wide(kBf16, b)));
    case DType::kI32:
      return low_bits(integer_op(redop, a, b, as_i32(a), as_i32(b)), 4);
    case DType::kI64:
      return integer_op(redop, a, b, static_cast<int64_t>(a), static_cast<int64_t>(b));
    case DType::kU8:
      return low_bits(integer_op(redop, a, b, static_cast<int64_t>(a), static_cast<int64_t>(b)), 1);
    case DType::kBool:
      return truth_op(redop, a, b);
  }
  return 0;
}

uint64_t scale(DType dtype, uint64_t a, int divisor) {
  const auto by = static_cast<float>(divisor);
  switch (dtype) {
    case DType::kF32:
      return bits_of(as_f32(a) / by);
    case DType::kF64:
      return bits_of(as_f64(a) / divisor);
    case DType::kF16:
      return rounded(kF16, kNanF16, wide(kF16, a) / by);
    case DType::kBf16:
      return rounded(kBf16, kNanBf16, wide(kBf16, a) / by);
    case DType::kI32:
      return low_bits(static_cast<uint64_t>(as_i32(a) / divisor), 4);
    case DType::kI64:
      return static_cast<uint64_t>(static_cast<int64_t>(a) / divisor);
    case DType::kU8:
    case DType::kBool:
      return a / static_cast<uint64_t>(divisor);
  }
  return 0;
}

std::vector<uint64_t> special_values(DType dtype) {
  const size_t bits = 8 * size_of(dtype);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  std::vector<uint64_t> values = {
      0, 1, 2, sign - 1, sign, sign + 1, low_bits(~uint64_t{0}, bits / 8)};
  const FloatFormat* format = format_of(dtype);
  if (format == nullptr) return values;
  const uint64_t one_exponent = uint64_t{1} << format->significand_bits;
  const uint64_t infinity = ((uint64_t{1} << format->exponent_bits) - 1)
                            << format->significand_bits;
  const uint64_t one = (infinity >> 1) & infinity;
  for (const uint64_t v : {uint64_t{1}, one_exponent - 1, one_exponent, one_exponent + 1, one,
                           one + 1, one + one_exponent, infinity - 1, infinity, infinity + 1,
                           infinity + one_exponent / 2, infinity + one_exponent / 2 + 1}) {
    values.push_back(v);
    values.push_back(v | sign);
  }
  return values;
}

std::vector<uint64_t> random_values(DType dtype, size_t count, uint32_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<uint64_t> specials = special_values(dtype);
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) {
    const uint64_t bits = random();
    value =
        bits % 3 == 0 ? specials[random() % specials.size()] : low_bits(random(), size_of(dtype));
  }
  return values;
}

std::vector<std::byte> pack(DType dtype, const std::vector<uint64_t>& values) {
  const size_t size = size_of(dtype);
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&bytes[i * size], &values[i], size);
  return bytes;
}

uint64_t element(DType dtype, const std::byte* data, size_t index) {
  uint64_t value = 0;
  std::memcpy(&value, data + index * size_of(dtype), size_of(dtype));
  return value;
}

std::vector<const KernelSet*> all_sets() {
  const auto sets = kernel_sets();
  return {sets.begin(), sets.end()};
}

std::string set_name(const testing::TestParamInfo<const KernelSet*>& info) {
  return info.param->target;
}

}  // namespace plumbline::reference
