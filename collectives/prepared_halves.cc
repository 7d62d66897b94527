#include "collectives/prepared_halves.h"

#include <algorithm>
#include <cstring>

namespace plumbline {
namespace {

constexpr size_t kTileCount = 2048;  // numbers: four arrays of them fit into a first-level cache
constexpr size_t kHalf = sizeof(uint16_t);

}  // namespace

Executor::Prepared::Halves::Halves(Prepared& prepared, const KernelSet& kernels)
    : p_(prepared),
      narrow_(prepared.traits_.spec.codec.kind == CodecKind::kBf16 ? kernels.f32_to_bf16
                                                                   : kernels.f32_to_f16),
      widen_(prepared.traits_.spec.codec.kind == CodecKind::kBf16 ? kernels.bf16_to_f32
                                                                  : kernels.f16_to_f32),
      messages_([&] {
        constexpr uint64_t kLine = 64;
        uint64_t bytes = 0;
        for (const RunStep& step : prepared.steps_) {
          begins_.push_back(bytes);
          if (step.kind != StepKind::kSend || !step.halved) continue;
          bytes += (step.wire_bytes + kLine - 1) / kLine * kLine;
        }
        return bytes;
      }()) {
  sinks_.reserve(p_.steps_.size());
  for (uint32_t i = 0; i < p_.steps_.size(); ++i) {
    sinks_.emplace_back(*this, i);
    if (p_.steps_[i].halved) p_.steps_[i].sink = &sinks_.back();
  }
}

uint64_t Executor::Prepared::Halves::encode(uint32_t index, uint64_t bytes) {
  const RunStep& step = p_.steps_[index];
  State& state = p_.states_[index];
  const uint64_t done = state.landed / sizeof(float), ready = bytes / sizeof(float);
  auto* const message = reinterpret_cast<uint16_t*>(messages_.get() + begins_[index]);
  narrow_(message + done, reinterpret_cast<const float*>(p_.at(step.source)) + done, ready - done);
  state.landed = bytes;
  return ready * kHalf;
}

void Executor::Prepared::Halves::round(float* dst, const float* source, size_t count) {
  uint16_t halves[kTileCount];
  narrow_(halves, source, count);
  widen_(dst, halves, count);
}

void Executor::Prepared::Halves::apply_tile(const RunStep& step, uint64_t first,
                                            const float* source, size_t count) {
  float rounded_source[kTileCount], rounded_operand[kTileCount];
  auto* const dst = reinterpret_cast<float*>(p_.at(step.dst)) + first;
  if (step.rounds_source) {
    round(rounded_source, source, count);
    source = rounded_source;
  }
  if (step.reduces) {
    const float* operand = reinterpret_cast<const float*>(p_.at(step.operand)) + first;
    if (step.rounds_operand) {
      round(rounded_operand, operand, count);
      operand = rounded_operand;
    }
    p_.reduce_.pair(dst, operand, source, count);
    source = dst;
  }
  if (step.action == Action::kReduceScale || step.action == Action::kScale) {
    p_.scale_(dst, source, count, p_.traits_.request.size);
    source = dst;
  }
  if (step.rounds_result) {
    round(dst, source, count);
  } else if (dst != source) {
    std::memcpy(dst, source, count * sizeof(float));
  }
}

void Executor::Prepared::Halves::apply(const RunStep& step, uint64_t first, const float* source,
                                       uint64_t count) {
  for (uint64_t done = 0; done < count; done += kTileCount) {
    apply_tile(step, first + done, source + done, std::min<uint64_t>(kTileCount, count - done));
  }
}

void Executor::Prepared::Halves::take(uint32_t index, const std::byte* source, uint64_t count) {
  const RunStep& step = p_.steps_[index];
  State& state = p_.states_[index];
  const auto* const halves = reinterpret_cast<const uint16_t*>(source);
  const uint64_t first = state.landed / sizeof(float);
  if (step.action == Action::kCopy) {
    widen_(reinterpret_cast<float*>(p_.at(step.dst)) + first, halves, count);
  } else {
    float tile[kTileCount];
    for (uint64_t done = 0; done < count; done += kTileCount) {
      const size_t number = std::min<uint64_t>(kTileCount, count - done);
      widen_(tile, halves + done, number);
      apply_tile(step, first + done, tile, number);
    }
  }
  state.landed += count * sizeof(float);
}

std::span<std::byte> Executor::Prepared::Halves::window(uint32_t index) {
  const RunStep& step = p_.steps_[index];
  const State& state = p_.states_[index];
  const uint64_t taken = state.landed / sizeof(float) * kHalf + state.carried;
  // Room for the carried byte in front, as in Prepared::window().
  return {p_.host_.window + state.carried,
          std::min<uint64_t>(step.wire_bytes - taken, kSliceBytes - state.carried)};
}

void Executor::Prepared::Halves::advance(uint32_t index, size_t bytes) {
  State& state = p_.states_[index];
  std::byte* const window = p_.host_.window;
  std::memcpy(window, state.carry, state.carried);
  const uint64_t there = state.carried + bytes, count = there / kHalf;
  take(index, window, count);
  state.carried = static_cast<uint8_t>(there - count * kHalf);
  std::memcpy(state.carry, window + count * kHalf, state.carried);
  p_.landed(index);
}

size_t Executor::Prepared::Halves::usable(uint32_t index, std::span<const std::byte> bytes) const {
  const bool whole =
      p_.states_[index].carried == 0 && reinterpret_cast<uintptr_t>(bytes.data()) % kHalf == 0;
  return whole ? bytes.size() - bytes.size() % kHalf : 0;
}

void Executor::Prepared::Halves::use(uint32_t index, std::span<const std::byte> bytes) {
  take(index, bytes.data(), bytes.size() / kHalf);
  p_.landed(index);
}

}  // namespace plumbline
