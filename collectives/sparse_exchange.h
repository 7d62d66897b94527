// Allreduce by topk: every rank picks the elements of its array that are largest in magnitude, all
// ranks get the choices of all (a plain allgather of frames), and each adds them up in the order of
// the ranks, so that all end with the same bits. What a rank did not send it keeps and adds the
// next time (error feedback: Seide et al., "1-bit stochastic gradient descent", 2014; Stich,
// Cordonnier and Jaggi, "Sparsified SGD with memory", 2018), in memory that belongs to the array,
// so that arrays never hear of one another. This is what stands before and behind the schedule that
// moves the frames; it is run in slices, between rounds of progress. Frames come from other hosts:
// each is looked at before it is used. Internal to collectives/; not thread-safe.
//
// A frame has `kept` indices, ascending (u32), and behind them the values (f32).
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/aligned_bytes.h"
#include "core/error.h"
#include "kernels/kernels.h"
#include "kernels/topk.h"

namespace plumbline {

class SparseExchange {
 public:
  struct Shape {
    uint64_t count = 0, kept = 0;  // elements of an array, and of a frame
    int rank = 0, size = 1;
    bool average = false;
  };
  SparseExchange(const Shape& shape, const KernelSet& kernels);

  // Words of 4 bytes that a frame has: what an allgather of the frames counts.
  static uint64_t frame_words(uint64_t kept) { return 2 * kept; }
  // Of all ranks, one behind the other; this rank's own is written in its place.
  std::byte* frames() const { return frames_.get(); }

  // A new operation. `in` may be `out`. `residual`: what earlier operations on this array did not
  // send (count elements, zeros at first), replaced by what this one does not; null = it is lost.
  void begin(const float* in, float* out, float* residual);
  // There is something to run.
  bool busy() const { return stage_ == Stage::kSelect || stage_ == Stage::kAdd; }
  bool selecting() const { return stage_ == Stage::kSelect; }
  bool finished() const { return stage_ == Stage::kFinished; }
  // Fills the own frame; then the frames may travel.
  void select();
  // Makes room for the sums, while frames travel: once, behind select().
  void clear();
  // All frames are there.
  void arrived() { stage_ = Stage::kAdd; }
  // Adds those of one more rank; true = it was the last one. kProtocol names a rank whose frame is
  // none.
  Expected<bool> add_next();

 private:
  enum class Stage : uint8_t { kFinished, kSelect, kTravel, kAdd };
  uint32_t* indices_of(int rank) const;
  float* values_of(int rank) const { return reinterpret_cast<float*>(indices_of(rank) + s_.kept); }
  Status check_frame(int rank) const;

  const Shape s_;
  const ReduceFn add_;
  const ScaleFn scale_;
  AlignedBytes frames_;
  TopkSelector selector_;
  const float* in_ = nullptr;
  float *out_ = nullptr, *residual_ = nullptr;
  Stage stage_ = Stage::kFinished;
  int next_ = 0;  // rank to add
};

}  // namespace plumbline
