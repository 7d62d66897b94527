#include "transport/channel/ring.h"

#include <algorithm>
#include <cstring>

namespace plumbline {
namespace {

// Of all rings of one group, if all are used; and the least of one.
constexpr size_t kAllRingBytes = 256 << 20, kLeastRingBytes = 64 << 10;

tl::unexpected<Error> impossible(const char* whose) {
  return fail(ErrorCode::kProtocol,
              std::string("the ring's ") + whose + " position is one that cannot be",
              "the other end's memory was overwritten: look for what else runs there");
}

// Moves up to `most` bytes between the buffers and the ring from position `at` on. `copy` is called
// with a place in the ring, one in a buffer, and how many bytes both have from there on.
template <typename Copy>
size_t move_bytes(const Ring& ring, uint64_t at, size_t most, std::span<const iovec> buffers,
                  const Copy& copy) {
  size_t moved = 0;
  for (const iovec& buffer : buffers) {
    auto* place = static_cast<std::byte*>(buffer.iov_base);
    size_t left = std::min(buffer.iov_len, most - moved);
    while (left > 0) {
      const size_t position = (at + moved) % ring.size;
      const size_t bytes = std::min(left, ring.size - position);
      copy(ring.data + position, place, bytes);
      place += bytes;
      moved += bytes;
      left -= bytes;
    }
  }
  return moved;
}

size_t asked_for(std::span<const iovec> buffers) {
  size_t bytes = 0;
  for (const iovec& buffer : buffers) bytes += buffer.iov_len;
  return bytes;
}

}  // namespace

size_t ring_bytes_of(int ranks, size_t most) {
  const auto rings = static_cast<size_t>(std::max(ranks, 2)) * static_cast<size_t>(ranks - 1);
  return std::clamp(kAllRingBytes / rings, kLeastRingBytes, most);
}

// Each end first looks at the other's cache line when what it knows no longer does. Positions are
// published with sequential consistency, because the sleepers' flags are looked at right after
// (transport/shm/shm_stream.cc): an end that goes to sleep sets its flag and then looks at the
// position once more.
Expected<size_t> RingWriter::write(std::span<const iovec> buffers) {
  if (ring_.size - (at_ - read_) < asked_for(buffers)) {
    read_ = ring_.state->read.load(std::memory_order_acquire);
    if (at_ - read_ > ring_.size) return impossible("reading");
  }
  const size_t bytes = move_bytes(ring_, at_, ring_.size - (at_ - read_), buffers,
                                  [](std::byte* in_ring, const std::byte* from, size_t count) {
                                    std::memcpy(in_ring, from, count);
                                  });
  if (bytes == 0) return bytes;
  at_ += bytes;
  ring_.state->written.store(at_, std::memory_order_seq_cst);
  return bytes;
}

size_t RingWriter::room() const {
  const uint64_t held = at_ - ring_.state->read.load(std::memory_order_seq_cst);
  return held > ring_.size ? 1 : ring_.size - held;
}

Expected<size_t> RingReader::read(std::span<const iovec> buffers) {
  if (written_ - at_ < asked_for(buffers)) {
    written_ = ring_.state->written.load(std::memory_order_acquire);
    if (written_ - at_ > ring_.size) return impossible("writing");
  }
  const size_t bytes = move_bytes(ring_, at_, written_ - at_, buffers,
                                  [](const std::byte* in_ring, std::byte* to, size_t count) {
                                    std::memcpy(to, in_ring, count);
                                  });
  if (bytes == 0) return bytes;
  at_ += bytes;
  ring_.state->read.store(at_, std::memory_order_seq_cst);
  return bytes;
}

std::span<const std::byte> RingReader::readable() {
  if (written_ == at_) written_ = ring_.state->written.load(std::memory_order_acquire);
  const uint64_t there = written_ - at_;
  if (there > ring_.size) return {};
  const size_t position = at_ % ring_.size;
  return {ring_.data + position, std::min<size_t>(there, ring_.size - position)};
}

void RingReader::consume(size_t bytes) {
  at_ += bytes;
  ring_.state->read.store(at_, std::memory_order_seq_cst);
}

size_t RingReader::there() const {
  return static_cast<size_t>(ring_.state->written.load(std::memory_order_seq_cst) - at_);
}

}  // namespace plumbline
