// CRC-32C in plain C++: the slicing-by-8 table algorithm (Kounavis and Berry, "A systematic
// approach to building high performance, software-based, CRC generators", 2005), and the tables
// with which SIMD targets join the checksums of lanes they computed side by side. The register is
// bit-reflected: its top bit is the coefficient of x^0. Pure, thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plumbline {

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

// x^(8 bytes) modulo the polynomial: multiplying a register by it appends that many zero bytes.
constexpr uint32_t crc32c_zeros(size_t bytes) {
  uint32_t power = 0x00800000u;   // x^8
  uint32_t result = 0x80000000u;  // x^0
  for (; bytes != 0; bytes >>= 1) {
    if ((bytes & 1u) != 0) result = crc32c_multiply(result, power);
    power = crc32c_multiply(power, power);
  }
  return result;
}

// [k][byte k of the register] -> its share of the register after `bytes` zero bytes.
using Crc32cShiftTable = std::array<std::array<uint32_t, 256>, 4>;
constexpr Crc32cShiftTable make_crc32c_shift(size_t bytes) {
  Crc32cShiftTable table{};
  const uint32_t factor = crc32c_zeros(bytes);
  for (size_t k = 0; k < 4; ++k) {
    for (uint32_t bit = 1; bit < 256; bit <<= 1) {
      const uint32_t share = crc32c_multiply(bit << (8 * k), factor);
      for (uint32_t low = 0; low < bit; ++low) table[k][bit + low] = share ^ table[k][low];
    }
  }
  return table;
}

constexpr uint32_t crc32c_shift(const Crc32cShiftTable& table, uint32_t crc) {
  return table[0][crc & 255u] ^ table[1][(crc >> 8) & 255u] ^ table[2][(crc >> 16) & 255u] ^
         table[3][crc >> 24];
}

// The CrcFn of the scalar set, and of SIMD targets without a CRC instruction.
uint32_t crc32c_by_table(uint32_t crc, const void* data, size_t bytes);

}  // namespace plumbline
