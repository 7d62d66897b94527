// The receiver's part of a rendezvous (rendezvous.h): messages that lie in the sender's memory, or
// that the sender writes to ours.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "transport/channel/receiver.h"

namespace plumbline {
namespace {

// What the system reads straight to its place comes in such pieces: each is a call.
constexpr size_t kReadPieceBytes = 256 * 1024;

}  // namespace

Status Receiver::take_offer() {
  const MessageTag tag = frame_.tag;
  if (memory_ == nullptr) return bad_offer(tag, "is offered where no memory is shared");
  if (offers_.find(tag) != OfferTable::kNone) return bad_offer(tag, "is offered twice");
  const std::optional<MemoryKey> key = unpack_key(std::span(key_).first(key_size_));
  if (!key || !memory_->abilities().has(key->reach)) {
    return bad_offer(tag, "is offered in a way that these two do not have");
  }
  if ((key->reach == MemoryReach::kWrite) != (frame_.offset == 0)) {
    return bad_offer(tag, "is offered with a number of bytes that cannot be");
  }
  const uint32_t posted = table_.find_posted(tag);
  if (posted == kNoSlot) {
    const uint32_t rival = table_.find_rival(tag);
    if (rival != kNoSlot) return hashes_differ(table_.posted(rival).tag, tag);
  } else if (table_.posted(posted).received > 0) {
    return bad_offer(tag, "is sent, and offered as well");
  }
  Offer offer;
  offer.tag = tag;
  offer.total = frame_.total;
  offer.ready = frame_.offset;
  offer.key = *key;
  Status added = offers_.add(std::move(offer));
  if (!added || posted == kNoSlot) return added;
  return match_offer(offers_.size() - 1, posted);
}

Status Receiver::grow_offer() {
  const size_t index = offers_.find(frame_.tag);
  if (index == OfferTable::kNone) return bad_offer(frame_.tag, "grows, but was not offered");
  Offer& offer = offers_[index];
  if (frame_.total != offer.total || frame_.offset <= offer.ready) {
    return bad_offer(frame_.tag, "is offered and does not grow");
  }
  if (offer.key.reach == MemoryReach::kWrite && frame_.offset > offer.granted) {
    return bad_offer(frame_.tag, "is written where no window was granted");
  }
  offer.ready = frame_.offset;
  return {};
}

// The receive that asks for an offered message is there.
Status Receiver::match_offer(size_t index, uint32_t posted_index) {
  Offer& offer = offers_[index];
  PostedRecv& posted = table_.posted(posted_index);
  if (posted.tag.op_hash != offer.tag.op_hash) return hashes_differ(posted.tag, offer.tag);
  if (posted.bytes != offer.total) return lengths_differ(offer.tag, offer.total, posted.bytes);
  if (offer.key.reach == MemoryReach::kMap) {
    Expected<MappedBytes> from = memory_->map(offer.key, offer.total);
    if (!from) return fail(in_context(from.error()));
    offer.from = std::move(*from);
  }
  offer.posted = posted_index;
  posted.offered = true;
  return offer.key.reach == MemoryReach::kWrite ? grant_windows(index) : Status();
}

// The peer says something about a message of ours.
Status Receiver::hear_word() {
  ReceiverWord word{frame_.kind, frame_.tag, frame_.total, frame_.offset, {}};
  if (word.kind == FrameKind::kGrant) {
    const std::optional<MemoryKey> key = unpack_key(std::span(key_).first(key_size_));
    if (memory_ == nullptr || !key || key->reach != MemoryReach::kWrite ||
        !memory_->abilities().writes) {
      return bad_offer(word.tag, "is granted a window in a way that these two do not have");
    }
    word.key = *key;
  }
  // After the last such word the peer may close: nobody reads on and takes that for a loss.
  if (word.ends() && awaits_words_ > 0) --awaits_words_;
  words_.push_back({word, true});
  return {};
}

// Sinks may post from inside, and what they post may have been offered.
Status Receiver::use_offers(size_t& used) {
  for (size_t index = 0; index < offers_.size() && used < kReadBytes && !cancelled_;) {
    if (!offers_.can_take(index)) {
      ++index;
      continue;
    }
    const Expected<bool> moved = use_offer(index, used);
    if (!moved) return fail(moved.error());
    if (!*moved) ++index;
  }
  return {};
}

// One piece of it; its end takes it off the list. false = its bytes are on their way.
Expected<bool> Receiver::use_offer(size_t index, size_t& used) {
  const Offer& offer = offers_[index];
  if (offer.key.reach == MemoryReach::kRead) return use_read(index, used);
  Status given;
  if (offer.key.reach == MemoryReach::kWrite) {
    given = use_written(index, used);
  } else {
    const uint64_t there = std::min<uint64_t>(offer.ready - offer.taken, kPieceBytes);
    if (const Status stays = memory_->begin_use(); !stays) return fail(in_context(stays.error()));
    given = give(index, offer.from.bytes.subspan(offer.taken, there), used);
  }
  if (!given) return fail(given.error());
  return true;
}

Expected<bool> Receiver::use_read(size_t index, size_t& used) {
  Offer& offer = offers_[index];
  RecvSink* const sink = table_.posted(offer.posted).sink;
  if (offer.reading == 0) {
    if (const Status begun = begin_read(offer, *sink); !begun) return fail(begun.error());
    if (offer.reading == 0) return false;
  }
  const Expected<bool> done = memory_->read_done(offer.ticket);
  if (!done) return fail(in_context(done.error()));
  if (!*done) return false;
  const size_t bytes = offer.reading;
  const bool staged = offer.to_stage;
  end_read(offer);
  Status given;
  if (staged) {
    given = give(index, {read_stage_.get(), bytes}, used);
  } else {
    used += bytes;
    give_counted(index, sink->window().first(bytes), false);
  }
  if (!given) return fail(given.error());
  return true;
}

// Nothing is read while another message holds the stage.
Status Receiver::begin_read(Offer& offer, RecvSink& sink) {
  const uint64_t there = offer.ready - offer.taken;
  std::span<std::byte> to;
  offer.to_stage = !sink.keeps_window();
  if (offer.to_stage) {
    if (read_stage_taken_) return {};
    if (!read_stage_) read_stage_.reset(new std::byte[kPieceBytes]);
    to = {read_stage_.get(), static_cast<size_t>(std::min<uint64_t>(there, kPieceBytes))};
  } else {
    const std::span<std::byte> room = sink.window();
    to = room.first(std::min({room.size(), static_cast<size_t>(there), kReadPieceBytes}));
    if (to.empty()) return no_room(offer.tag, offer.total - offer.taken);
  }
  const Expected<uint64_t> ticket = memory_->start_read(offer.key, offer.total, offer.taken, to);
  if (!ticket) return fail(in_context(ticket.error()));
  offer.ticket = *ticket;
  offer.reading = to.size();
  if (offer.to_stage) read_stage_taken_ = true;
  return {};
}

void Receiver::end_read(Offer& offer) {
  offer.reading = 0;
  if (offer.to_stage) read_stage_taken_ = false;
}

// The next bytes of an offered message lie here: mapped (then their use has begun), read or
// written. The sink takes as many as it can.
Status Receiver::give(size_t index, std::span<const std::byte> here, size_t& used) {
  const Offer& offer = offers_[index];
  const MessageTag tag = offer.tag;
  const bool mapped = offer.key.reach == MemoryReach::kMap;
  RecvSink* const sink = table_.posted(offer.posted).sink;
  size_t bytes = sink->usable(here);
  const bool in_place = bytes > 0;
  if (!in_place) {
    const std::span<std::byte> to = sink->window();
    bytes = std::min(here.size(), to.size());
    if (bytes > 0) std::memcpy(to.data(), here.data(), bytes);
    stats_.copied_bytes += bytes;
    // Before the sink goes on with them.
    if (const Status stayed = mapped ? memory_->end_use() : Status(); !stayed) {
      return fail(in_context(stayed.error()));
    }
    if (bytes == 0) return no_room(tag, offer.total - offer.taken);
  } else if (mapped) {
    stats_.in_place_bytes += bytes;
  }
  used += bytes;
  give_counted(index, here.first(bytes), in_place);
  // What the sink has made of them is wrong too, and so is what it has sent on: the group fails.
  const Status stayed = in_place && mapped ? memory_->end_use() : Status();
  return stayed ? stayed : fail(in_context(stayed.error()));
}

// All state is brought up to date before the sink hears of it, as in account().
void Receiver::give_counted(size_t index, std::span<const std::byte> here, bool in_place) {
  Offer& offer = offers_[index];
  PostedRecv& posted = table_.posted(offer.posted);
  RecvSink* const sink = posted.sink;
  const size_t bytes = here.size();
  stats_.payload_received += bytes;
  stats_.wire_received += bytes;
  stats_.direct_received += bytes;
  offer.taken += bytes;
  posted.received += bytes;
  const ReceiverWord whole{FrameKind::kTaken, offer.tag, offer.total, offer.total, {}};
  const bool told = offer.key.reach != MemoryReach::kWrite;  // such a sender knows
  std::shared_ptr<const void> hold;                          // until the sink is through
  std::unique_ptr<std::byte[]> stage;
  const bool over = offer.taken == offer.total;
  if (over) {
    hold = std::move(offer.from.hold);
    stage = std::move(offer.stage);
    table_.remove_posted(offer.posted);
    offers_.remove(index);
  }
  if (in_place) {
    sink->use(here);
  } else {
    sink->advance(bytes);
  }
  if (stage) window_stages_.push_back(std::move(stage));
  if (over && told && !cancelled_) words_.push_back({whole, false});
}

void Receiver::await_words(size_t messages) {
  if (messages > 0 && awaits_words_ == 0) held_ = false;  // it may be parked now
  awaits_words_ = messages;
}

tl::unexpected<Error> Receiver::bad_offer(const MessageTag& tag, const char* what) const {
  return fail(ErrorCode::kProtocol, fmt::format("{} of rank {} {}", message_name(tag), peer_, what),
              "do all ranks run the same version of plumbline?");
}

}  // namespace plumbline
