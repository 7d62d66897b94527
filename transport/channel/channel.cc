#include "transport/channel/channel.h"

#include <algorithm>
#include <cstring>

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
        stream(std::move(byte_stream)),
        sends(options, stats),
        receiver(self_rank, peer_rank, options, stats) {}

  void note(const Expected<bool>& moved) {
    if (!moved) {
      fail_with(moved.error());
    } else if (*moved) {
      moved_since_look = true;
    }
  }
  void fail_with(const Error& reason) {
    if (!error) error = reason;
  }
  // Nothing stands before newly ready bytes: they need not wait for the next progress().
  void flush_if_new(bool was_waiting) {
    if (!was_waiting && sends.wants_write()) note(sends.flush(*stream));
  }

  const int peer;
  std::unique_ptr<ByteStream> stream;
  ChannelStats stats;
  SendQueue sends;
  Receiver receiver;
  std::optional<Error> error;
  int64_t last_progress = monotonic_ns();
  bool moved_since_look = false;
};

Channel::Channel(int self, int peer, std::unique_ptr<ByteStream> stream,
                 const ChannelOptions& options)
    : impl_(std::make_unique<Impl>(self, peer, std::move(stream), sane(options))) {}

Channel::~Channel() = default;

int Channel::peer() const { return impl_->peer; }

Channel::SendId Channel::post_send(const MessageTag& tag, const void* data, size_t bytes,
                                   size_t ready, SendObserver* observer, uint64_t cookie) {
  if (impl_->error) return 0;
  const bool was_waiting = impl_->sends.wants_write();
  const SendId id = impl_->sends.post(tag, data, bytes, ready, observer, cookie);
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
  if (!status) impl_->fail_with(status.error());
}

Expected<bool> Channel::progress() {
  bool moved = false;
  if (!impl_->error && impl_->sends.wants_write()) {
    const Expected<bool> sent = impl_->sends.flush(*impl_->stream);
    impl_->note(sent);
    moved = sent && *sent;
  }
  if (!impl_->error) {
    const Expected<bool> got = impl_->receiver.pull(*impl_->stream);
    impl_->note(got);
    moved = moved || (got && *got);
  }
  if (impl_->error) return fail(*impl_->error);
  return moved;
}

bool Channel::wants_read() const { return impl_->error || impl_->receiver.wants_read(); }
bool Channel::wants_write() const { return impl_->error || impl_->sends.wants_write(); }
bool Channel::idle() const { return impl_->sends.empty() && impl_->receiver.idle(); }

void Channel::cancel(const Error& reason) {
  impl_->fail_with(reason);
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
std::string Channel::obstacle() const { return impl_->receiver.obstacle(); }
const std::optional<HashMismatch>& Channel::hash_mismatch() const {
  return impl_->receiver.hash_mismatch();
}
const ChannelStats& Channel::stats() const { return impl_->stats; }
ByteStream& Channel::stream() { return *impl_->stream; }

}  // namespace plumbline
