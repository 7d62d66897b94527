// One direction of bytes through memory that two ends share, threads of one process or two
// processes: one end writes, the other reads, and neither takes a lock. The reader watches one
// slot, a cache line, until the writer has numbered it: a few bytes lie in the slot itself, so that
// a small message takes one line from core to core; more lie in the ring, and the slot says up to
// where. Numbers and positions only grow. The two ends trust each other with nothing but bytes:
// whoever finds what cannot be says so instead of following it. An end belongs to one thread.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.h"

namespace plumbline {

// What has been written since the slot before it.
struct alignas(64) RingSlot {
  static constexpr size_t kBytes = 56;
  static constexpr uint64_t kInRing = 255;

  // Its number, counted from 1, times 256; plus how many of `bytes` it is, or kInRing: then the
  // first eight are the position up to which the ring is written.
  std::atomic<uint64_t> word;
  std::byte bytes[kBytes];
};

// Lies in the shared memory, zeroed at first. What each end writes has cache lines of its own, and
// what is written at every message has none in common with what hardly ever is.
struct RingState {
  static constexpr uint64_t kSlots = 64;

  alignas(64) std::atomic<uint32_t> writer_closed;
  std::atomic<uint32_t> writer_sleeps;  // and wants to be woken when there is room
  alignas(64) std::atomic<uint32_t> reader_closed;
  std::atomic<uint32_t> reader_sleeps;     // and wants to be woken when there are bytes
  alignas(64) std::atomic<uint64_t> read;  // position
  std::atomic<uint64_t> slots_read;
  RingSlot slots[kSlots];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share no locks");

// A ring of `size` bytes at `data`, which its owner keeps. Plain value.
struct Ring {
  RingState* state = nullptr;
  std::byte* data = nullptr;
  size_t size = 0;
};

// Of each ring of a group of `ranks` whose every pair has two, bytes: `most`, and less in large
// groups.
size_t ring_bytes_of(int ranks, size_t most);

class RingWriter {
 public:
  explicit RingWriter(const Ring& ring) : ring_(ring) {}
  // Takes what fits now of the buffers, in order; returns bytes. kProtocol when the other end's
  // position cannot be.
  Expected<size_t> write(std::span<const iovec> buffers);
  // Bytes that fit now, 0 too when no slot is free; a position that cannot be counts as room, so
  // that write() is tried.
  size_t room() const;

 private:
  bool look();
  void publish(uint64_t mark, std::memory_order order);
  size_t write_into_slots(std::span<const iovec> buffers, size_t bytes);

  Ring ring_;
  uint64_t at_ = 0, slots_ = 0;         // written by now: position, number of slots
  uint64_t read_ = 0, slots_read_ = 0;  // by the other end when it was last looked at
};

class RingReader {
 public:
  explicit RingReader(const Ring& ring) : ring_(ring) {}
  // Puts what is there into the buffers, in order; returns bytes. kProtocol as above.
  Expected<size_t> read(std::span<const iovec> buffers);
  // The next of the same bytes where they lie; consume() takes them off. Empty too when what the
  // other end says cannot be: read() says so.
  std::span<const std::byte> readable();
  void consume(size_t bytes);
  // Tells the other end once more what was consumed, in the one order of all that is: before
  // looking whether it sleeps.
  void publish();
  bool any() const;
  // Nothing was found that cannot be; else read() says so.
  bool sound() const { return !impossible_; }

 private:
  void take_slot();

  Ring ring_;
  uint64_t at_ = 0, slots_ = 0;         // read by now
  uint64_t written_ = 0;                // up to where bytes lie in the ring
  std::span<const std::byte> in_slot_;  // left of the slot that is being read
  bool impossible_ = false;
};

}  // namespace plumbline
