#include "transport/channel/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "transport/channel/frame.h"
#include "transport/channel/lane.h"

namespace plumbline {
namespace {

// A frame's length is a 32-bit field.
ChannelOptions sane(ChannelOptions options) {
  constexpr size_t kMost = 0xffffffff;
  options.chunk_bytes = std::clamp<size_t>(options.chunk_bytes, 1, kMost);
  options.whole_bytes = std::min(options.whole_bytes, kMost);
  return options;
}

// Of a send that goes over the bulk lane.
constexpr Channel::SendId kBulkSend = uint64_t{1} << 31;

// Tries in a row that moved nothing, after which a lane that nothing is posted for is looked at: an
// operation of the peer that differs from ours may send its bytes there.
constexpr unsigned kTriesPerSideLook = 16;

// The one that is waited for first. Operation numbers wrap around.
std::optional<MessageTag> earlier_of(const std::optional<MessageTag>& a,
                                     const std::optional<MessageTag>& b) {
  if (!a || !b) return a ? a : b;
  const auto ahead = static_cast<int32_t>(a->sequence - b->sequence);
  return ahead < 0 || (ahead == 0 && a->step <= b->step) ? a : b;
}

}  // namespace

CrcFunction crc_of(const ChannelOptions& options) {
  if (!options.crc) return nullptr;
  return options.crc32c != nullptr ? options.crc32c : crc32c_table;
}

struct Channel::Impl {
  Impl(int self, int peer_rank, std::unique_ptr<ByteStream> byte_stream,
       const ChannelOptions& options)
      : peer(peer_rank),
        bulk_bytes(options.bulk_bytes),
        owner(std::move(byte_stream)),
        main(self, peer, *owner, options, stats) {
    settle();
    if (ByteStream* const beside = owner->bulk()) {
      bulk.emplace(self, peer, *beside, options, stats, kBulkBudget);
      bulk->receiver.count_into(beside->awaited());
      main.receiver.set_beside(bulk->receiver);
      bulk->receiver.set_beside(main.receiver);
    }
  }

  // Frames that are being written lie in the lanes, which go first.
  ~Impl() {
    if (bulk) bulk->stream->release();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Until both ends have come to terms; what goes wrong is found by the next read or write.
  void settle() {
    const Expected<bool> ready = owner->ready();
    settled = ready.value_or(false);
    if (settled) main.stream = owner->settled();
  }

  bool note(const Expected<bool>& moved) {
    if (!moved) {
      break_with(moved.error());
      return false;
    }
    if (*moved) moved_since_look = true;
    return *moved;
  }
  void fail_with(const Error& reason) {
    if (!error) error = reason;
  }
  // What is wrong with this channel is about its peer.
  void break_with(Error reason) {
    reason.ranks = {peer};
    fail_with(reason);
  }

  bool in_bulk(size_t bytes) const { return bulk && bytes >= bulk_bytes; }
  Lane& lane_of(size_t bytes) { return in_bulk(bytes) ? *bulk : main; }

  // Two lanes, of which one may wait in vain for what comes over the other.
  bool move_both() {
    bool moved = false;
    for (Lane* const lane : {&main, &*bulk}) {
      if (!error && lane->wants_any()) moved = note(lane->move()) || moved;
    }
    tries = moved ? 0 : tries + 1;
    if (!error && tries >= kTriesPerSideLook) {
      tries = 0;
      look(main, *bulk);
      look(*bulk, main);
    }
    return moved;
  }
  static bool looks(const Lane& lane, const Lane& waits) {
    return waits.receiver.wants_read() && lane.receiver.may_look();
  }
  void look(Lane& lane, const Lane& waits) {
    if (error || !looks(lane, waits)) return;
    if (const Status status = lane.receiver.look(*lane.stream); !status) break_with(status.error());
  }
  bool add_lane(std::vector<pollfd>& poll, const Lane& lane, const Lane& other) const {
    const bool reads = error || lane.receiver.wants_read() || looks(lane, other);
    const bool writes = error || lane.sends.wants_write();
    return (!reads && !writes) || lane.stream->add_to(poll, reads, writes);
  }

  const int peer;
  const size_t bulk_bytes;
  const std::unique_ptr<ByteStream> owner;
  bool settled = false;
  ChannelStats stats;
  Lane main;  // over what the owned stream came to
  std::optional<Lane> bulk;
  unsigned tries = 0;  // in a row that moved nothing, of two lanes
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
  Lane& lane = impl_->lane_of(bytes);
  if (bytes < lane.direct_bytes && ready >= bytes && lane.sends.can_send_at_once(bytes)) {
    impl_->note(lane.sends.send_at_once(*lane.stream, tag, data, bytes, observer, cookie));
    return 0;  // there is nothing to extend
  }
  SendId id = 0;
  impl_->note(lane.send(tag, data, bytes, ready, observer, cookie, &id));
  return impl_->in_bulk(bytes) ? id | kBulkSend : id;
}

void Channel::extend_send(SendId id, size_t ready) {
  if (impl_->error) return;
  Lane& lane = impl_->bulk && (id & kBulkSend) != 0 ? *impl_->bulk : impl_->main;
  impl_->note(lane.extend(id & ~kBulkSend, ready));
}

void Channel::post_recv(const MessageTag& tag, size_t bytes, RecvSink* sink) {
  if (impl_->error) return;
  Status status = impl_->lane_of(bytes).receiver.post(tag, bytes, sink);
  if (!status) impl_->break_with(status.error());
}

Expected<bool> Channel::progress() {
  Impl& impl = *impl_;
  if (!impl.error && !impl.bulk && impl.main.nothing_to_do()) return false;
  bool moved = false;
  if (!impl.settled) impl.settle();
  if (!impl.error) moved = impl.bulk ? impl.move_both() : impl.note(impl.main.move());
  if (impl.error) return fail(*impl.error);
  return moved;
}

bool Channel::wants_read() const {
  return impl_->error || impl_->main.receiver.wants_read() ||
         (impl_->bulk && impl_->bulk->receiver.wants_read());
}
bool Channel::wants_write() const {
  return impl_->error || impl_->main.sends.wants_write() ||
         (impl_->bulk && impl_->bulk->sends.wants_write());
}
bool Channel::add_to(std::vector<pollfd>& poll) const {
  const Lane& main = impl_->main;
  if (!impl_->bulk) return main.stream->add_to(poll, wants_read(), wants_write());
  const bool wakes = impl_->add_lane(poll, main, *impl_->bulk);
  return impl_->add_lane(poll, *impl_->bulk, main) && wakes;
}
bool Channel::arm() {
  const auto arms = [](Lane& lane) {
    return lane.wants_any() &&
           lane.stream->arm(lane.receiver.wants_read(), lane.sends.wants_write());
  };
  return arms(impl_->main) || (impl_->bulk && arms(*impl_->bulk));
}
bool Channel::told_by_poll() const {
  return !impl_->error && impl_->main.stream->told_by_poll() &&
         (!impl_->bulk || impl_->bulk->stream->told_by_poll());
}
bool Channel::idle() const {
  const auto idle = [](const Lane& lane) { return lane.sends.empty() && lane.receiver.idle(); };
  return idle(impl_->main) && (!impl_->bulk || idle(*impl_->bulk));
}

bool Channel::owes() const {
  return !impl_->error && (impl_->main.owes() || (impl_->bulk && impl_->bulk->owes()));
}

void Channel::cancel(const Error& reason) {
  impl_->fail_with(reason);
  impl_->main.cancel();
  if (impl_->bulk) impl_->bulk->cancel();
}

void Channel::note_time(int64_t now_ns) {
  if (impl_->moved_since_look) impl_->last_progress = now_ns;
  impl_->moved_since_look = false;
}

int64_t Channel::last_progress_ns() const {
  return impl_->moved_since_look ? monotonic_ns() : impl_->last_progress;
}

std::optional<MessageTag> Channel::waiting_recv() const {
  const std::optional<MessageTag> main = impl_->main.receiver.oldest();
  return impl_->bulk ? earlier_of(main, impl_->bulk->receiver.oldest()) : main;
}
std::optional<MessageTag> Channel::waiting_send() const {
  const std::optional<MessageTag> main = impl_->main.sends.oldest();
  return impl_->bulk ? earlier_of(main, impl_->bulk->sends.oldest()) : main;
}
std::optional<Stall> Channel::stall() const {
  const std::optional<Stall> main = impl_->main.stall();
  return impl_->bulk ? std::max(main, impl_->bulk->stall()) : main;
}
std::string Channel::obstacle() const {
  std::string main = impl_->main.receiver.obstacle();
  return main.empty() && impl_->bulk ? impl_->bulk->receiver.obstacle() : main;
}
const std::optional<HashMismatch>& Channel::hash_mismatch() const {
  const std::optional<HashMismatch>& main = impl_->main.receiver.hash_mismatch();
  return main || !impl_->bulk ? main : impl_->bulk->receiver.hash_mismatch();
}
const ChannelStats& Channel::stats() const { return impl_->stats; }
ByteStream& Channel::stream(size_t bytes) { return *impl_->lane_of(bytes).stream; }
size_t Channel::write_bytes(size_t bytes) const {
  return impl_->lane_of(bytes).sends.budget().write_bytes;
}
StreamStats Channel::stream_stats() const { return impl_->owner->stats(); }
PeerMemory* Channel::memory_for(size_t bytes) { return impl_->lane_of(bytes).memory_for(bytes); }

}  // namespace plumbline
