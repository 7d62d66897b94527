// Large messages that do not go through the stream. Where both ends can reach each other's memory
// (ByteStream::peer_memory), a message of at least ChannelOptions::direct_bytes is sent as an
// *offer*: a frame with the key of its memory and how many of its bytes are there. *Grow* frames
// say when more are; the receiver maps the memory and gives the bytes to its sink where they lie,
// or reads them (the key says which), straight to the sink's window where that is its own, else to
// a stage of a piece, from which the sink uses them. It answers *taken* when it needs them no more,
// which ends the send. Where the sender can only write, its offer says so; the receiver answers
// with *grant* frames, each the key of a window for the next bytes (of the sink's own memory, or of
// a stage), and *grow* frames say what lies there by now; the last one ends the send, nothing is
// answered. With checksums on nothing is offered. This is the receiver's half, the offers that it
// has, and the sender's windows; SendQueue (queues.h) holds the rest. Internal to
// transport/channel/; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/channel/channel.h"
#include "transport/channel/queues.h"
#include "transport/peer_memory.h"

namespace plumbline {

// A message that the peer offers.
struct Offer {
  MessageTag tag;
  uint64_t total = 0;         // bytes of the message
  uint64_t ready = 0;         // of them may be taken
  uint64_t taken = 0;         // of them have been given to the sink
  uint32_t posted = kNoSlot;  // the receive that takes it; kNoSlot = nobody has asked for it yet
  MemoryKey key;
  MappedBytes from;    // once it is posted, where it is mapped
  size_t reading = 0;  // bytes of it that are on their way here
  uint64_t ticket = 0;
  bool to_stage = false;  // where these go; else to the sink's window
  // Where the sender writes: windows were granted for so many bytes; the stage is this message's.
  uint64_t granted = 0;
  std::unique_ptr<std::byte[]> stage;
};

class OfferTable {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);
  // A peer that offers more without being asked for any of it is told so: it is no rank of ours.
  static constexpr size_t kMostUnasked = 1 << 16;

  size_t size() const { return offers_.size(); }
  Offer& operator[](size_t index) { return offers_[index]; }

  // kProtocol when there are too many.
  Status add(Offer offer);
  void remove(size_t index);
  size_t find(const MessageTag& tag) const;
  // Another operation under the same number, not asked for yet.
  size_t find_rival(const MessageTag& tag) const;
  // More may be taken of this one, and somebody wants it.
  bool can_take(size_t index) const {
    return offers_[index].posted != kNoSlot && offers_[index].taken < offers_[index].ready;
  }
  bool any_to_take() const;
  void clear() { offers_.clear(); }

 private:
  std::vector<Offer> offers_;  // few: in order of arrival
};

}  // namespace plumbline
