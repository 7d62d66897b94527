// The two 16-bit floats, one number at a time: the definition of rounding that every SIMD kernel
// has to meet. f16 is IEEE 754 binary16 (5 exponent bits, 11 significant bits), bf16 is the upper
// half of an f32 (8 exponent bits, 8 significant bits). Narrowing rounds to nearest, ties to even,
// keeps subnormals, and a NaN keeps its sign and the upper bits of its payload and becomes quiet,
// as x86 and ARM hardware do it. Pure, thread-safe.
#pragma once

#include <bit>
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

}  // namespace plumbline
