#include "collectives/verifier.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr uint64_t kColdBytes = 64u << 20;  // rotate over at least this much memory when cold
constexpr size_t kMaxSlots = 64;
// Enough that no operation finds the data of the one before, few enough that an Operand keeps their
// patterns at hand.
constexpr uint32_t kSeeds = 4;

}  // namespace

VerifyMode verify_mode(const OptionSet& options, bool wanted) {
  if (!wanted) return VerifyMode::kNone;
  const std::string& word = options.text("verify");
  if (word == "every") return VerifyMode::kEvery;
  return word == "last" ? VerifyMode::kLast : VerifyMode::kSampled;
}

SlotCounts slots_of(const Cell& cell, VerifyMode mode) {
  SlotCounts slots;
  const bool throughput = cell.kind == "throughput";
  const auto in_flight = throughput ? static_cast<size_t>(std::max(1, cell.outstanding)) : 1;
  if (throughput) {
    slots.ordinary = in_flight;
  } else if (cell.cache == "cold" && cell.bytes > 0) {
    slots.ordinary =
        static_cast<size_t>(std::clamp<uint64_t>(kColdBytes / cell.bytes, 1, kMaxSlots));
  }
  const bool back_to_back = throughput || (cell.sync == "none" && cell.kind != "check");
  if (back_to_back && mode != VerifyMode::kNone) {
    slots.check = (mode == VerifyMode::kEvery ? 2 : 1) * in_flight;
  }
  return slots;
}

void Verifier::fill(size_t slot) {
  seed_ = seed_ % kSeeds + 1;
  seeds_[slot] = seed_;
  operand_.fill(slot, seed_);
}

void Verifier::check(size_t slot) {
  wrong_ += operand_.count_wrong(slot, seeds_[slot]);
  ++verified_;
}

}  // namespace plumbline
