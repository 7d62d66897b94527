// The definitions that every SIMD kernel has to meet, one number or byte at a time. The two 16-bit
// floats: f16 is IEEE 754 binary16 (5 exponent bits, 11 significant bits), bf16 is the upper half
// of an f32 (8 exponent bits, 8 significant bits). Narrowing rounds to nearest, ties to even, keeps
// subnormals, and a NaN keeps its sign and the upper bits of its payload and becomes quiet, as x86
// and ARM hardware do it. CRC-32C in plain C++: the slicing-by-8 table algorithm (Kounavis and
// Berry, "A systematic approach to building high performance, software-based, CRC generators",
// 2005), and the powers with which SIMD targets join what they computed side by side; the register
// is bit-reflected: its top bit is the coefficient of x^0. Pure, thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace plumbline {

inline float widen_bf16(uint16_t h) {
  const uint32_t bits = static_cast<uint32_t>(h) << 16;
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return std::bit_cast<float>(nan ? bits | 0x00400000u : bits);
}

inline uint16_t narrow_bf16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x0040u);
  // Half of the last place, less one when the result would be even: a tie then goes to even. A
  // carry out of the significand raises the exponent, up to infinity, which is what rounding asks
  // for.
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float widen_f16(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity or NaN
    const uint32_t quiet = magnitude > 0x7c00u ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude << 13) | quiet);
  }
  // As an f32 exponent the f16 exponent is too small by 127 - 15 = 112; the multiplication repairs
  // that, exactly, for normal and subnormal numbers alike.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

inline uint16_t narrow_f16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half = 0;
  if (magnitude > 0x7f800000u) {  // NaN
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x47800000u) {  // 65536 and more
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14, the smallest normal f16
    // Adding 0.5 puts the last place of an f16 subnormal, 2^-24, onto the last place of the f32
    // sum: the addition itself rounds to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

// A NaN that arithmetic returns: positive, quiet, no payload. IEEE 754 leaves sign and payload open
// and CPUs differ; one fixed NaN makes results equal on all of them and in any order of operands.
inline constexpr uint32_t kQuietNanF32 = 0x7fc00000u;
inline constexpr uint64_t kQuietNanF64 = 0x7ff8000000000000u;

inline constexpr uint32_t kCrc32cPolynomial = 0x82f63b78u;  // Castagnoli, reflected

constexpr uint32_t crc32c_times_x(uint32_t v) {
  return (v & 1u) != 0 ? (v >> 1) ^ kCrc32cPolynomial : v >> 1;
}

// a * b modulo the polynomial.
constexpr uint32_t crc32c_multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = crc32c_times_x(b);
  }
  return product;
}

// x^n modulo the polynomial.
constexpr uint32_t crc32c_power(uint64_t n) {
  uint32_t power = 0x40000000u;   // x^1
  uint32_t result = 0x80000000u;  // x^0
  for (; n != 0; n >>= 1) {
    if ((n & 1u) != 0) result = crc32c_multiply(result, power);
    power = crc32c_multiply(power, power);
  }
  return result;
}

// The CrcFn of the scalar set, and of SIMD targets without a CRC instruction.
uint32_t crc32c_by_table(uint32_t crc, const void* data, size_t bytes);

}  // namespace plumbline
