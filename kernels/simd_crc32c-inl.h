// Compiled once for every SIMD target by simd.cc. CRC-32C with the CPU's CRC instruction (SSE4.2,
// or the CRC extension of ARMv8) and its carry-less multiplication at once: crc32c_blocks-inl.h
// says how. Which vectors a target multiplies is told here. Two instructions belong to no target of
// Highway's, so that what uses them is compiled apart and asked for at run time: VPCLMULQDQ beside
// AVX2 (Zen 3, Alder Lake), and the CRC extension where the compiler does not take it for granted.
#if defined(PLUMBLINE_KERNELS_SIMD_CRC32C_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_KERNELS_SIMD_CRC32C_INL_H_
#undef PLUMBLINE_KERNELS_SIMD_CRC32C_INL_H_
#else
#define PLUMBLINE_KERNELS_SIMD_CRC32C_INL_H_
#endif

#include <cstring>
#include <utility>

#include "hwy/highway.h"
#include "kernels/scalar.h"
#if HWY_ARCH_ARM_A64
#include <arm_acle.h>
#if HWY_OS_LINUX
#include <sys/auxv.h>
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace plumbline {
namespace HWY_NAMESPACE {

// How a target multiplies: vectors of this many bytes, and how many of them and how many words per
// lane are worked on side by side. The numbers keep the units of both instructions equally busy:
// measured on Zen 3, elsewhere assumed to be alike.
struct Blocks {
#if HWY_TARGET == HWY_AVX3_DL
  using D = hwy::HWY_NAMESPACE::ScalableTag<uint64_t>;
  static constexpr size_t kVectors = 3, kWords = 2;
#elif HWY_TARGET == HWY_SSE4
  // The CPUs whose best target this is multiply slowly; and without VEX there are too many moves.
  using D = hwy::HWY_NAMESPACE::FixedTag<uint64_t, 2>;
  static constexpr size_t kVectors = 0, kWords = 4;
#else
  using D = hwy::HWY_NAMESPACE::FixedTag<uint64_t, 2>;
  static constexpr size_t kVectors = 4, kWords = HWY_ARCH_X86 ? 4 : 3;
#endif
  using V = hwy::HWY_NAMESPACE::Vec<D>;
  static HWY_INLINE V low(V a, V b) { return hwy::HWY_NAMESPACE::CLMulLower(a, b); }
  static HWY_INLINE V high(V a, V b) { return hwy::HWY_NAMESPACE::CLMulUpper(a, b); }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
#define PLUMBLINE_CRC32C_WIDE (HWY_TARGET == HWY_AVX2)
using CrcRegister = uint64_t;  // the upper half is zero
HWY_INLINE CrcRegister crc_word(CrcRegister crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
HWY_INLINE uint32_t crc_byte(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
#include "kernels/crc32c_blocks-inl.h"
#elif HWY_ARCH_ARM_A64 && defined(__ARM_FEATURE_CRC32)
#define PLUMBLINE_CRC32C_WIDE 0
using CrcRegister = uint32_t;
HWY_INLINE CrcRegister crc_word(CrcRegister crc, uint64_t word) { return __crc32cd(crc, word); }
HWY_INLINE uint32_t crc_byte(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
#include "kernels/crc32c_blocks-inl.h"
#else
// clang knows the instruction only where it is taken for granted.
#define PLUMBLINE_CRC32C_WIDE (HWY_ARCH_ARM_A64 && HWY_COMPILER_GCC_ACTUAL && HWY_OS_LINUX)
inline uint32_t crc32c_by_blocks(uint32_t crc, const void* data, size_t bytes) {
  return crc32c_by_table(crc, data, bytes);
}
#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plumbline
HWY_AFTER_NAMESPACE();

#if PLUMBLINE_CRC32C_WIDE
#if HWY_ARCH_X86
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",vpclmulqdq")
#else
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR "+crc")
#endif
namespace plumbline {
namespace HWY_NAMESPACE {
namespace wide {

#if HWY_ARCH_X86
struct Blocks {
  using D = hwy::HWY_NAMESPACE::ScalableTag<uint64_t>;
  static constexpr size_t kVectors = 3, kWords = 3;
  using V = hwy::HWY_NAMESPACE::Vec<D>;
  static HWY_INLINE V low(V a, V b) { return V{_mm256_clmulepi64_epi128(a.raw, b.raw, 0x00)}; }
  static HWY_INLINE V high(V a, V b) { return V{_mm256_clmulepi64_epi128(a.raw, b.raw, 0x11)}; }
};
inline bool is_here() { return __builtin_cpu_supports("vpclmulqdq") != 0; }
#else
using CrcRegister = uint32_t;
HWY_INLINE CrcRegister crc_word(CrcRegister crc, uint64_t word) { return __crc32cd(crc, word); }
HWY_INLINE uint32_t crc_byte(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
inline bool is_here() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#endif
#include "kernels/crc32c_blocks-inl.h"

}  // namespace wide
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plumbline
HWY_AFTER_NAMESPACE();
#endif

HWY_BEFORE_NAMESPACE();
namespace plumbline {
namespace HWY_NAMESPACE {

inline uint32_t crc32c(uint32_t crc, const void* data, size_t bytes) {
#if PLUMBLINE_CRC32C_WIDE
  if (wide::is_here()) return wide::crc32c_by_blocks(crc, data, bytes);
#endif
  return crc32c_by_blocks(crc, data, bytes);
}
#undef PLUMBLINE_CRC32C_WIDE

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plumbline
HWY_AFTER_NAMESPACE();

#endif
