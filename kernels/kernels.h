// Arithmetic on buffers: reduce, scale, convert, checksum. Each kernel exists as a scalar reference
// and, through Google Highway, for every SIMD target that this CPU runs; a KernelSet is one such
// family. Detect once with select_kernels("auto"), force one by name, and print the name that ran.
// The seam is untyped (pointer, pointer, count) so that algorithms stay free of templates; typed
// code stays inside. No I/O, no allocation, thread-safe.
//
// fast_math off: bit for bit equal to the scalar reference on every target:
//   sum, product, min, max in IEEE 754 arithmetic without reassociation; subnormals kept; 16-bit
//   floats are widened to f32, combined and rounded to nearest even; MIN/MAX give NaN when either
//   operand is NaN and treat -0 as smaller than +0; a result that is NaN is always the one positive
//   quiet NaN without payload (0x7fc00000 in f32), whatever NaN went in; integers wrap; truth
//   values are combined as the bytes that they are (redop_on_truth() in core/op.h).
// fast_math on: MIN/MAX may return either operand, as it is or made quiet, when one is NaN, and
//   either zero when both are zeros of different sign; the rest is equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/op.h"

namespace plumbline {

// Where the results of a kernel go. kFar: past the caches, where the CPU can (x86); memory is then
// written without being read first. It gains where dst is none of the sources, larger than the
// caches, and not read soon, and loses elsewhere (docs/performance.md, "Kernels"). Other threads
// and processes see the results as they see those of ordinary stores.
enum class Stores : uint8_t { kNear, kFar };

// dst[i] = a[i] (op) b[i] for i < count. dst may be a or b exactly, no other overlap. Pointers need
// the alignment of the element type only. AVG adds (scaling is a separate, last step).
using ReduceFn = void (*)(void* dst, const void* a, const void* b, size_t count);
// dst[i] = ((s0[i] (op) s1[i]) (op) s2[i]) ... in one pass over memory, bit for bit what a chain of
// ReduceFn gives: 16-bit floats are rounded after every step, as there. `count` sources, two or
// more, of `elements` each; dst may be exactly one of them (or several: they may be the same
// array).
using ReduceManyFn = void (*)(void* dst, const void* const* sources, size_t count, size_t elements,
                              Stores stores);
// dst = src, and the copy passes by the caches: for large arrays that nobody reads soon. No
// overlap.
using CopyFn = void (*)(void* dst, const void* src, size_t bytes);
// dst[i] = src[i] / divisor: IEEE division for floats (16-bit ones through f32), truncating for
// integers; NaN as above. divisor >= 1. dst may be src.
using ScaleFn = void (*)(void* dst, const void* src, size_t count, int divisor);
// Element conversions between f32 and a 16-bit float, round to nearest even, subnormals kept; a NaN
// keeps its sign and the upper bits of its payload and becomes quiet. No overlap.
using NarrowFn = void (*)(uint16_t* dst, const float* src, size_t count);
using WidenFn = void (*)(float* dst, const uint16_t* src, size_t count);
// CRC-32C (Castagnoli, RFC 3720 appendix B.4): crc32c(0, "123456789", 9) == 0xE3069283; pass the
// previous result to go on.
using CrcFn = uint32_t (*)(uint32_t crc, const void* data, size_t bytes);

struct Reducer {
  ReduceFn pair;
  ReduceManyFn many;
};

struct KernelSet {
  const char* target;  // "scalar", "SSE4", "AVX2", "AVX3" (AVX-512), "AVX3_BF16", "NEON" ...
  Reducer exact[kDTypeCount][5];  // [DType][RedOp]
  Reducer fast[kDTypeCount][5];
  ScaleFn scale[kDTypeCount];
  NarrowFn f32_to_f16, f32_to_bf16;
  WidenFn f16_to_f32, bf16_to_f32;
  CopyFn copy_far;
  CrcFn crc32c;

  const Reducer& reducer(DType dtype, RedOp redop, bool fast_math) const {
    const auto& table = fast_math ? fast : exact;
    return table[static_cast<size_t>(dtype)][static_cast<size_t>(redop)];
  }
  ReduceFn reduce(DType dtype, RedOp redop, bool fast_math) const {
    return reducer(dtype, redop, fast_math).pair;
  }
  ScaleFn scale_fn(DType dtype) const { return scale[static_cast<size_t>(dtype)]; }
};

// The families this CPU can run, best first; "scalar" is always last.
std::span<const KernelSet* const> kernel_sets();
// "auto" = the best; any name of kernel_sets(); otherwise an error that lists them.
Expected<const KernelSet*> select_kernels(std::string_view name);

// ---- does a set compute on this machine what the scalar reference computes? Every kernel of it is
// run over awkward lengths, alignments, aliasing and special values and compared bit for bit;
// `plumbline selftest` prints what differs. Takes well under a second per set ----

// One line per kernel that differs, with the first element where it does; empty when all agree.
// fast_math kernels are compared where no NaN and no zero takes part.
std::vector<std::string> check_kernels(const KernelSet& set);
// One number over the results of all kernels of a set, from the same inputs on every machine: two
// machines whose numbers differ do not compute the same bits.
uint64_t digest_kernels(const KernelSet& set);

}  // namespace plumbline
