#include "collectives/operand.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace plumbline {
namespace {

constexpr int kPoison = 0xA5;  // what the output holds before the operation
constexpr size_t kPatternsKept = 4;

std::unique_ptr<std::byte, void (*)(void*)> allocate(uint64_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() - kOperandAlignment) throw std::bad_alloc();
  const size_t rounded = (bytes + kOperandAlignment) / kOperandAlignment * kOperandAlignment;
  void* memory = std::aligned_alloc(kOperandAlignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, kPoison, rounded);  // touches every page before timing
  return {static_cast<std::byte*>(memory), std::free};
}

// In place, the smaller buffer is this rank's part of the larger one.
bool out_is_part_of_in(Op op) { return op == Op::kReduceScatter || op == Op::kScatter; }
bool in_is_part_of_out(Op op) { return op == Op::kAllgather || op == Op::kGather; }

}  // namespace

Operand::Operand(const OperationSpec& spec, int rank, int size, size_t slots)
    : spec_(spec), rank_(rank), size_(size) {
  const uint64_t width = size_of(spec.dtype);
  const uint64_t parts = row(spec.op).per_rank_share ? static_cast<uint64_t>(size) : 1;
  shape_ = shape_of(spec.op, spec.dtype, size, spec.count * width * parts);
  for (size_t i = 0; i < slots; ++i) {
    Slot slot{{nullptr, std::free}, {nullptr, std::free}};
    if (!spec.in_place || out_is_part_of_in(spec.op)) slot.in = allocate(shape_.in_elems * width);
    if (!spec.in_place || !out_is_part_of_in(spec.op)) {
      slot.out = allocate(shape_.out_elems * width);
    }
    slots_.push_back(std::move(slot));
  }
}

const void* Operand::in(size_t slot) const {
  const Slot& s = slots_[slot];
  if (s.in) return s.in.get();
  const uint64_t offset =
      in_is_part_of_out(spec_.op) ? spec_.count * static_cast<uint64_t>(rank_) : 0;
  return s.out.get() + offset * size_of(spec_.dtype);
}

void* Operand::out(size_t slot) const {
  const Slot& s = slots_[slot];
  if (s.out) return s.out.get();
  return s.in.get() + spec_.count * static_cast<uint64_t>(rank_) * size_of(spec_.dtype);
}

const Pattern& Operand::pattern(uint32_t seed) const {
  const auto found = std::find_if(patterns_.begin(), patterns_.end(),
                                  [&](const auto& entry) { return entry.first == seed; });
  if (found != patterns_.end()) return *found->second;
  if (patterns_.size() == kPatternsKept) patterns_.erase(patterns_.begin());
  patterns_.emplace_back(seed, std::make_unique<Pattern>(spec_.dtype, spec_.redop, size_, seed));
  return *patterns_.back().second;
}

void Operand::fill(size_t slot, uint32_t seed) {
  if (shape_.bytes == 0) return;
  const size_t width = size_of(spec_.dtype);
  if (slots_[slot].out) std::memset(out(slot), kPoison, shape_.out_elems * width);
  pattern(seed).fill(const_cast<void*>(in(slot)), rank_, 0, shape_.in_elems);
}

uint64_t Operand::count_wrong(size_t slot, uint32_t seed) const {
  if (shape_.bytes == 0) return 0;
  const Pattern& p = pattern(seed);
  const uint64_t count = spec_.count;
  const auto mine = static_cast<uint64_t>(rank_);
  const auto* out_bytes = static_cast<const std::byte*>(out(slot));
  const size_t width = size_of(spec_.dtype);
  const auto copy = [&](uint64_t at, int from, uint64_t first) {
    return p.count_wrong_copy(out_bytes + at * width, from, first, count);
  };
  uint64_t wrong = 0;
  switch (spec_.op) {
    case Op::kAllreduce:
      return p.count_wrong_reduced(out_bytes, 0, count);
    case Op::kReduce:
      return rank_ == spec_.root ? p.count_wrong_reduced(out_bytes, 0, count) : 0;
    case Op::kReduceScatter:
      return p.count_wrong_reduced(out_bytes, mine * count, count);
    case Op::kBroadcast:
      return copy(0, spec_.root, 0);
    case Op::kScatter:
      return copy(0, spec_.root, mine * count);
    case Op::kGather:
      if (rank_ != spec_.root) return 0;
      [[fallthrough]];
    case Op::kAllgather:
      for (int from = 0; from < size_; ++from) {
        wrong += copy(static_cast<uint64_t>(from) * count, from, 0);
      }
      return wrong;
    case Op::kAlltoall:
      for (int from = 0; from < size_; ++from) {
        wrong += copy(static_cast<uint64_t>(from) * count, from, mine * count);
      }
      return wrong;
    case Op::kPingpong:
      return rank_ <= 1 ? copy(0, 0, 0) : 0;  // rank 1 echoes what it got
    case Op::kStream:
      return rank_ == 1 ? copy(0, 0, 0) : 0;
    case Op::kBidirectional:
      return rank_ <= 1 ? copy(0, 1 - rank_, 0) : 0;
    case Op::kSendrecv:
      return copy(0, (rank_ + size_ - 1) % size_, 0);
    case Op::kBarrier:
      break;
  }
  return 0;
}

}  // namespace plumbline
