#include "collectives/verifier.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr uint64_t kColdBytes = 64u << 20;  // rotate over at least this much memory when cold
constexpr size_t kMaxSlots = 64;
// Drawn operations of one stretch: so many that stops are rare where operations are short, and few
// enough that their arrays stay in a processor's larger caches.
constexpr uint64_t kDrawnBytes = 4u << 20;
constexpr uint64_t kMostDrawn = 256;
// Enough that no operation finds the data of the one before, few enough that an Operand keeps their
// patterns at hand.
constexpr uint32_t kSeeds = 4;

size_t drawn_slots(VerifyMode mode, uint64_t bytes, size_t in_flight) {
  if (mode == VerifyMode::kEvery) return in_flight;
  if (mode != VerifyMode::kSampled) return 0;
  return static_cast<size_t>(std::min(kMostDrawn, kDrawnBytes / std::max<uint64_t>(1, bytes)));
}

}  // namespace

VerifyMode verify_mode(const OptionSet& options, bool wanted) {
  if (!wanted) return VerifyMode::kNone;
  const std::string& word = options.text("verify");
  if (word == "every") return VerifyMode::kEvery;
  return word == "last" ? VerifyMode::kLast : VerifyMode::kSampled;
}

size_t in_flight_of(const Cell& cell) {
  const bool sustained = row(cell.kind).timing == CellTiming::kSustained;
  return sustained ? static_cast<size_t>(std::max(1, cell.outstanding)) : 1;
}

SlotCounts slots_of(const Cell& cell, VerifyMode mode) {
  SlotCounts slots;
  const CellTiming timing = row(cell.kind).timing;
  const bool sustained = timing == CellTiming::kSustained;
  const size_t in_flight = in_flight_of(cell);
  if (sustained) {
    slots.ordinary = in_flight;
  } else if (cell.cache == "cold" && cell.bytes > 0) {
    slots.ordinary =
        static_cast<size_t>(std::clamp<uint64_t>(kColdBytes / cell.bytes, 1, kMaxSlots));
  }
  const bool back_to_back = sustained || (cell.sync == "none" && timing != CellTiming::kNothing);
  if (back_to_back && mode != VerifyMode::kNone) {
    slots.check = in_flight + drawn_slots(mode, cell.bytes, in_flight);
  }
  return slots;
}

void Verifier::fill(size_t slot) {
  seed_ = seed_ % kSeeds + 1;
  seeds_[slot] = seed_;
  work_.fill(slot, seed_);
}

void Verifier::check(size_t slot) {
  wrong_ += work_.count_wrong(slot, seeds_[slot]);
  ++verified_;
}

}  // namespace plumbline
