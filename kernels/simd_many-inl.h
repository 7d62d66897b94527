// Compiled once for every SIMD target by simd.cc. Reductions of many sources in one pass: what is
// combined stays in registers from the first source to the last, so that memory is read once per
// source and written once. And stores that pass by the caches.
#if defined(PLUMBLINE_KERNELS_SIMD_MANY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_KERNELS_SIMD_MANY_INL_H_
#undef PLUMBLINE_KERNELS_SIMD_MANY_INL_H_
#else
#define PLUMBLINE_KERNELS_SIMD_MANY_INL_H_
#endif

#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/kernels.h"
#include "kernels/simd_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumbline {
namespace HWY_NAMESPACE {

// A step's sources and its result; elements are counted from the start of all of them.
template <class Step>
struct Many {
  typename Step::Out* out;
  const void* const* sources;
  size_t count;

  HWY_INLINE const typename Step::In* source(size_t k) const {
    return static_cast<const typename Step::In*>(sources[k]);
  }
};

// Stores that pass by the caches write whole registers: half vectors of 128-bit targets, in which
// f16 is widened, are none.
template <class Step>
inline constexpr size_t kVectorBytes = hn::MaxLanes(hn::DFromV<typename Step::V>()) *
                                       sizeof(typename Step::Out);
template <class Step>
inline constexpr bool kHasFar = (HWY_ARCH_X86 != 0) && kVectorBytes<Step> >= 16;

// Vectors that follow each other are combined side by side, to hide the latency of the operator.
template <class Step>
HWY_INLINE void many_vectors(const Many<Step>& m, size_t i, bool far) {
  using V = typename Step::V;
  const size_t n = Step::lanes();
  const auto* first = m.source(0) + i;
  V v0 = Step::load(first), v1 = Step::load(first + n);
  V v2 = Step::load(first + 2 * n), v3 = Step::load(first + 3 * n);
  for (size_t k = 1; k < m.count; ++k) {
    const auto* next = m.source(k) + i;
    v0 = Step::combine(v0, Step::load(next));
    v1 = Step::combine(v1, Step::load(next + n));
    v2 = Step::combine(v2, Step::load(next + 2 * n));
    v3 = Step::combine(v3, Step::load(next + 3 * n));
  }
  auto* out = m.out + i;
  if constexpr (kHasFar<Step>) {
    if (far) {
      const hn::DFromV<V> d;
      hn::Stream(v0, d, out);
      hn::Stream(v1, d, out + n);
      hn::Stream(v2, d, out + 2 * n);
      hn::Stream(v3, d, out + 3 * n);
      return;
    }
  }
  Step::store(v0, out);
  Step::store(v1, out + n);
  Step::store(v2, out + 2 * n);
  Step::store(v3, out + 3 * n);
}

// Fewer elements than a vector has, from `first` on.
template <class Step>
HWY_INLINE void many_part(const Many<Step>& m, size_t first, size_t elements) {
  constexpr size_t kMost = HWY_MAX_BYTES;
  typename Step::In padded[kMost] = {};
  typename Step::Out result[kMost];
  const size_t bytes = elements * sizeof(padded[0]);
  std::memcpy(padded, m.source(0) + first, bytes);
  auto value = Step::load(padded);
  for (size_t k = 1; k < m.count; ++k) {
    std::memcpy(padded, m.source(k) + first, bytes);
    value = Step::combine(value, Step::load(padded));
  }
  Step::store(value, result);
  std::memcpy(m.out + first, result, bytes);
}

template <class Step>
void reduce_many(void* dst, const void* const* sources, size_t count, size_t elements,
                 Stores stores) {
  const Many<Step> m{static_cast<typename Step::Out*>(dst), sources, count};
  const size_t n = Step::lanes();
  bool far = kHasFar<Step> && stores == Stores::kFar;
  size_t i = 0;
  if (far || elements >= 32 * n) {
    i = HWY_MIN(lead<Step>(m.out), elements);
    if (i != 0) many_part(m, 0, i);
    // Such stores fault where not even the elements are aligned, and ordinary ones do not.
    far = far && reinterpret_cast<uintptr_t>(m.out + i) % (n * sizeof(*m.out)) == 0;
  }
  for (; i + 4 * n <= elements; i += 4 * n) many_vectors(m, i, far);
  for (; i < elements; i += n) many_part(m, i, HWY_MIN(n, elements - i));
  if (far) hwy::FlushStream();
}

// One source: nothing is combined.
inline void copy_far(void* dst, const void* src, size_t bytes) {
  if (bytes == 0) return;
  reduce_many<ReducePlain<uint8_t, Sum>>(dst, &src, 1, bytes, Stores::kFar);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plumbline
HWY_AFTER_NAMESPACE();

#endif
