// Operations whose numbers travel in 16 bits: beside a Prepared, what its compressed steps do. f32
// in memory, f16 or bf16 in messages. What arrives is widened tile by tile while it is in the first
// cache, and reduced from there; what leaves is narrowed into a message of its own as it becomes
// ready. Operations without compression have none of this. Internal to collectives/.
#pragma once

#include <vector>

#include "collectives/prepared.h"

namespace plumbline {

struct Executor::Prepared::Halves {
 public:
  // Takes the receives of the steps that are halved.
  Halves(Prepared& prepared, const KernelSet& kernels);

  // Where the message of a send lies.
  const std::byte* message(uint32_t step) const { return messages_.get() + begins_[step]; }
  // Narrows what is new among the first `bytes` of the source; the bytes of the message that are
  // there now. State::landed of a send counts the bytes of its source.
  uint64_t encode(uint32_t step, uint64_t bytes);
  // dst[first ..] = the step's action on `count` elements at `source`.
  void apply(const RunStep& step, uint64_t first, const float* source, uint64_t count);

 private:
  // Messages of halved steps, as RecvSink: always through the window, or from where they lie.
  class HalfSink : public RecvSink {
   public:
    HalfSink(Halves& halves, uint32_t step) : halves_(halves), step_(step) {}
    std::span<std::byte> window() override { return halves_.window(step_); }
    void advance(size_t bytes) override { halves_.advance(step_, bytes); }
    size_t usable(std::span<const std::byte> bytes) override {
      return halves_.usable(step_, bytes);
    }
    void use(std::span<const std::byte> bytes) override { halves_.use(step_, bytes); }

   private:
    Halves& halves_;
    uint32_t step_;
  };

  std::span<std::byte> window(uint32_t step);
  void advance(uint32_t step, size_t bytes);
  size_t usable(uint32_t step, std::span<const std::byte> bytes) const;
  void use(uint32_t step, std::span<const std::byte> bytes);
  // So many numbers of the message, the next ones, have come.
  void take(uint32_t step, const std::byte* source, uint64_t count);
  void round(float* dst, const float* source, size_t count);
  void apply_tile(const RunStep& step, uint64_t first, const float* source, size_t count);

  Prepared& p_;
  const NarrowFn narrow_;
  const WidenFn widen_;
  std::vector<HalfSink> sinks_;
  std::vector<uint64_t> begins_;  // of each step's message, bytes
  AlignedBytes messages_;
};

}  // namespace plumbline
