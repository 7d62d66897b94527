// The sending half of a channel: messages posted by the rank, cut into frames, handed to the stream
// with header and payload in one call. A frame is made when its whole chunk (or the message's tail)
// is ready. Among ready messages the lowest sequence goes first; inside one operation those that
// were extended go before those that were posted whole, the last extended first, because its bytes
// are still in cache. Observers may post and extend from inside flush(). Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/channel/channel.h"
#include "transport/channel/frame.h"
#include "transport/channel/slots.h"

namespace plumbline {

class SendQueue {
 public:
  SendQueue(const ChannelOptions& options, ChannelStats& stats);

  Channel::SendId post(const MessageTag& tag, const void* data, size_t bytes, size_t ready,
                       SendObserver* observer, uint64_t cookie);
  void extend(Channel::SendId id, size_t ready);
  // Writes frames until the stream is full, nothing is ready, or the budget of one round is spent.
  // true = something moved.
  Expected<bool> flush(ByteStream& stream);

  bool wants_write() const { return frames_ > 0 || !ready_.empty(); }
  bool empty() const { return live_.empty() && frames_ == 0; }
  std::optional<MessageTag> oldest() const;
  void cancel();

 private:
  struct Message {
    MessageTag tag;
    const std::byte* data = nullptr;
    size_t bytes = 0, ready = 0;
    size_t framed = 0;        // bytes already cut into frames
    bool all_framed = false;  // its last frame was cut (bytes may be 0)
    uint32_t generation = 0;  // counts the slot's uses, so that an old SendId hits nothing
    SendObserver* observer = nullptr;
    uint64_t cookie = 0;
  };
  // A payload up to this size is copied behind its header: the kernel takes one buffer faster than
  // two, by more than the copy costs. Bytes.
  static constexpr size_t kInlineBytes = 2048;

  // A frame that is on its way into the stream.
  struct Frame {
    std::array<std::byte, kFrameHeaderBytes + kInlineBytes> head;
    size_t head_bytes = 0;               // the header, and the payload when it is small
    const std::byte* payload = nullptr;  // what is not in `head`
    size_t payload_bytes = 0;
    size_t length = 0;  // of the whole payload
    uint32_t message = kNoSlot;
    bool last = false;
  };
  enum class Place { kBehindEqual, kBeforeEqual };

  bool frame_ready(const Message& message) const;
  void enqueue(uint32_t index, Place place);
  void fill_frames();
  void cut_frame(uint32_t index, Frame& frame);
  size_t gather(std::span<iovec> out, size_t* total) const;
  void consume(size_t bytes);

  // Small frames that share one call; more gains nothing, and what is in here can no longer be
  // overtaken by an earlier operation.
  static constexpr size_t kBatchFrames = 8;

  const size_t chunk_bytes_;
  const CrcFunction crc32c_;  // null = no checksums
  ChannelStats& stats_;
  SlotPool<Message> messages_;
  SlotOrder live_;   // posted and not sent, in order of posting
  SlotOrder ready_;  // a frame can be cut, in order of sending
  std::array<Frame, kBatchFrames> batch_;
  size_t first_ = 0, frames_ = 0;  // batch_[first_ .. first_ + frames_) are not wholly written
  size_t front_written_ = 0;       // bytes of batch_[first_] that are, header included
  bool flushing_ = false;
};

}  // namespace plumbline
