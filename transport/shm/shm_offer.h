// What the two ranks of a pair say over their connection before they share memory, once each: the
// lower one an offer, or why it has none to make, the higher one an answer to an offer. Both have a
// fixed length, so that what follows on the connection is never touched. Pure functions over bytes
// of the peer: whatever is not byte for byte what it says there is no offer and no answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/encode.h"
#include "transport/shm/shared_memory.h"
#include "transport/tcp/pair_talk.h"

namespace plumbline {

inline constexpr size_t kShmOfferBytes = 4 + 32 + 8 + 8 + 8 + 32 + 2 + kPairReasonBytes;
inline constexpr size_t kLeastShmRing = 4096, kMostShmRing = size_t{1} << 30;

struct ShmOffer {
  Digest realm{};
  SharedMemoryName name;
  uint64_t ring_bytes = 0;
  Digest nonce{};
  std::string refusal = {};  // why nothing is offered; then the three above are zero
};

std::vector<std::byte> encode_shm_offer(const ShmOffer& offer);
std::optional<ShmOffer> decode_shm_offer(std::span<const std::byte> bytes);

}  // namespace plumbline
