// bf16 with AVX512_BF16 (Cooper Lake, Zen 4 and later). VCVTNE2PS2BF16 rounds to nearest even but
// takes subnormal numbers as zero and keeps the payloads of NaNs, whatever MXCSR says. Both are
// rare and cheap to see (VFPCLASSPS), so a vector without them is rounded by the instruction, and
// any other with integers: the results are equal to the reference, bit for bit.
#include <immintrin.h>

#include <cstring>
#include <string_view>

#include "kernels/sets.h"

// Per function and not per file: nothing else in here may be compiled to instructions that the CPU
// might not have.
#define PLUMBLINE_BF16_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define PLUMBLINE_BF16_INLINE PLUMBLINE_BF16_TARGET inline __attribute__((always_inline))

namespace plumbline {
namespace {

constexpr size_t kLanes = 32;  // bf16 elements in a vector
constexpr int kNanOrSubnormal =
    0x01 | 0x20 | 0x80;  // VFPCLASS: quiet NaN, subnormal, signalling NaN

struct Sum {
  PLUMBLINE_BF16_INLINE static __m512 run(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
};
struct Product {
  PLUMBLINE_BF16_INLINE static __m512 run(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
};

// FixNan: every NaN becomes the positive one without payload, as results of arithmetic do;
// otherwise it keeps its upper bits, as in a conversion. Rounded in the lower 16 bits of each lane.
template <bool FixNan>
PLUMBLINE_BF16_INLINE __m512i round_with_integers(__m512 v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i upper = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __m512i nan =
      FixNan ? _mm512_set1_epi32(0x7fc0) : _mm512_or_si512(upper, _mm512_set1_epi32(0x0040));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_mask_mov_epi32(_mm512_srli_epi32(sum, 16), is_nan, nan);
}

// The 16 numbers of `low`, then those of `high`.
template <bool FixNan>
PLUMBLINE_BF16_INLINE __m512i narrow(__m512 low, __m512 high) {
  const __mmask16 rare_low = _mm512_fpclass_ps_mask(low, kNanOrSubnormal);
  const __mmask16 rare_high = _mm512_fpclass_ps_mask(high, kNanOrSubnormal);
  if (__builtin_expect(_kortestz_mask16_u8(rare_low, rare_high) == 0, 0)) {
    const __m256i first = _mm512_cvtepi32_epi16(round_with_integers<FixNan>(low));
    const __m256i second = _mm512_cvtepi32_epi16(round_with_integers<FixNan>(high));
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
  }
  const __m512bh rounded = _mm512_cvtne2ps_pbh(high, low);
  return reinterpret_cast<const __m512i&>(rounded);
}

PLUMBLINE_BF16_INLINE __m512 widen(const uint16_t* p) {
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

template <class Op>
PLUMBLINE_BF16_INLINE void reduce_vector(uint16_t* out, const uint16_t* a, const uint16_t* b) {
  const __m512 low = Op::run(widen(a), widen(b));
  const __m512 high = Op::run(widen(a + 16), widen(b + 16));
  _mm512_storeu_si512(out, narrow<true>(low, high));
}

// Fewer elements than a vector has, through buffers of one vector.
template <class Op>
PLUMBLINE_BF16_INLINE void reduce_part(uint16_t* out, const uint16_t* a, const uint16_t* b,
                                       size_t count) {
  uint16_t part_a[kLanes] = {}, part_b[kLanes] = {}, result[kLanes];
  std::memcpy(part_a, a, count * sizeof(uint16_t));
  std::memcpy(part_b, b, count * sizeof(uint16_t));
  reduce_vector<Op>(result, part_a, part_b);
  std::memcpy(out, result, count * sizeof(uint16_t));
}

template <class Op>
PLUMBLINE_BF16_TARGET void reduce(void* dst, const void* a, const void* b, size_t count) {
  auto* out = static_cast<uint16_t*>(dst);
  const auto* x = static_cast<const uint16_t*>(a);
  const auto* y = static_cast<const uint16_t*>(b);
  size_t i = 0;
  if (count >= 32 * kLanes) {  // enough for aligned stores to pay off
    i = (64 - reinterpret_cast<uintptr_t>(out) % 64) % 64 / sizeof(uint16_t);
    if (i != 0) reduce_part<Op>(out, x, y, i);
  }
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    reduce_vector<Op>(out + i, x + i, y + i);
    reduce_vector<Op>(out + i + kLanes, x + i + kLanes, y + i + kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) reduce_vector<Op>(out + i, x + i, y + i);
  if (i != count) reduce_part<Op>(out + i, x + i, y + i, count - i);
}

PLUMBLINE_BF16_TARGET void narrow_all(uint16_t* dst, const float* src, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m512 low = _mm512_loadu_ps(src + i);
    _mm512_storeu_si512(dst + i, narrow<false>(low, _mm512_loadu_ps(src + i + 16)));
  }
  if (i == count) return;
  float part[kLanes] = {};
  uint16_t result[kLanes];
  std::memcpy(part, src + i, (count - i) * sizeof(float));
  const __m512 low = _mm512_loadu_ps(part);
  _mm512_storeu_si512(result, narrow<false>(low, _mm512_loadu_ps(part + 16)));
  std::memcpy(dst + i, result, (count - i) * sizeof(uint16_t));
}

}  // namespace

std::optional<KernelSet> with_native_bf16(const KernelSet& base) {
  const bool avx512 = std::string_view(base.target).starts_with("AVX3");
  if (!avx512 || !__builtin_cpu_supports("avx512bf16")) return std::nullopt;
  KernelSet set = base;
  set.target = "AVX3_BF16";
  const auto bf16 = static_cast<size_t>(DType::kBf16);
  for (auto* table : {set.exact, set.fast}) {
    table[bf16][static_cast<size_t>(RedOp::kSum)].pair = reduce<Sum>;
    table[bf16][static_cast<size_t>(RedOp::kAvg)].pair = reduce<Sum>;
    table[bf16][static_cast<size_t>(RedOp::kProduct)].pair = reduce<Product>;
  }
  set.f32_to_bf16 = narrow_all;
  return set;
}

}  // namespace plumbline
