#include "collectives/compressed_data.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/kernels.h"

namespace plumbline {
namespace {

constexpr float kUnit = 0x1p-9F;
constexpr double kF32Unit = 0x1p-24;
constexpr uint64_t kComparedAtOnce = 4096;  // elements looked at together

// Multiplying by a power of two changes no significant bit.
void to_units(float* values, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) values[i] *= kUnit;
}

bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

const KernelSet& kernels() { return **select_kernels("auto"); }

}  // namespace

CompressedData::CompressedData(const Codec& codec, RedOp redop, int ranks)
    : codec_(codec), redop_(redop), ranks_(ranks) {
  const bool half = codec.kind == CodecKind::kFp16;
  const double unit = half ? 0x1p-11 : 0x1p-8;
  relative_ = std::pow((1 + unit) * (1 + kF32Unit), ranks) - 1;
  absolute_ = half ? ranks * 0x1p-25 : 0;
}

void CompressedData::fill(const Pattern& pattern, int rank, float* dst, uint64_t count) {
  pattern.fill(dst, rank, 0, count);
  to_units(dst, count);
}

void CompressedData::expect(const Pattern& pattern, uint64_t count) {
  const uint64_t kept = kept_elements(codec_, count);
  if (!selector_) selector_.emplace(count);
  input_.resize(count);
  expected_.assign(count, 0);
  indices_.resize(kept);
  chosen_.resize(kept);
  for (int rank = 0; rank < ranks_; ++rank) {
    fill(pattern, rank, input_.data(), count);
    selector_->select(input_.data(), count, kept, indices_.data(), chosen_.data());
    for (uint64_t i = 0; i < kept; ++i) expected_[indices_[i]] += chosen_[i];
  }
  if (redop_ != RedOp::kAvg) return;
  kernels().scale_fn(DType::kF32)(expected_.data(), expected_.data(), count, ranks_);
}

void CompressedData::note_error(double distance, double largest) {
  error_.max_abs = std::max(error_.max_abs, distance);
  if (largest > 0) error_.max_rel = std::max(error_.max_rel, distance / largest);
}

uint64_t CompressedData::count_wrong(const Pattern& pattern, const float* result, uint64_t count) {
  if (codec_.sparse()) expect(pattern, count);
  uint64_t wrong = 0;
  double distance = 0, largest = 0;
  float exact[kComparedAtOnce];
  for (uint64_t first = 0; first < count; first += kComparedAtOnce) {
    const uint64_t number = std::min(kComparedAtOnce, count - first);
    pattern.reduced(exact, first, number);
    to_units(exact, number);
    for (uint64_t i = 0; i < number; ++i) {
      const float got = result[first + i];
      const double want = exact[i], off = std::abs(got - want);
      const bool right = codec_.sparse() ? same_bits(got, expected_[first + i])
                                         : off <= bound(want);  // never of a NaN
      wrong += right ? 0 : 1;
      distance = std::max(distance, off);
      largest = std::max(largest, want);
    }
  }
  note_error(distance, largest);
  return wrong;
}

}  // namespace plumbline
