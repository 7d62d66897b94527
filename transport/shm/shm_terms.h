// How the two ranks of a pair come to share memory, or to know why they cannot, over their
// connection. The lower rank offers, the higher one answers whether it has the memory
// (shm_offer.h). Where memory has no name (MemoryWay::kHanded) the lower one makes it without
// telling where, and three answers follow in turn: of the higher rank, that it can be met
// (handover.h); of the lower one, that it has met it and handed the memory over; of the higher one
// again, that it has it. An answer of no ends this at once, at both ends. One thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/encode.h"
#include "transport/channel/byte_stream.h"
#include "transport/channel/ring.h"
#include "transport/shm/handover.h"
#include "transport/shm/peer_reads.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/shm_offer.h"
#include "transport/tcp/pair_talk.h"

namespace plumbline {

// Of one end, about arrays of the other one that it has mapped. Sequentially consistent: either the
// user sees that they are withdrawn, or the owner that they are in use.
struct UseTerms {
  alignas(64) std::atomic<uint32_t> in_use;  // said by the user
  std::atomic<uint32_t> withdrawn;           // said by the owner
};

// In front of the rings in the shared memory.
struct ShmSheet {
  static constexpr size_t kBytes = 64 * 1024;  // rings begin on a page, whatever the machine's size

  Digest nonce;
  RingState from_lower, from_higher;
  ReadTerms of_lower, of_higher;
  UseTerms by_lower, by_higher;
};
static_assert(sizeof(ShmSheet) <= ShmSheet::kBytes);

inline ShmSheet& sheet_of(const SharedMemory& memory) {
  return *reinterpret_cast<ShmSheet*>(memory.data());
}

class ShmTerms {
 public:
  // `ring_bytes`: of the lower rank they count. What is read from `tcp` is never more than what
  // belongs to the terms.
  ShmTerms(ByteStream& tcp, PeerReads& reads, int self, int peer, size_t ring_bytes,
           const std::string& realm, MemoryWay way);

  // As far as it goes without waiting; true = they have come to terms, or to none.
  Expected<bool> step();
  // Something is left to be written to the connection.
  bool has_to_write() const { return talk_.has_to_write(); }

  // Once step() has said true: why no memory is shared, and the same in short; or the memory.
  const std::optional<Error>& cannot() const { return cannot_; }
  const std::string& reason() const { return reason_; }
  size_t ring_bytes() const { return ring_bytes_; }
  SharedMemory take_memory() { return std::move(*memory_); }
  // Null where memory has names.
  std::unique_ptr<Handover> take_handover() { return std::move(over_); }

 private:
  enum class Awaits : uint8_t { kNothing, kOffer, kMeeting, kHanded, kTaken };

  size_t memory_bytes() const { return ShmSheet::kBytes + 2 * ring_bytes_; }
  ReadTerms& own_terms() const;
  const ReadTerms& peer_terms() const;
  void make_offer();
  Status hear();
  Status hear_offer();
  void hear_met();
  void hear_handed();
  void hear_taken();
  void await(Awaits what);
  void answer(const std::string& reason);
  void refuse(const std::string& reason);
  std::string why_not(const ShmOffer& offer);
  std::string why_not_handed();
  std::string use(SharedMemory memory);

  PairTalk talk_;
  PeerReads& reads_;
  const int self_, peer_;
  const bool lower_;
  size_t ring_bytes_;
  const Digest realm_;
  const MemoryWay way_;
  Digest nonce_{};
  Awaits awaits_ = Awaits::kNothing;
  std::optional<Error> cannot_;
  std::string reason_;
  std::optional<SharedMemory> memory_;
  std::unique_ptr<Handover> over_;
};

}  // namespace plumbline
