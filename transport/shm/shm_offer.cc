#include "transport/shm/shm_offer.h"

#include <algorithm>

#include "transport/control/wire.h"

namespace plumbline {
namespace {

constexpr uint32_t kOfferMagic = 0x706c7368;  // "plsh"

bool possible(const ShmOffer& offer) {
  if (!offer.refusal.empty()) {
    return offer.ring_bytes == 0 && offer.name.a == 0 && offer.name.b == 0 &&
           offer.nonce == Digest{};
  }
  return offer.ring_bytes >= kLeastShmRing && offer.ring_bytes <= kMostShmRing &&
         offer.ring_bytes % kLeastShmRing == 0;
}

}  // namespace

std::vector<std::byte> encode_shm_offer(const ShmOffer& offer) {
  WireWriter out;
  out.u32(kOfferMagic);
  out.bytes(offer.realm);
  out.u64(offer.name.a);
  out.u64(offer.name.b);
  out.u64(offer.ring_bytes);
  out.bytes(offer.nonce);
  out.text(offer.refusal, kPairReasonBytes);
  std::vector<std::byte> bytes = out.take();
  bytes.resize(kShmOfferBytes);
  return bytes;
}

std::optional<ShmOffer> decode_shm_offer(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  ShmOffer offer;
  in.u32();
  in.bytes(offer.realm);
  offer.name.a = in.u64();
  offer.name.b = in.u64();
  offer.ring_bytes = in.u64();
  in.bytes(offer.nonce);
  offer.refusal = in.text();
  if (!in.ok() || !possible(offer) || !same_bytes(encode_shm_offer(offer), bytes))
    return std::nullopt;
  offer.refusal = printable(offer.refusal, kPairReasonBytes);
  return offer;
}

}  // namespace plumbline
