// One direction of bytes through memory that two ends share, threads of one process or two
// processes: one end writes, the other reads, and neither takes a lock. Positions only grow; their
// difference is what the ring holds. The two ends trust each other with nothing but bytes: whoever
// finds positions that cannot be says so instead of following them. An end belongs to one thread.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.h"

namespace plumbline {

// Lies in the shared memory, zeroed at first. What each end writes has a cache line of its own, so
// that their two cores do not fight over one.
struct RingState {
  alignas(64) std::atomic<uint64_t> written;
  std::atomic<uint32_t> writer_closed;
  std::atomic<uint32_t> writer_sleeps;  // and wants to be woken when there is room
  alignas(64) std::atomic<uint64_t> read;
  std::atomic<uint32_t> reader_closed;
  std::atomic<uint32_t> reader_sleeps;  // and wants to be woken when there are bytes
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
  // Bytes that fit now; a position that cannot be counts as room, so that write() is tried.
  size_t room() const;

 private:
  Ring ring_;
  uint64_t at_ = 0, read_ = 0;  // own position, and the other's when it was last looked at
};

class RingReader {
 public:
  explicit RingReader(const Ring& ring) : ring_(ring) {}
  // Puts what is there into the buffers, in order; returns bytes. kProtocol as above.
  Expected<size_t> read(std::span<const iovec> buffers);
  // The same bytes where they lie, up to the end of the ring's memory; consume() takes them off.
  // Empty too when the other end's position cannot be: read() says so.
  std::span<const std::byte> readable();
  void consume(size_t bytes);
  size_t there() const;

 private:
  Ring ring_;
  uint64_t at_ = 0, written_ = 0;
};

}  // namespace plumbline
