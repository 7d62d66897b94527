// How the kernel sets of this folder find each other: the scalar reference, the sets of the SIMD
// targets, and the variant of an AVX-512 set that uses the CPU's own bf16 instructions. Callers
// outside use kernels.h.
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernels.h"

namespace plumbline {

const KernelSet& scalar_kernel_set();

// The row of bool, once that of u8 is there. It has no hole: what nobody asks of truth values (an
// average, a quotient) is u8's.
constexpr void set_bool(KernelSet& set) {
  constexpr auto u8 = static_cast<size_t>(DType::kU8), truth = static_cast<size_t>(DType::kBool);
  for (size_t op = 0; op < 5; ++op) {
    const auto on_bytes = static_cast<size_t>(redop_on_truth(static_cast<RedOp>(op)));
    set.exact[truth][op] = set.exact[u8][on_bytes];
    set.fast[truth][op] = set.fast[u8][on_bytes];
  }
  set.scale[truth] = set.scale[u8];
}

// A set and the bit with which Highway knows its target.
struct TargetSet {
  int64_t bit;
  KernelSet set;
};
// Those that were compiled and that this CPU runs, best first; they live as long as the program.
std::vector<const KernelSet*> supported_simd_sets();

// `base` with the kernels replaced that bf16 instructions make faster, when this CPU has them.
// `base` must be a set that this CPU runs; only one of AVX-512 has such a variant, "AVX3_BF16".
std::optional<KernelSet> with_native_bf16(const KernelSet& base);

}  // namespace plumbline
