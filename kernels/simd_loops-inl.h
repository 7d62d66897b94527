// Compiled once for every SIMD target by simd.cc. The loops over whole buffers: one driver, and the
// steps that it repeats. A step reads a fixed number of elements from two inputs and returns one
// vector of results; a unary step gets its input twice. The rest at the end of a buffer passes
// through the same step in small padded buffers, so that it is computed by the same instructions.
#if defined(PLUMBLINE_KERNELS_SIMD_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_KERNELS_SIMD_LOOPS_INL_H_
#undef PLUMBLINE_KERNELS_SIMD_LOOPS_INL_H_
#else
#define PLUMBLINE_KERNELS_SIMD_LOOPS_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "kernels/simd_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumbline {
namespace HWY_NAMESPACE {

// ---- steps: In, Out, lanes(), operator()(a, b) -> vector, store(vector, out); those of reductions
// also load(a) -> vector, combine(vector, vector) -> vector ----

template <typename T, class Op>
struct ReducePlain {
  using In = T;
  using Out = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static HWY_INLINE size_t lanes() { return hn::Lanes(D()); }
  static HWY_INLINE V load(const T* p) { return hn::LoadU(D(), p); }
  static HWY_INLINE V combine(V a, V b) { return Op::run(D(), a, b); }
  HWY_INLINE V operator()(const T* a, const T* b) const { return combine(load(a), load(b)); }
  static HWY_INLINE void store(hn::Vec<D> v, T* out) { hn::StoreU(v, D(), out); }
};

template <typename T>
struct DividePlain : ReducePlain<T, Sum> {
  using D = hn::ScalableTag<T>;
  T divisor;
  explicit DividePlain(int by) : divisor(static_cast<T>(by)) {}
  HWY_INLINE hn::Vec<D> operator()(const T* a, const T*) const {
    return fix_nan(D(), hn::Div(hn::LoadU(D(), a), hn::Set(D(), divisor)));
  }
};

// f16: a half vector of 16-bit lanes becomes a full vector of f32.
struct HalfStep {
  using In = uint16_t;
  using Out = uint16_t;
  using D = hn::ScalableTag<float>;
  using D16 = hn::Rebind<uint16_t, D>;
  using V = hn::Vec<D16>;
  static HWY_INLINE size_t lanes() { return hn::Lanes(D()); }
  static HWY_INLINE V load(const uint16_t* p) { return hn::LoadU(D16(), p); }
  static HWY_INLINE void store(V v, uint16_t* out) { hn::StoreU(v, D16(), out); }
};
template <class Op>
struct ReduceHalf : HalfStep {
  static HWY_INLINE V combine(V a, V b) {
    return narrow_half(D(), Op::run(D(), widen_half(D(), a), widen_half(D(), b)));
  }
  HWY_INLINE V operator()(const uint16_t* a, const uint16_t* b) const {
    return combine(load(a), load(b));
  }
};
struct DivideHalf : HalfStep {
  float divisor;
  explicit DivideHalf(int by) : divisor(static_cast<float>(by)) {}
  HWY_INLINE V operator()(const uint16_t* a, const uint16_t*) const {
    const auto x = widen_half(D(), load(a));
    return narrow_half(D(), fix_nan(D(), hn::Div(x, hn::Set(D(), divisor))));
  }
};

// bf16: an f32 with 16 zero bits below, so the odd elements of a vector are f32 numbers where they
// lie, and the even ones after a shift: no lane has to move.
struct BrainStep {
  using In = uint16_t;
  using Out = uint16_t;
  using D = hn::ScalableTag<float>;
  using D32 = hn::ScalableTag<uint32_t>;
  using D16 = hn::ScalableTag<uint16_t>;
  using F = hn::Vec<D>;
  using V = hn::Vec<D16>;
  static HWY_INLINE size_t lanes() { return hn::Lanes(D16()); }
  static HWY_INLINE hn::Vec<D32> upper() { return hn::Set(D32(), 0xffff0000u); }
  static HWY_INLINE V load(const uint16_t* p) { return hn::LoadU(D16(), p); }
  static HWY_INLINE F even(V v) {
    return hn::BitCast(D(), hn::ShiftLeft<16>(hn::BitCast(D32(), v)));
  }
  static HWY_INLINE F odd(V v) { return hn::BitCast(D(), hn::And(hn::BitCast(D32(), v), upper())); }
  template <bool Rounds>
  static HWY_INLINE V join(F even, F odd) {
    auto low = hn::BitCast(D32(), even);
    auto high = hn::BitCast(D32(), odd);
    if constexpr (Rounds) {
      low = round_brain(D32(), low);
      high = hn::And(round_brain(D32(), high), upper());
    }
    return hn::BitCast(D16(), hn::Or(hn::ShiftRight<16>(low), high));
  }
  static HWY_INLINE void store(V v, uint16_t* out) { hn::StoreU(v, D16(), out); }
};
template <class Op>
struct ReduceBrain : BrainStep {
  static HWY_INLINE V combine(V a, V b) {
    return join<Op::kRounds>(Op::run(D(), even(a), even(b)), Op::run(D(), odd(a), odd(b)));
  }
  HWY_INLINE V operator()(const uint16_t* a, const uint16_t* b) const {
    return combine(load(a), load(b));
  }
};
struct DivideBrain : BrainStep {
  float divisor;
  explicit DivideBrain(int by) : divisor(static_cast<float>(by)) {}
  HWY_INLINE V operator()(const uint16_t* a, const uint16_t*) const {
    const V x = load(a);
    const F by = hn::Set(D(), divisor);
    return join<true>(fix_nan(D(), hn::Div(even(x), by)), fix_nan(D(), hn::Div(odd(x), by)));
  }
};

// Two 32-bit integers divide exactly in f64: quotients that are no integers lie at least 2^-31 from
// one, far more than the rounding of an f64 of that size.
struct DivideI32 {
  using In = int32_t;
  using Out = int32_t;
  using D = hn::ScalableTag<double>;
  using D32 = hn::Rebind<int32_t, D>;
  double divisor;
  explicit DivideI32(int by) : divisor(by) {}
  static HWY_INLINE size_t lanes() { return hn::Lanes(D()); }
  HWY_INLINE hn::Vec<D32> operator()(const int32_t* a, const int32_t*) const {
    const auto wide = hn::PromoteTo(D(), hn::LoadU(D32(), a));
    return hn::DemoteTo(D32(), hn::Div(wide, hn::Set(D(), divisor)));
  }
  static HWY_INLINE void store(hn::Vec<D32> v, int32_t* out) { hn::StoreU(v, D32(), out); }
};

// floor(x / d) = floor(x * m / 2^16) with m = floor(2^16 / d) + 1 for every byte x and 2 <= d <=
// 255: m d exceeds 2^16 by at most d, and x d < 2^16.
struct DivideU8 {
  using In = uint8_t;
  using Out = uint8_t;
  using D = hn::ScalableTag<uint8_t>;
  using D16 = hn::ScalableTag<uint16_t>;
  uint16_t factor;
  explicit DivideU8(int by) : factor(static_cast<uint16_t>(65536 / by + 1)) {}
  static HWY_INLINE size_t lanes() { return hn::Lanes(D()); }
  HWY_INLINE hn::Vec<D> operator()(const uint8_t* a, const uint8_t*) const {
    const auto x = hn::BitCast(D16(), hn::LoadU(D(), a));
    const auto m = hn::Set(D16(), factor);
    const auto even = hn::MulHigh(hn::And(x, hn::Set(D16(), 0x00ff)), m);
    const auto odd = hn::MulHigh(hn::ShiftRight<8>(x), m);
    return hn::BitCast(D(), hn::Or(even, hn::ShiftLeft<8>(odd)));
  }
  static HWY_INLINE void store(hn::Vec<D> v, uint8_t* out) { hn::StoreU(v, D(), out); }
};

// f32 -> bf16 of any number, NaN with its payload included; f32 -> f16; and back.
template <bool IsBrain>
struct NarrowStep {
  using In = float;
  using Out = uint16_t;
  using D = hn::ScalableTag<float>;
  using D16 = hn::Rebind<uint16_t, D>;
  static HWY_INLINE size_t lanes() { return hn::Lanes(D()); }
  HWY_INLINE hn::Vec<D16> operator()(const float* a, const float*) const {
    const auto v = hn::LoadU(D(), a);
    if constexpr (IsBrain) {
      const hn::RebindToUnsigned<D> du;
      const auto bits = hn::BitCast(du, v);
      const auto nan = hn::Or(bits, hn::Set(du, 0x00400000u));
      const auto is_nan = hn::RebindMask(du, hn::IsNaN(v));
      const auto rounded = hn::IfThenElse(is_nan, nan, round_brain(du, bits));
      return hn::TruncateTo(D16(), hn::ShiftRight<16>(rounded));
    } else {
      return narrow_half(D(), v);
    }
  }
  static HWY_INLINE void store(hn::Vec<D16> v, uint16_t* out) { hn::StoreU(v, D16(), out); }
};
template <bool IsBrain>
struct WidenStep {
  using In = uint16_t;
  using Out = float;
  using D = hn::ScalableTag<float>;
  using D16 = hn::Rebind<uint16_t, D>;
  static HWY_INLINE size_t lanes() { return hn::Lanes(D()); }
  HWY_INLINE hn::Vec<D> operator()(const uint16_t* a, const uint16_t*) const {
    const auto h = hn::LoadU(D16(), a);
    if constexpr (IsBrain) {
      const hn::RebindToUnsigned<D> du;
      const auto v = hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(du, h)));
      const auto quiet = hn::Or(v, hn::BitCast(D(), hn::Set(du, 0x00400000u)));
      return hn::IfThenElse(hn::IsNaN(v), quiet, v);
    } else {
      return widen_half(D(), h);
    }
  }
  static HWY_INLINE void store(hn::Vec<D> v, float* out) { hn::StoreU(v, D(), out); }
};

// ---- the driver ----

// Fewer elements than a vector has.
template <class Step>
HWY_INLINE void part(const Step& step, typename Step::Out* out, const typename Step::In* a,
                     const typename Step::In* b, size_t count) {
  constexpr size_t kMost = HWY_MAX_BYTES;  // a step has no more elements than a vector has bytes
  typename Step::In part_a[kMost] = {};
  typename Step::In part_b[kMost] = {};
  typename Step::Out result[kMost];
  std::memcpy(part_a, a, count * sizeof(part_a[0]));
  std::memcpy(part_b, b, count * sizeof(part_b[0]));
  Step::store(step(part_a, part_b), result);
  std::memcpy(out, result, count * sizeof(result[0]));
}

// Elements up to the next address at which a whole vector of output is aligned.
template <class Step>
HWY_INLINE size_t lead(const typename Step::Out* out) {
  const size_t vector = Step::lanes() * sizeof(*out);
  return (vector - reinterpret_cast<uintptr_t>(out) % vector) % vector / sizeof(*out);
}

template <class Step>
HWY_INLINE void drive(const Step& step, typename Step::Out* out, const typename Step::In* a,
                      const typename Step::In* b, size_t count) {
  const size_t n = Step::lanes();
  size_t i = 0;
  // Aligning pays off from a few kilobytes on; a store that crosses two cache lines costs two.
  if (count >= 32 * n) {
    i = lead<Step>(out);
    if (i != 0) part(step, out, a, b, i);
  }
  for (; i + 4 * n <= count; i += 4 * n) {
    const auto r0 = step(a + i, b + i);
    const auto r1 = step(a + i + n, b + i + n);
    const auto r2 = step(a + i + 2 * n, b + i + 2 * n);
    const auto r3 = step(a + i + 3 * n, b + i + 3 * n);
    Step::store(r0, out + i);
    Step::store(r1, out + i + n);
    Step::store(r2, out + i + 2 * n);
    Step::store(r3, out + i + 3 * n);
  }
  for (; i + n <= count; i += n) Step::store(step(a + i, b + i), out + i);
  if (i != count) part(step, out + i, a + i, b + i, count - i);
}

template <class Step>
void reduce(void* dst, const void* a, const void* b, size_t count) {
  drive(Step(), static_cast<typename Step::Out*>(dst), static_cast<const typename Step::In*>(a),
        static_cast<const typename Step::In*>(b), count);
}
template <class Step>
void scale(void* dst, const void* src, size_t count, int divisor) {
  const auto* x = static_cast<const typename Step::In*>(src);
  drive(Step(divisor), static_cast<typename Step::Out*>(dst), x, x, count);
}
template <class Step>
void convert(typename Step::Out* dst, const typename Step::In* src, size_t count) {
  drive(Step(), dst, src, src, count);
}

// Divisors for which DivideU8 has no factor: 1 copies, above 255 every quotient is 0.
inline void scale_u8(void* dst, const void* src, size_t count, int divisor) {
  if (count == 0) return;
  if (divisor == 1) {
    std::memmove(dst, src, count);
  } else if (divisor > 255) {
    std::memset(dst, 0, count);
  } else {
    scale<DivideU8>(dst, src, count, divisor);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plumbline
HWY_AFTER_NAMESPACE();

#endif
