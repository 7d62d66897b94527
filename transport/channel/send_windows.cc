// The sender's part of messages that it can only write (rendezvous.h): the windows that the peer
// has granted, and what is on its way there.
#include <fmt/format.h>

#include <algorithm>

#include "transport/channel/queues.h"

namespace plumbline {
namespace {

// Written at once, at most; and at least, unless the message or the window ends before. Bytes.
constexpr size_t kMostAtOnce = 256 * 1024;
constexpr size_t kLeastAtOnce = 64 * 1024;
// A peer that grants more windows before any is full is no rank of ours: they grant two.
constexpr size_t kMostWindows = 16;

}  // namespace

Status SendQueue::granted(uint32_t index, const ReceiverWord& word) {
  Offered& offered = offered_[index];
  const bool right = written_by_us(index) && offered.announced && word.offset > offered.granted &&
                     word.total == messages_[index].bytes && offered.windows.size() < kMostWindows;
  if (!right) return no_such_word(word, "needs no such window");
  offered.windows.push_back({word.key, offered.granted, word.offset});
  offered.granted = word.offset;
  if (word.ends()) --awaits_;
  return {};
}

// How many bytes could be on their way next.
size_t SendQueue::writable(uint32_t index) const {
  const Offered& offered = offered_[index];
  if (offered.windows.empty() || offered.under_way > 0) return 0;
  const uint64_t room = offered.windows.front().end - offered.written;
  const uint64_t here = std::min<uint64_t>(messages_[index].ready - offered.written, room);
  if (here < std::min<uint64_t>(room, kLeastAtOnce)) return 0;
  return static_cast<size_t>(std::min<uint64_t>(here, kMostAtOnce));
}

bool SendQueue::transfers() const {
  if (writers_ == 0) return false;
  for (uint32_t index = live_.front(); index != kNoSlot; index = live_.next(index)) {
    if (written_by_us(index) && offered_[index].under_way > 0) return true;
  }
  return false;
}

bool SendQueue::can_write() const {
  if (transfers()) return true;
  for (uint32_t index = live_.front(); index != kNoSlot; index = live_.next(index)) {
    if (written_by_us(index) && writable(index) > 0) return true;
  }
  return false;
}

Expected<bool> SendQueue::write_on(PeerMemory& memory) {
  bool moved = false;
  for (uint32_t index = live_.front(); index != kNoSlot; index = live_.next(index)) {
    if (!written_by_us(index)) continue;
    const Expected<bool> more = write_message(index, memory);
    if (!more) return more;
    moved = moved || *more;
  }
  return moved;
}

// Ends what has arrived and begins with the next piece.
Expected<bool> SendQueue::write_message(uint32_t index, PeerMemory& memory) {
  Offered& offered = offered_[index];
  bool moved = false;
  while (true) {
    if (offered.under_way > 0) {
      const Expected<bool> done = memory.write_done(offered.ticket);
      if (!done) return fail(done.error());
      if (!*done) return moved;
      moved = true;
      offered.written += offered.under_way;
      offered.under_way = 0;
      if (offered.written == offered.windows.front().end) {
        offered.windows.erase(offered.windows.begin());
      }
      if (!ready_.contains(index)) enqueue(index, Place::kBehindEqual);
    }
    const size_t bytes = writable(index);
    if (bytes == 0) return moved;
    const Offered::Window& window = offered.windows.front();
    const Expected<uint64_t> ticket =
        memory.start_write(window.key, window.end - window.begin, offered.written - window.begin,
                           {messages_[index].data + offered.written, bytes});
    if (!ticket) return fail(ticket.error());
    offered.ticket = *ticket;
    offered.under_way = bytes;
  }
}

tl::unexpected<Error> SendQueue::no_such_word(const ReceiverWord& word, const char* why) {
  return fail(ErrorCode::kProtocol,
              fmt::format("{} is said to be {}, but {}", message_name(word.tag),
                          word.kind == FrameKind::kGrant ? "granted a window" : "taken", why),
              "do all ranks run the same version of plumbline?");
}

}  // namespace plumbline
