// How the kernel sets of this folder find each other: the scalar reference, the sets of the SIMD
// targets, and the variant of an AVX-512 set that uses the CPU's own bf16 instructions. Callers
// outside use kernels.h.
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernels.h"

namespace plumbline {

const KernelSet& scalar_kernel_set();

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
