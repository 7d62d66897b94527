// What a channel expects and what came too early: the posted receives in order of posting, and the
// parked messages, copies of unexpected ones whose memory is bounded. Knows nothing of bytes on a
// stream (receiver.h does). Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/channel/channel.h"
#include "transport/channel/slots.h"

namespace plumbline {

struct PostedRecv {
  MessageTag tag;
  size_t bytes = 0;
  size_t received = 0;
  RecvSink* sink = nullptr;
};

struct ParkedMessage {
  MessageTag tag;
  size_t bytes = 0;             // of the whole message
  size_t received = 0;          // of them in `data`
  std::vector<std::byte> data;  // may be longer than `received` while a frame arrives
  size_t charged = 0;           // what it takes from the park, bytes
  bool complete() const { return received == bytes && ended; }
  bool ended = false;  // its last frame is here
};

class RecvTable {
 public:
  explicit RecvTable(size_t park_bytes) : park_bytes_(park_bytes) {}

  uint32_t post(const MessageTag& tag, size_t bytes, RecvSink* sink);
  void remove_posted(uint32_t index);
  // The oldest posted receive of this name, or kNoSlot.
  uint32_t find_posted(const MessageTag& tag) const;
  // A posted receive of the same operation number with another fingerprint, or kNoSlot.
  uint32_t find_rival(const MessageTag& tag) const;
  PostedRecv& posted(uint32_t index) { return posted_[index]; }
  bool any_posted() const { return !posted_order_.empty(); }
  const PostedRecv& oldest_posted() const { return posted_[posted_order_.front()]; }

  // Makes room for a frame of `length` in this parked message (kNoSlot = a new one of `total`
  // bytes). kNoSlot when the park is full.
  uint32_t park(uint32_t index, const MessageTag& tag, size_t total, size_t length);
  // The parked message of this name that came first, or kNoSlot.
  uint32_t find_parked(const MessageTag& tag) const;
  // A parked message of the same operation number with another fingerprint, or kNoSlot.
  uint32_t find_parked_rival(const MessageTag& tag) const;
  ParkedMessage& parked(uint32_t index) { return parked_[index]; }
  void remove_parked(uint32_t index);
  bool any_parked() const { return !parked_order_.empty(); }
  size_t parked_bytes() const { return parked_bytes_; }
  size_t park_limit() const { return park_bytes_; }

  void clear();

 private:
  size_t park_bytes_;
  size_t parked_bytes_ = 0;
  SlotPool<PostedRecv> posted_;
  SlotOrder posted_order_;
  SlotPool<ParkedMessage> parked_;
  SlotOrder parked_order_;
};

}  // namespace plumbline
