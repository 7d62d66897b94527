#include "collectives/sparse_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace plumbline {

SparseExchange::SparseExchange(const Shape& shape, const KernelSet& kernels)
    : s_(shape),
      add_(kernels.reduce(DType::kF32, RedOp::kSum, false)),
      scale_(kernels.scale_fn(DType::kF32)),
      frames_(static_cast<size_t>(shape.size) * frame_words(shape.kept) * sizeof(uint32_t)),
      selector_(shape.count) {}

uint32_t* SparseExchange::indices_of(int rank) const {
  auto* const words = reinterpret_cast<uint32_t*>(frames_.get());
  return words + static_cast<size_t>(rank) * frame_words(s_.kept);
}

void SparseExchange::begin(const float* in, float* out, float* residual) {
  in_ = in;
  out_ = out;
  residual_ = residual;
  next_ = 0;
  stage_ = Stage::kSelect;
}

void SparseExchange::select() {
  uint32_t* const indices = indices_of(s_.rank);
  float* const chosen = values_of(s_.rank);
  stage_ = Stage::kTravel;
  if (residual_ == nullptr) {
    selector_.select(in_, s_.count, s_.kept, indices, chosen);
    return;
  }
  selector_.select_sums(residual_, in_, add_, s_.count, s_.kept, indices, chosen);
  for (uint64_t i = 0; i < s_.kept; ++i) residual_[indices[i]] = 0;
}

Status SparseExchange::check_frame(int rank) const {
  const uint32_t* const indices = indices_of(rank);
  for (uint64_t i = 0; i < s_.kept; ++i) {
    const bool ascends = i == 0 || indices[i] > indices[i - 1];
    if (indices[i] < s_.count && ascends) continue;
    return fail(Error{
        ErrorCode::kProtocol,
        fmt::format("rank {} sent a topk frame whose entry {} of {} is for element {} of {}{}",
                    rank, i, s_.kept, indices[i], s_.count,
                    ascends ? "" : fmt::format(", behind element {}", indices[i - 1])),
        0,
        "run the same version of plumbline on all ranks; --transport-crc on tells whether "
        "the path spoils bytes",
        {},
        {rank}});
  }
  return {};
}

void SparseExchange::clear() { std::fill_n(out_, s_.count, 0.0F); }

Expected<bool> SparseExchange::add_next() {
  if (const Status right = check_frame(next_); !right) return fail(right.error());
  const uint32_t* const indices = indices_of(next_);
  const float* const values = values_of(next_);
  for (uint64_t i = 0; i < s_.kept; ++i) {
    const float sum = out_[indices[i]] + values[i];
    // As all kernels: one NaN, whatever went in, so that ranks on unlike machines agree.
    out_[indices[i]] = std::isnan(sum) ? std::numeric_limits<float>::quiet_NaN() : sum;
  }
  if (++next_ < s_.size) return false;
  if (s_.average) scale_(out_, out_, s_.count, s_.size);
  stage_ = Stage::kFinished;
  return true;
}

}  // namespace plumbline
