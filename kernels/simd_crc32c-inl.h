// Compiled once for every SIMD target by simd.cc. CRC-32C with the CPU's CRC instruction (SSE4.2,
// or the CRC extension of ARMv8). The instruction has a latency of three cycles and a throughput of
// one, so three lanes that lie side by side in the buffer are computed at once and joined by a
// table (Gopal et al., "Fast CRC computation for iSCSI polynomial using CRC32 instruction", Intel,
// 2011).
#if defined(PLUMBLINE_KERNELS_SIMD_CRC32C_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_KERNELS_SIMD_CRC32C_INL_H_
#undef PLUMBLINE_KERNELS_SIMD_CRC32C_INL_H_
#else
#define PLUMBLINE_KERNELS_SIMD_CRC32C_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "kernels/scalar.h"
#if HWY_ARCH_ARM_A64 && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#ifndef PLUMBLINE_KERNELS_CRC32C_LANES
#define PLUMBLINE_KERNELS_CRC32C_LANES
namespace plumbline {
// Bytes per lane: long lanes while there is plenty, short ones for the rest.
template <size_t Bytes>
inline constexpr Crc32cShiftTable kCrc32cShift = make_crc32c_shift(Bytes);
inline constexpr size_t kCrc32cLongLane = 2048;
inline constexpr size_t kCrc32cShortLane = 128;
}  // namespace plumbline
#endif

HWY_BEFORE_NAMESPACE();
namespace plumbline {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
#define PLUMBLINE_HAVE_CRC32C 1
using CrcRegister = uint64_t;  // the upper half is zero
HWY_INLINE CrcRegister crc_word(CrcRegister crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
HWY_INLINE uint32_t crc_byte(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
#elif HWY_ARCH_ARM_A64 && defined(__ARM_FEATURE_CRC32)
#define PLUMBLINE_HAVE_CRC32C 1
using CrcRegister = uint32_t;
HWY_INLINE CrcRegister crc_word(CrcRegister crc, uint64_t word) { return __crc32cd(crc, word); }
HWY_INLINE uint32_t crc_byte(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
#else
#define PLUMBLINE_HAVE_CRC32C 0
#endif

#if PLUMBLINE_HAVE_CRC32C
HWY_INLINE uint64_t load_word(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

// Three lanes of Bytes from p on.
template <size_t Bytes>
HWY_INLINE uint32_t crc_three(uint32_t crc, const uint8_t* p) {
  CrcRegister c0 = crc, c1 = 0, c2 = 0;
  for (size_t i = 0; i < Bytes; i += 8) {
    c0 = crc_word(c0, load_word(p + i));
    c1 = crc_word(c1, load_word(p + Bytes + i));
    c2 = crc_word(c2, load_word(p + 2 * Bytes + i));
  }
  const auto& shift = kCrc32cShift<Bytes>;
  const uint32_t first_two =
      crc32c_shift(shift, static_cast<uint32_t>(c0)) ^ static_cast<uint32_t>(c1);
  return crc32c_shift(shift, first_two) ^ static_cast<uint32_t>(c2);
}

inline uint32_t crc32c(uint32_t crc, const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; bytes >= 3 * kCrc32cLongLane; bytes -= 3 * kCrc32cLongLane, p += 3 * kCrc32cLongLane) {
    crc = crc_three<kCrc32cLongLane>(crc, p);
  }
  for (; bytes >= 3 * kCrc32cShortLane; bytes -= 3 * kCrc32cShortLane, p += 3 * kCrc32cShortLane) {
    crc = crc_three<kCrc32cShortLane>(crc, p);
  }
  CrcRegister wide = crc;
  for (; bytes >= 8; bytes -= 8, p += 8) wide = crc_word(wide, load_word(p));
  crc = static_cast<uint32_t>(wide);
  for (; bytes != 0; --bytes, ++p) crc = crc_byte(crc, *p);
  return ~crc;
}
#else
inline uint32_t crc32c(uint32_t crc, const void* data, size_t bytes) {
  return crc32c_by_table(crc, data, bytes);
}
#endif
#undef PLUMBLINE_HAVE_CRC32C

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plumbline
HWY_AFTER_NAMESPACE();

#endif
