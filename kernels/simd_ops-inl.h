// Compiled once for every SIMD target by simd.cc. One vector at a time: the reduction operators,
// and the ways between 16-bit floats and vectors of f32. Each does lane by lane what scalar.cc and
// scalar.h do for one number.
#if defined(PLUMBLINE_KERNELS_SIMD_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMBLINE_KERNELS_SIMD_OPS_INL_H_
#undef PLUMBLINE_KERNELS_SIMD_OPS_INL_H_
#else
#define PLUMBLINE_KERNELS_SIMD_OPS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/scalar.h"

HWY_BEFORE_NAMESPACE();
namespace plumbline {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
inline constexpr bool kIsFloat = std::is_floating_point_v<hn::TFromD<D>>;

// ---- operators ----

template <class D>
HWY_INLINE hn::Vec<D> quiet_nan(D d) {
  const hn::RebindToUnsigned<D> du;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::BitCast(d, hn::Set(du, kQuietNanF32));
  } else {
    return hn::BitCast(d, hn::Set(du, kQuietNanF64));
  }
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V fix_nan(D d, V v) {
  if constexpr (kIsFloat<D>) {
    return hn::IfThenElse(hn::IsNaN(v), quiet_nan(d), v);
  } else {
    return v;
  }
}

// kRounds: a 16-bit result may lie between two numbers. Fast: the variant for fast_math.
struct Sum {
  static constexpr bool kRounds = true;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V run(D d, V a, V b) {
    return fix_nan(d, hn::Add(a, b));
  }
};

struct Product {
  static constexpr bool kRounds = true;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V run(D d, V a, V b) {
    if constexpr (sizeof(hn::TFromD<D>) == 1) {
      // There is no 8-bit multiplication: even and odd bytes as 16-bit lanes.
      const hn::RepartitionToWide<D> dw;
      const auto low = hn::Set(dw, 0x00ff);
      const auto wa = hn::BitCast(dw, a);
      const auto wb = hn::BitCast(dw, b);
      const auto even = hn::And(hn::Mul(wa, wb), low);
      const auto odd = hn::Mul(hn::ShiftRight<8>(wa), hn::ShiftRight<8>(wb));
      return hn::BitCast(d, hn::Or(even, hn::ShiftLeft<8>(odd)));
    } else {
      return fix_nan(d, hn::Mul(a, b));
    }
  }
};

template <bool Least, bool Fast>
struct Extreme {
  static constexpr bool kRounds = false;
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V run(D d, V a, V b) {
    const V pick = Least ? hn::Min(a, b) : hn::Max(a, b);
    if constexpr (Fast || !kIsFloat<D>) {
      return pick;
    } else {
      // Equal numbers have equal bits, but for zeros: there the sign bits decide.
      const V tie = Least ? hn::Or(a, b) : hn::And(a, b);
      const auto nan = hn::Or(hn::IsNaN(a), hn::IsNaN(b));
      return hn::IfThenElse(nan, quiet_nan(d), hn::IfThenElse(hn::Eq(a, b), tie, pick));
    }
  }
};

// ---- 16-bit floats ----

// f16 <-> f32: by the CPU where it can (F16C came with AVX2; NEON has it), otherwise with the
// integer steps of scalar.h (Highway's own replacement does not handle infinity and NaN).
#if HWY_ARCH_X86 && HWY_TARGET >= HWY_SSE4
// Signed lanes, because SSE compares no others; all numbers but the sign bit are positive.
template <class D>
HWY_INLINE hn::Vec<D> widen_half(D df, hn::Vec<hn::Rebind<uint16_t, D>> h) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::PromoteTo(di, h);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7fff));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto finite = hn::BitCast(di, hn::Mul(hn::BitCast(df, shifted), hn::Set(df, 0x1p112f)));
  const auto infinity = hn::Set(di, 0x7c00);
  const auto quiet = hn::IfThenElseZero(hn::Gt(magnitude, infinity), hn::Set(di, 0x00400000));
  const auto special = hn::Or(hn::Or(shifted, hn::Set(di, 0x7f800000)), quiet);
  const auto is_finite = hn::Lt(magnitude, infinity);
  return hn::BitCast(df, hn::Or(sign, hn::IfThenElse(is_finite, finite, special)));
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> narrow_half(D df, hn::Vec<D> v) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> dh;
  const auto bits = hn::BitCast(di, v);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7fffffff));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
  const auto shifted = hn::ShiftRight<13>(magnitude);
  const auto sum = hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5f));
  const auto small = hn::Sub(hn::BitCast(di, sum), hn::Set(di, 0x3f000000));
  const auto odd = hn::And(shifted, hn::Set(di, 1));
  const auto raised = hn::Sub(magnitude, hn::Set(di, 0x38000000 - 0xfff));
  const auto normal = hn::ShiftRight<13>(hn::Add(raised, odd));
  const auto nan = hn::Or(hn::And(shifted, hn::Set(di, 0x3ff)), hn::Set(di, 0x7e00));
  auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x38800000)), small, normal);
  half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x47800000)), half, hn::Set(di, 0x7c00));
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7f800000)), nan, half);
  return hn::TruncateTo(dh, hn::BitCast(du, hn::Or(sign, half)));
}
#else
template <class D>
HWY_INLINE hn::Vec<D> widen_half(D df, hn::Vec<hn::Rebind<uint16_t, D>> h) {
  return hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), h));
}
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> narrow_half(D, hn::Vec<D> v) {
  const hn::Rebind<uint16_t, D> dh;
  return hn::BitCast(dh, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
}
#endif

// bits of an f32 that is not a NaN, or is the NaN of scalar.h -> rounded in the upper 16 bits; the
// lower 16 are left over.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V round_brain(D du, V bits) {
  const V odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  return hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plumbline
HWY_AFTER_NAMESPACE();

#endif
