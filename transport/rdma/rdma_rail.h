// A rail: one queue pair to one peer, through which messages ("frames") go both ways in order,
// staged in memory that is registered once. The receiver posts a receive for each frame that the
// sender may have under way; the sender knows how many by credits, which ride on the frames that
// come back, so that nothing arrives without a place, on RC and on UC. Every frame has a number: on
// UC one that was lost is seen at the next one. Each rail has a queue pair, a completion queue and
// one region (rdma_pair.h), which are gone with it. One thread.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "transport/rdma/rdma_pair.h"

namespace plumbline {

// Said in front of the bytes of a frame.
struct RdmaFrame {
  uint32_t number = 0;   // of the frames on this rail and in this direction, from 0 on
  uint32_t bytes = 0;    // behind this
  uint32_t credits = 0;  // so many frames of the other direction have been used up, ever
  uint32_t kind = 0;     // RdmaFrameKind
};
enum RdmaFrameKind : uint32_t { kDataFrame = 0x706c7264, kCreditFrame, kLastFrame, kHelloFrame };

class RdmaRail {
 public:
  static constexpr uint32_t kMostReads = 16;
  static constexpr size_t kBounceBytes = 256 * 1024;

  // With at most `requests` frames under way in each direction; receives are posted, so that a peer
  // may send as soon as it can. kUnsupported with the cause of the step that failed. `peer` is its
  // name in errors: "rank 2 on mini2".
  static Expected<std::unique_ptr<RdmaRail>> create(std::shared_ptr<RdmaPort> port, int requests,
                                                    const std::string& peer);
  ~RdmaRail() = default;
  RdmaRail(const RdmaRail&) = delete;
  RdmaRail& operator=(const RdmaRail&) = delete;

  RdmaEnd end() const { return pair_->end(); }
  int requests() const { return static_cast<int>(requests_); }
  // Once: to the other end, which has posted so many receives, with the smaller MTU of both.
  Status connect(const RdmaEnd& peer, int mtu, int requests);

  // A frame with data may be sent.
  bool room() const { return can_send(kKept); }
  // Most bytes of one.
  size_t most_bytes() const { return port_->frame_bytes() - sizeof(RdmaFrame); }
  // Where the bytes of the next one are to be put, most_bytes() long.
  std::byte* next_out();
  Status send(size_t bytes);

  // Looks for completions; true = something came or went. After an error nothing moves any more.
  Expected<bool> poll();
  // What is left of the oldest frame that has come; empty = none has.
  std::span<const std::byte> front() const;
  Status consume(size_t bytes);
  // Sends credits where the other end may soon lack them.
  Status tell();
  bool ended() const { return ended_; }  // its last frame has come
  bool is_empty() const { return first_ == behind_; }
  const std::shared_ptr<RdmaPort>& port() const { return port_; }

  // Tries the path, once: sends a message of several packets, if there is room for them, and says
  // whether the other end's has come.
  Status say_hello();
  bool was_greeted() const { return greeted_; }

  // RC only: memory that is registered and free for reads to memory that is not; kBounceBytes long.
  std::span<std::byte> bounce();
  uint32_t local_key() const { return pair_->local_key(); }
  // RC only: begins to copy memory of the other end; read_ended() has `ticket` once it is there.
  // false = as many as may be are under way.
  Expected<bool> start_read(uint32_t ticket, uint64_t from, uint32_t remote_key,
                            std::span<std::byte> to, uint32_t local_key);
  // Which ended since the last call, at most one at a time.
  std::optional<uint32_t> read_ended();
  // Nothing is read or written any more, by any end; the rail may only be ended then.
  void stop();

  // Frames until now, which UC's ends compare.
  uint32_t sent() const { return sent_; }
  uint32_t received() const { return received_; }

  // Readable when a completion has come since arm(); -1 = this library has no such descriptor.
  int event_fd() const { return pair_->event_fd(); }
  Status arm() { return pair_->arm(); }

  // Tells the other end that this is the end, and waits until what was sent has left.
  void finish(Deadline patience);

 private:
  static constexpr uint32_t kKept = 1;  // credits that data leave for a frame of credits

  struct Arrived {
    uint32_t slot;
    uint32_t bytes;
  };

  RdmaRail(std::shared_ptr<RdmaPort> port, int requests);
  Status make(const std::string& peer);
  Status post_receive(uint32_t slot);
  Status post(RdmaFrameKind kind, size_t bytes);
  Status take(const VerbsCompletion& completion);
  Status take_frame(uint32_t slot, uint32_t length);
  Status give_back(uint32_t slot);
  bool can_send(uint32_t kept) const {
    return sent_ - completed_ < requests_ && sent_ - acked_ + kept < credits_;
  }
  std::byte* slot_at(size_t slot) { return pair_->memory() + slot * port_->frame_bytes(); }
  const std::byte* slot_at(size_t slot) const {
    return pair_->memory() + slot * port_->frame_bytes();
  }
  size_t receive_slot(uint32_t slot) const { return static_cast<size_t>(slot); }
  size_t send_slot() const { return static_cast<size_t>(requests_) + sent_ % requests_; }

  const std::shared_ptr<RdmaPort> port_;
  const uint32_t requests_;         // frames under way in each direction
  uint32_t credits_ = 0;            // receives of the other end
  std::unique_ptr<RdmaPair> pair_;  // its memory: frames that come, then frames that go

  uint32_t sent_ = 0, completed_ = 0;  // frames of this end
  uint32_t acked_ = 0;                 // of them the other end has used up
  uint32_t received_ = 0;              // of the other end
  uint32_t used_ = 0, told_ = 0;       // of them are used up; the other end knows of so many
  std::vector<Arrived> arrived_;       // a ring of frames that wait, from first_ to behind_
  uint32_t first_ = 0, behind_ = 0;
  uint32_t at_ = 0;  // bytes consumed of the first
  bool ended_ = false, greeted_ = false;
  uint32_t reads_ = 0;  // under way
  std::deque<uint32_t> reads_ended_;
};

}  // namespace plumbline
