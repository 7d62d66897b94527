#include "transport/channel/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "transport/channel/frame.h"
#include "transport/channel/queues.h"
#include "transport/channel/receiver.h"

namespace plumbline {
namespace {

// A frame's length is a 32-bit field.
ChannelOptions sane(ChannelOptions options) {
  options.chunk_bytes = std::clamp<size_t>(options.chunk_bytes, 1, 0xffffffff);
  return options;
}

}  // namespace

CrcFunction crc_of(const ChannelOptions& options) {
  if (!options.crc) return nullptr;
  return options.crc32c != nullptr ? options.crc32c : crc32c_table;
}

struct Channel::Impl {
  Impl(int self_rank, int peer_rank, std::unique_ptr<ByteStream> byte_stream,
       const ChannelOptions& options)
      : peer(peer_rank),
        direct_bytes(options.crc ? ChannelOptions::kNothingDirect
                                 : std::max<size_t>(options.direct_bytes, 1)),
        owner(std::move(byte_stream)),
        stream(owner.get()),
        sends(options, stats),
        receiver(self_rank, peer_rank, options, stats) {
    settle();
  }

  // Until both ends have come to terms; what goes wrong is found by the next read or write.
  void settle() {
    const Expected<bool> ready = owner->ready();
    settled = ready.value_or(false);
    if (settled) stream = owner->settled();
  }

  void note(const Expected<bool>& moved) {
    if (!moved) {
      break_with(moved.error());
    } else if (*moved) {
      moved_since_look = true;
    }
  }
  void fail_with(const Error& reason) {
    if (!error) error = reason;
  }
  // What is wrong with this channel is about its peer.
  void break_with(Error reason) {
    reason.ranks = {peer};
    fail_with(reason);
  }
  PeerMemory* memory_for(size_t bytes) {
    return bytes < direct_bytes ? nullptr : stream->peer_memory();
  }
  // The key of a message that the peer may take from our memory.
  std::optional<MemoryKey> key_of(const void* data, size_t bytes, const SendObserver* observer) {
    PeerMemory* const memory = memory_for(bytes);
    if (memory == nullptr) return std::nullopt;
    const bool all_copy = observer != nullptr && observer->all_copy();
    return memory->expose({static_cast<const std::byte*>(data), bytes}, all_copy);
  }
  // Hands on what the receiver heard and did about messages that go from memory to memory.
  void settle_words() {
    while (receiver.any_words() && !error) {
      words.clear();
      receiver.swap_words(words);
      for (const Receiver::Word& word : words) {
        if (!word.by_peer) {
          sends.reply(word.said);
        } else if (Status status = sends.hear(word.said); !status) {
          break_with(status.error());
        }
      }
    }
    receiver.await_words(sends.awaits());
    if (!error && sends.any_writers()) note(write_on());
    if (!error && sends.owes()) note(sends.flush(*stream));
  }
  Expected<bool> write_on() {
    Expected<bool> moved = sends.write_on(*stream->peer_memory());
    if (!moved) moved.error().what = fmt::format("rank {}: {}", peer, moved.error().what);
    return moved;
  }
  // Nothing stands before newly ready bytes: they need not wait for the next progress().
  void flush_if_new(bool was_waiting) {
    if (!was_waiting && sends.wants_write()) note(sends.flush(*stream));
  }

  const int peer;
  const size_t direct_bytes;  // largest = nothing is offered
  const std::unique_ptr<ByteStream> owner;
  ByteStream* stream;  // that its bytes go through: the owned one, or what this came to
  bool settled = false;
  ChannelStats stats;
  SendQueue sends;
  Receiver receiver;
  std::optional<Error> error;
  int64_t last_progress = monotonic_ns();
  bool moved_since_look = false;
  std::vector<Receiver::Word> words;  // reused
};

Channel::Channel(int self, int peer, std::unique_ptr<ByteStream> stream,
                 const ChannelOptions& options)
    : impl_(std::make_unique<Impl>(self, peer, std::move(stream), sane(options))) {}

Channel::~Channel() = default;

int Channel::peer() const { return impl_->peer; }

Channel::SendId Channel::post_send(const MessageTag& tag, const void* data, size_t bytes,
                                   size_t ready, SendObserver* observer, uint64_t cookie) {
  if (impl_->error) return 0;
  if (bytes < impl_->direct_bytes && ready >= bytes && impl_->sends.can_send_at_once(bytes)) {
    impl_->note(impl_->sends.send_at_once(*impl_->stream, tag, data, bytes, observer, cookie));
    return 0;  // there is nothing to extend
  }
  const bool was_waiting = impl_->sends.wants_write();
  const std::optional<MemoryKey> key = impl_->key_of(data, bytes, observer);
  const SendId id =
      impl_->sends.post(tag, data, bytes, ready, observer, cookie, key ? &*key : nullptr);
  if (key) impl_->receiver.await_words(impl_->sends.awaits());
  impl_->flush_if_new(was_waiting);
  return id;
}

void Channel::extend_send(SendId id, size_t ready) {
  if (impl_->error) return;
  const bool was_waiting = impl_->sends.wants_write();
  impl_->sends.extend(id, ready);
  impl_->flush_if_new(was_waiting);
}

void Channel::post_recv(const MessageTag& tag, size_t bytes, RecvSink* sink) {
  if (impl_->error) return;
  Status status = impl_->receiver.post(tag, bytes, sink);
  if (!status) impl_->break_with(status.error());
}

Expected<bool> Channel::progress() {
  if (!impl_->error && !impl_->sends.wants_write() && impl_->receiver.nothing_new(*impl_->stream)) {
    return false;
  }
  bool moved = false;
  if (!impl_->settled) impl_->settle();
  if (!impl_->error && impl_->sends.any_writers()) {
    const Expected<bool> written = impl_->write_on();
    impl_->note(written);
    moved = written && *written;
  }
  if (!impl_->error && impl_->sends.wants_write()) {
    const Expected<bool> sent = impl_->sends.flush(*impl_->stream);
    impl_->note(sent);
    moved = moved || (sent && *sent);
  }
  if (!impl_->error) {
    const Expected<bool> got = impl_->receiver.pull(*impl_->stream);
    impl_->note(got);
    moved = moved || (got && *got);
    if (impl_->receiver.any_words()) impl_->settle_words();
  }
  if (impl_->error) return fail(*impl_->error);
  return moved;
}

bool Channel::wants_read() const { return impl_->error || impl_->receiver.wants_read(); }
bool Channel::wants_write() const { return impl_->error || impl_->sends.wants_write(); }
bool Channel::add_to(std::vector<pollfd>& poll) const {
  return impl_->stream->add_to(poll, wants_read(), wants_write());
}
bool Channel::told_by_poll() const { return !impl_->error && impl_->stream->told_by_poll(); }
bool Channel::idle() const { return impl_->sends.empty() && impl_->receiver.idle(); }

bool Channel::owes() const {
  return !impl_->error && (impl_->sends.owes() || impl_->receiver.any_words());
}

void Channel::cancel(const Error& reason) {
  impl_->fail_with(reason);
  if (impl_->sends.transfers() || impl_->receiver.transfers()) {
    impl_->stream->peer_memory()->end_transfers();
  }
  impl_->sends.cancel();
  impl_->receiver.cancel();
}

void Channel::note_time(int64_t now_ns) {
  if (impl_->moved_since_look) impl_->last_progress = now_ns;
  impl_->moved_since_look = false;
}

int64_t Channel::last_progress_ns() const {
  return impl_->moved_since_look ? monotonic_ns() : impl_->last_progress;
}

std::optional<MessageTag> Channel::waiting_recv() const { return impl_->receiver.oldest(); }
std::optional<MessageTag> Channel::waiting_send() const { return impl_->sends.oldest(); }
std::optional<Stall> Channel::stall() const {
  const Receiver& receiver = impl_->receiver;
  if (receiver.blocked()) return Stall::kParkFull;
  if (impl_->sends.wants_write()) return Stall::kSendFull;
  if (!receiver.wants_read()) return std::nullopt;
  return receiver.begun() ? Stall::kReceiving : Stall::kPeerLate;
}
std::string Channel::obstacle() const { return impl_->receiver.obstacle(); }
const std::optional<HashMismatch>& Channel::hash_mismatch() const {
  return impl_->receiver.hash_mismatch();
}
const ChannelStats& Channel::stats() const { return impl_->stats; }
ByteStream& Channel::stream() { return *impl_->stream; }
PeerMemory* Channel::memory_for(size_t bytes) { return impl_->memory_for(bytes); }

}  // namespace plumbline
