#include "transport/channel/ring.h"

#include <algorithm>
#include <cstring>

namespace plumbline {
namespace {

// Of all rings of one group, if all are used; and the least of one.
constexpr size_t kAllRingBytes = 256 << 20, kLeastRingBytes = 64 << 10;
// What is written at once and is no larger goes into slots.
constexpr size_t kMostInSlots = 3 * RingSlot::kBytes;

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

// Each end looks at what the other one has read or written only when what it knows no longer does.
// The last store of a call has its place in the one order of all that are sequentially consistent,
// because the sleepers' flags are looked at right after (transport/shm/shm_stream.cc): an end that
// goes to sleep sets its flag and then looks here once more.
bool RingWriter::look() {
  const uint64_t slots_read = ring_.state->slots_read.load(std::memory_order_acquire);
  const uint64_t read = ring_.state->read.load(std::memory_order_acquire);
  if (at_ - read > ring_.size || slots_ - slots_read > RingState::kSlots) return false;
  slots_read_ = slots_read;
  read_ = read;
  return true;
}

void RingWriter::publish(uint64_t mark, std::memory_order order) {
  ring_.state->slots[slots_ % RingState::kSlots].word.store((slots_ + 1) << 8 | mark, order);
  ++slots_;
}

size_t RingWriter::write_into_slots(std::span<const iovec> buffers, size_t bytes) {
  if (buffers.size() == 1 && bytes <= RingSlot::kBytes) {
    std::memcpy(ring_.state->slots[slots_ % RingState::kSlots].bytes, buffers[0].iov_base, bytes);
    publish(bytes, std::memory_order_seq_cst);
    return bytes;
  }
  size_t done = 0, in_slot = 0;
  std::byte* slot = nullptr;
  for (const iovec& buffer : buffers) {
    const auto* from = static_cast<const std::byte*>(buffer.iov_base);
    size_t left = buffer.iov_len;
    while (left > 0) {
      if (in_slot == 0) slot = ring_.state->slots[slots_ % RingState::kSlots].bytes;
      const size_t count = std::min(left, RingSlot::kBytes - in_slot);
      std::memcpy(slot + in_slot, from, count);
      from += count;
      left -= count;
      done += count;
      in_slot += count;
      if (in_slot < RingSlot::kBytes && done < bytes) continue;
      publish(in_slot, done < bytes ? std::memory_order_release : std::memory_order_seq_cst);
      in_slot = 0;
    }
  }
  return done;
}

Expected<size_t> RingWriter::write(std::span<const iovec> buffers) {
  const size_t asked = asked_for(buffers);
  const size_t slots = asked <= std::min(kMostInSlots, ring_.size)
                           ? (asked + RingSlot::kBytes - 1) / RingSlot::kBytes
                           : 1;
  const bool fits =
      slots_ - slots_read_ + slots <= RingState::kSlots && asked <= ring_.size - (at_ - read_);
  if (!fits && !look()) return impossible("reading");
  if (asked == 0 || slots_ - slots_read_ == RingState::kSlots) return size_t{0};
  if (asked <= std::min(kMostInSlots, ring_.size)) {
    if (slots_ - slots_read_ + slots > RingState::kSlots) return size_t{0};
    return write_into_slots(buffers, asked);
  }
  const size_t bytes = move_bytes(ring_, at_, ring_.size - (at_ - read_), buffers,
                                  [](std::byte* in_ring, const std::byte* from, size_t count) {
                                    std::memcpy(in_ring, from, count);
                                  });
  if (bytes == 0) return bytes;
  at_ += bytes;
  std::memcpy(ring_.state->slots[slots_ % RingState::kSlots].bytes, &at_, sizeof at_);
  publish(RingSlot::kInRing, std::memory_order_seq_cst);
  return bytes;
}

size_t RingWriter::room() const {
  const uint64_t slots = slots_ - ring_.state->slots_read.load(std::memory_order_seq_cst);
  const uint64_t held = at_ - ring_.state->read.load(std::memory_order_seq_cst);
  if (held > ring_.size || slots > RingState::kSlots) return 1;
  return slots + kMostInSlots / RingSlot::kBytes > RingState::kSlots ? 0 : ring_.size - held;
}

// What the next slot says, once all of the one before has been read.
void RingReader::take_slot() {
  const RingSlot& slot = ring_.state->slots[slots_ % RingState::kSlots];
  const uint64_t word = slot.word.load(std::memory_order_acquire);
  if (word >> 8 != slots_ + 1) {
    impossible_ = word >> 8 > slots_ + 1;
    return;
  }
  const uint64_t mark = word & 0xff;
  if (mark >= 1 && mark <= RingSlot::kBytes) {
    in_slot_ = {slot.bytes, mark};
    return;
  }
  std::memcpy(&written_, slot.bytes, sizeof written_);
  impossible_ = mark != RingSlot::kInRing || written_ == at_ || written_ - at_ > ring_.size;
  if (impossible_) {
    written_ = at_;
    return;
  }
  ring_.state->slots_read.store(++slots_, std::memory_order_release);
}

Expected<size_t> RingReader::read(std::span<const iovec> buffers) {
  size_t bytes = 0;
  for (const iovec& buffer : buffers) {
    auto* to = static_cast<std::byte*>(buffer.iov_base);
    for (size_t left = buffer.iov_len; left > 0;) {
      const std::span<const std::byte> here = readable();
      if (here.empty()) {
        if (impossible_) return impossible("writing");
        return bytes;
      }
      const size_t count = std::min(left, here.size());
      std::memcpy(to, here.data(), count);
      consume(count);
      to += count;
      left -= count;
      bytes += count;
    }
  }
  return bytes;
}

std::span<const std::byte> RingReader::readable() {
  if (in_slot_.empty() && written_ == at_) take_slot();
  if (!in_slot_.empty()) return in_slot_;
  const size_t position = at_ % ring_.size;
  return {ring_.data + position, std::min<size_t>(written_ - at_, ring_.size - position)};
}

void RingReader::consume(size_t bytes) {
  if (in_slot_.empty()) {
    at_ += bytes;
    ring_.state->read.store(at_, std::memory_order_release);
    return;
  }
  in_slot_ = in_slot_.subspan(bytes);
  if (in_slot_.empty()) ring_.state->slots_read.store(++slots_, std::memory_order_release);
}

void RingReader::publish() { ring_.state->slots_read.store(slots_, std::memory_order_seq_cst); }

bool RingReader::any() const {
  if (!in_slot_.empty() || written_ != at_) return true;
  const RingSlot& slot = ring_.state->slots[slots_ % RingState::kSlots];
  return slot.word.load(std::memory_order_seq_cst) >> 8 > slots_;
}

}  // namespace plumbline
