#include "transport/channel/lane.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {

Lane::Lane(int self, int peer_rank, ByteStream& byte_stream, const ChannelOptions& options,
           ChannelStats& stats, const SendBudget& budget)
    : peer(peer_rank),
      direct_bytes(options.crc ? ChannelOptions::kNothingDirect
                               : std::max<size_t>(options.direct_bytes, 1)),
      stream(&byte_stream),
      sends(options, stats, budget),
      receiver(self, peer_rank, options, stats) {}

PeerMemory* Lane::memory_for(size_t bytes) {
  return bytes < direct_bytes ? nullptr : stream->peer_memory();
}

std::optional<MemoryKey> Lane::key_of(const void* data, size_t bytes,
                                      const SendObserver* observer) {
  PeerMemory* const memory = memory_for(bytes);
  if (memory == nullptr) return std::nullopt;
  const MessageUse use = observer != nullptr ? observer->use() : MessageUse::kUnknown;
  return memory->expose({static_cast<const std::byte*>(data), bytes}, use);
}

Expected<bool> Lane::send(const MessageTag& tag, const void* data, size_t bytes, size_t ready,
                          SendObserver* observer, uint64_t cookie, Channel::SendId* id) {
  const bool was_waiting = sends.wants_write();
  const std::optional<MemoryKey> key = key_of(data, bytes, observer);
  *id = sends.post(tag, data, bytes, ready, observer, cookie, key ? &*key : nullptr);
  if (key) receiver.await_words(sends.awaits());
  return flush_if_new(was_waiting);
}

Expected<bool> Lane::extend(Channel::SendId id, size_t ready) {
  const bool was_waiting = sends.wants_write();
  sends.extend(id, ready);
  return flush_if_new(was_waiting);
}

// Nothing stands before newly ready bytes: they need not wait for the next progress().
Expected<bool> Lane::flush_if_new(bool was_waiting) {
  if (was_waiting || !sends.wants_write()) return false;
  return sends.flush(*stream);
}

Expected<bool> Lane::write_on() {
  Expected<bool> moved = sends.write_on(*stream->peer_memory());
  if (!moved) moved.error().what = fmt::format("rank {}: {}", peer, moved.error().what);
  return moved;
}

Expected<bool> Lane::move() {
  bool moved = false;
  if (sends.any_writers()) {
    const Expected<bool> written = write_on();
    if (!written) return written;
    moved = *written;
  }
  if (sends.wants_write()) {
    const Expected<bool> sent = sends.flush(*stream);
    if (!sent) return sent;
    moved = moved || *sent;
  }
  const Expected<bool> got = receiver.pull(*stream);
  if (!got) return got;
  moved = moved || *got;
  if (!receiver.any_words()) return moved;
  const Expected<bool> settled = settle_words();
  return settled ? Expected<bool>(moved || *settled) : settled;
}

// Hands on what the receiver heard and did about messages that go from memory to memory.
Expected<bool> Lane::settle_words() {
  while (receiver.any_words()) {
    words_.clear();
    receiver.swap_words(words_);
    for (const Receiver::Word& word : words_) {
      if (!word.by_peer) {
        sends.reply(word.said);
      } else if (Status status = sends.hear(word.said); !status) {
        return fail(status.error());
      }
    }
  }
  receiver.await_words(sends.awaits());
  bool moved = false;
  if (sends.any_writers()) {
    const Expected<bool> written = write_on();
    if (!written) return written;
    moved = *written;
  }
  if (!sends.owes()) return moved;
  const Expected<bool> sent = sends.flush(*stream);
  return sent ? Expected<bool>(moved || *sent) : sent;
}

std::optional<Stall> Lane::stall() const {
  if (receiver.blocked()) return Stall::kParkFull;
  if (sends.wants_write()) return Stall::kSendFull;
  if (!receiver.wants_read()) return std::nullopt;
  return receiver.begun() ? Stall::kReceiving : Stall::kPeerLate;
}

void Lane::cancel() {
  // Also for what only the peer knows to be under way: it reads what was offered to it.
  if (PeerMemory* const memory = stream->peer_memory()) memory->end_transfers();
  stream->release();
  sends.cancel();
  receiver.cancel();
}

}  // namespace plumbline
