// This file is compiled once per SIMD target within one translation unit: foreach_target.h includes
// it again and again with other HWY_TARGET values. Each pass leaves a KernelSet in its namespace
// (N_AVX2, N_NEON ...), complete at compile time so that no instruction of a target runs before
// somebody asks for it; the last pass collects those that this CPU can run.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cc"
// SSSE3 without SSE4.2 is a CPU of before 2008. Scalable vectors (SVE) run the NEON set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#include "hwy/foreach_target.h"
// From here on, once per target.
#include "hwy/highway.h"
#include "kernels/sets.h"

// Without SIMD there is scalar.cc.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "kernels/simd_crc32c-inl.h"
#include "kernels/simd_loops-inl.h"
#include "kernels/simd_many-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumbline {
namespace HWY_NAMESPACE {

template <class Step>
constexpr Reducer kReducer = {reduce<Step>, reduce_many<Step>};

// fast_math changes MIN and MAX of floats only.
template <template <class Op> class Step, bool IsFloat>
constexpr void set_reductions(KernelSet& set, DType dtype) {
  const auto d = static_cast<size_t>(dtype);
  const Reducer exact[5] = {kReducer<Step<Sum>>, kReducer<Step<Sum>>,
                            kReducer<Step<Extreme<true, false>>>,
                            kReducer<Step<Extreme<false, false>>>, kReducer<Step<Product>>};
  const Reducer fast[5] = {exact[0], exact[1], kReducer<Step<Extreme<true, IsFloat>>>,
                           kReducer<Step<Extreme<false, IsFloat>>>, exact[4]};
  for (size_t op = 0; op < 5; ++op) {
    set.exact[d][op] = exact[op];
    set.fast[d][op] = fast[op];
  }
}

template <typename T>
struct Plain {
  template <class Op>
  using Step = ReducePlain<T, Op>;
};

// No SIMD target divides 64-bit integers.
inline void scale_i64(void* dst, const void* src, size_t count, int divisor) {
  scalar_kernel_set().scale_fn(DType::kI64)(dst, src, count, divisor);
}

constexpr KernelSet make_set() {
  KernelSet set{};
  set.target = &HWY_STR(HWY_NAMESPACE)[2];  // without the "N_"
  set_reductions<Plain<float>::Step, true>(set, DType::kF32);
  set_reductions<Plain<double>::Step, true>(set, DType::kF64);
  set_reductions<ReduceHalf, true>(set, DType::kF16);
  set_reductions<ReduceBrain, true>(set, DType::kBf16);
  set_reductions<Plain<int32_t>::Step, false>(set, DType::kI32);
  set_reductions<Plain<int64_t>::Step, false>(set, DType::kI64);
  set_reductions<Plain<uint8_t>::Step, false>(set, DType::kU8);
  const ScaleFn scales[] = {scale<DividePlain<float>>,
                            scale<DividePlain<double>>,
                            scale<DivideHalf>,
                            scale<DivideBrain>,
                            scale<DivideI32>,
                            scale_i64,
                            scale_u8};
  for (size_t d = 0; d < std::size(scales); ++d) set.scale[d] = scales[d];
  set_bool(set);
  set.f32_to_f16 = convert<NarrowStep<false>>;
  set.f32_to_bf16 = convert<NarrowStep<true>>;
  set.f16_to_f32 = convert<WidenStep<false>>;
  set.bf16_to_f32 = convert<WidenStep<true>>;
  set.copy_far = copy_far;
  set.crc32c = crc32c;
  return set;
}

constexpr TargetSet kTarget = {HWY_TARGET, make_set()};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace plumbline
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace plumbline {

std::vector<const KernelSet*> supported_simd_sets() {
  // In Highway's order, best first; nullptr stands for a target that was not compiled.
  constexpr const TargetSet* kCompiled[] = {HWY_CHOOSE_TARGET_LIST(kTarget)};
  const int64_t supported = HWY_SUPPORTED_TARGETS;
  std::vector<const KernelSet*> sets;
  for (const TargetSet* target : kCompiled) {
    if (target != nullptr && (target->bit & supported) != 0) sets.push_back(&target->set);
  }
  return sets;
}

}  // namespace plumbline
#endif
