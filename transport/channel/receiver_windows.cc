// The receiver's part of messages that the sender can only write (rendezvous.h): the windows that
// it grants, and what lies there by now.
#include <algorithm>
#include <memory>
#include <utility>

#include "transport/channel/receiver.h"

namespace plumbline {
namespace {

// A sink without memory of its own gets its bytes from a stage of two windows: the peer writes to
// the one while the other is used. Bytes.
constexpr size_t kWindowBytes = 128 * 1024;
constexpr size_t kWindowStageBytes = 2 * kWindowBytes;

}  // namespace

// As far as there is room now. Messages of one pair may wait for one another, so each has a stage
// of its own; there are as many as receives were posted at once.
Status Receiver::grant_windows(size_t index) {
  Offer& offer = offers_[index];
  RecvSink* const sink = table_.posted(offer.posted).sink;
  if (offer.granted == 0) {
    offer.to_stage = !sink->keeps_window();
    if (offer.to_stage && window_stages_.empty()) {
      offer.stage.reset(new std::byte[kWindowStageBytes]);
    } else if (offer.to_stage) {
      offer.stage = std::move(window_stages_.back());
      window_stages_.pop_back();
    }
  }
  if (!offer.to_stage) {
    return offer.granted > offer.taken ? Status() : grant_window(offer, sink->window());
  }
  while (offer.granted < offer.total && offer.granted - offer.taken <= kWindowBytes) {
    const Status granted =
        grant_window(offer, {offer.stage.get() + offer.granted % kWindowStageBytes, kWindowBytes});
    if (!granted) return granted;
  }
  return {};
}

Status Receiver::grant_window(Offer& offer, std::span<std::byte> window) {
  const uint64_t bytes = std::min<uint64_t>(window.size(), offer.total - offer.granted);
  if (bytes == 0) return no_room(offer.tag, offer.total - offer.granted);
  const Expected<MemoryKey> key = memory_->grant(window.first(bytes));
  if (!key) return fail(in_context(key.error()));
  offer.granted += bytes;
  words_.push_back({{FrameKind::kGrant, offer.tag, offer.total, offer.granted, *key}, false});
  return {};
}

// What has been written goes to the sink; where that makes room, the peer hears of it.
Status Receiver::use_written(size_t index, size_t& used) {
  const Offer& offer = offers_[index];
  const uint64_t there = offer.ready - offer.taken, missing = offer.total - offer.taken;
  const size_t before = used;
  if (offer.to_stage) {
    const size_t at = offer.taken % kWindowStageBytes;
    const size_t bytes = std::min<uint64_t>({there, kPieceBytes, kWindowStageBytes - at});
    const Status given = give(index, {offer.stage.get() + at, bytes}, used);
    if (!given) return given;
  } else {
    used += there;
    RecvSink* const sink = table_.posted(offer.posted).sink;
    give_counted(index, sink->window().first(there), false);
  }
  const bool over = used - before == missing;  // then it has left the list
  return over || cancelled_ ? Status() : grant_windows(index);
}

}  // namespace plumbline
