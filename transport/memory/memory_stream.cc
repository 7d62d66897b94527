#include <fmt/format.h>

#include <algorithm>

#include "transport/channel/ring.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

// One direction.
struct OwnedRing {
  explicit OwnedRing(size_t bytes) : data(new std::byte[bytes]), ring{&state, data.get(), bytes} {}

  RingState state{};
  const std::unique_ptr<std::byte[]> data;  // not touched before it is used
  const Ring ring;
};

class MemoryStream : public ByteStream {
 public:
  MemoryStream(int self, int peer, std::shared_ptr<OwnedRing> out, std::shared_ptr<OwnedRing> in)
      : self_(self),
        peer_(peer),
        out_(std::move(out)),
        in_(std::move(in)),
        writer_(out_->ring),
        reader_(in_->ring) {}
  ~MemoryStream() override { end(); }

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (closed_ || out_->state.reader_closed.load(std::memory_order_acquire) != 0) {
      return fail_errno(ErrorCode::kPeerLost, fmt::format("write to the ring of rank {}", peer_),
                        EPIPE);
    }
    return writer_.write(buffers);
  }

  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    // The flag first: bytes written before the end must still be read.
    const bool over = closed_ || in_->state.writer_closed.load(std::memory_order_acquire) != 0;
    Expected<size_t> bytes = closed_ ? Expected<size_t>(size_t{0}) : reader_.read(buffers);
    if (bytes && *bytes == 0 && over && !nothing_asked(buffers)) {
      return fail(ErrorCode::kPeerLost,
                  fmt::format("read from the ring of rank {}: the stream has ended", peer_));
    }
    return bytes;
  }

  std::span<const std::byte> readable() override {
    return closed_ ? std::span<const std::byte>() : reader_.readable();
  }
  void consumed(size_t bytes) override { reader_.consume(bytes); }

  bool add_to(std::vector<pollfd>&, bool, bool) const override { return false; }

  StreamStats stats() const override {
    StreamStats stats;
    stats.local = fmt::format("memory:{}", self_);
    stats.remote = fmt::format("memory:{}", peer_);
    stats.send_buffer = out_->ring.size;
    stats.recv_buffer = in_->ring.size;
    stats.peer_window = writer_.room();
    stats.unacked_bytes = out_->ring.size - *stats.peer_window;
    return stats;
  }

  void close() override { end(); }

 private:
  // Not virtual, so that the destructor may call it.
  void end() {
    closed_ = true;
    out_->state.writer_closed.store(1, std::memory_order_release);
    in_->state.reader_closed.store(1, std::memory_order_release);
  }
  static bool nothing_asked(std::span<const iovec> buffers) {
    return std::all_of(buffers.begin(), buffers.end(),
                       [](const iovec& buffer) { return buffer.iov_len == 0; });
  }

  const int self_, peer_;
  const std::shared_ptr<OwnedRing> out_, in_;
  RingWriter writer_;
  RingReader reader_;
  bool closed_ = false;  // by this end
};

}  // namespace

std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> make_memory_streams(
    int a, int b, size_t ring_bytes) {
  auto there = std::make_shared<OwnedRing>(std::max<size_t>(ring_bytes, 1));
  auto back = std::make_shared<OwnedRing>(std::max<size_t>(ring_bytes, 1));
  return {std::make_unique<MemoryStream>(a, b, there, back),
          std::make_unique<MemoryStream>(b, a, back, there)};
}

}  // namespace plumbline
