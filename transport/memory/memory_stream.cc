#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "transport/memory/memory.h"

namespace plumbline {
namespace {

// One direction: one thread writes, one reads. Positions only grow; their difference is what the
// ring holds.
struct Ring {
  explicit Ring(size_t bytes) : size(bytes), data(new std::byte[bytes]) {}

  const size_t size;
  const std::unique_ptr<std::byte[]> data;       // not touched before it is used
  alignas(64) std::atomic<uint64_t> written{0};  // apart, so that the two cores do not fight over
  alignas(64) std::atomic<uint64_t> read{0};     // one cache line
  alignas(64) std::atomic<bool> closed{false};   // by either end
};

size_t write_ring(Ring& ring, std::span<const iovec> buffers) {
  const uint64_t start = ring.written.load(std::memory_order_relaxed);
  uint64_t at = start;
  size_t room = ring.size - (start - ring.read.load(std::memory_order_acquire));
  for (const iovec& buffer : buffers) {
    const std::byte* from = static_cast<const std::byte*>(buffer.iov_base);
    size_t left = std::min(buffer.iov_len, room);
    room -= left;
    while (left > 0) {
      const size_t position = at % ring.size;
      const size_t bytes = std::min(left, ring.size - position);
      std::memcpy(ring.data.get() + position, from, bytes);
      at += bytes;
      from += bytes;
      left -= bytes;
    }
  }
  ring.written.store(at, std::memory_order_release);
  return at - start;
}

size_t read_ring(Ring& ring, std::span<const iovec> buffers) {
  const uint64_t start = ring.read.load(std::memory_order_relaxed);
  uint64_t at = start;
  size_t there = ring.written.load(std::memory_order_acquire) - start;
  for (const iovec& buffer : buffers) {
    std::byte* to = static_cast<std::byte*>(buffer.iov_base);
    size_t left = std::min(buffer.iov_len, there);
    there -= left;
    while (left > 0) {
      const size_t position = at % ring.size;
      const size_t bytes = std::min(left, ring.size - position);
      std::memcpy(to, ring.data.get() + position, bytes);
      at += bytes;
      to += bytes;
      left -= bytes;
    }
  }
  ring.read.store(at, std::memory_order_release);
  return at - start;
}

class MemoryStream : public ByteStream {
 public:
  MemoryStream(int self, int peer, std::shared_ptr<Ring> out, std::shared_ptr<Ring> in)
      : self_(self), peer_(peer), out_(std::move(out)), in_(std::move(in)) {}
  ~MemoryStream() override { end(); }

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (out_->closed.load(std::memory_order_acquire)) {
      return fail_errno(ErrorCode::kPeerLost, fmt::format("write to the ring of rank {}", peer_),
                        EPIPE);
    }
    return write_ring(*out_, buffers);
  }

  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    // The flag first: bytes written before the end must still be read.
    const bool closed = in_->closed.load(std::memory_order_acquire);
    const size_t bytes = closed_ ? 0 : read_ring(*in_, buffers);
    if (bytes == 0 && closed && !nothing_asked(buffers)) {
      return fail(ErrorCode::kPeerLost,
                  fmt::format("read from the ring of rank {}: the stream has ended", peer_));
    }
    return bytes;
  }

  int poll_fd() const override { return -1; }

  StreamStats stats() const override {
    StreamStats stats;
    stats.local = fmt::format("memory:{}", self_);
    stats.remote = fmt::format("memory:{}", peer_);
    stats.send_buffer = out_->size;
    stats.recv_buffer = in_->size;
    const uint64_t taken = out_->read.load(std::memory_order_acquire);
    stats.unacked_bytes = out_->written.load(std::memory_order_acquire) - taken;
    stats.peer_window = out_->size - *stats.unacked_bytes;
    return stats;
  }

  void close() override { end(); }

 private:
  // Not virtual, so that the destructor may call it.
  void end() {
    closed_ = true;
    out_->closed.store(true, std::memory_order_release);
    in_->closed.store(true, std::memory_order_release);
  }
  static bool nothing_asked(std::span<const iovec> buffers) {
    return std::all_of(buffers.begin(), buffers.end(),
                       [](const iovec& buffer) { return buffer.iov_len == 0; });
  }

  const int self_, peer_;
  const std::shared_ptr<Ring> out_, in_;
  bool closed_ = false;  // by this end
};

}  // namespace

std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> make_memory_streams(
    int a, int b, size_t ring_bytes) {
  auto there = std::make_shared<Ring>(std::max<size_t>(ring_bytes, 1));
  auto back = std::make_shared<Ring>(std::max<size_t>(ring_bytes, 1));
  return {std::make_unique<MemoryStream>(a, b, there, back),
          std::make_unique<MemoryStream>(b, a, back, there)};
}

}  // namespace plumbline
