#include "transport/channel/receiver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace plumbline {
namespace {

// A header and the largest message that comes with it in one call; its extra copy stays in the
// first-level cache.
constexpr size_t kStageBytes = 16 * 1024 + kFrameHeaderBytes;

}  // namespace

Receiver::Receiver(int self, int peer, const ChannelOptions& options, ChannelStats& stats)
    : self_(self),
      peer_(peer),
      rules_{peer, std::max(options.chunk_bytes, options.whole_bytes), options.crc},
      crc32c_(crc_of(options)),
      stats_(stats),
      table_(options.park_bytes),
      stage_(new std::byte[kStageBytes]) {}

Status Receiver::post(const MessageTag& tag, size_t bytes, RecvSink* sink) {
  if (cancelled_) return {};
  uint32_t parked = kNoSlot;
  if (table_.any_parked()) {
    parked = table_.find_parked_rival(tag);
    if (parked != kNoSlot) return hashes_differ(tag, table_.parked(parked).tag);
    parked = table_.find_parked(tag);
    if (parked != kNoSlot && table_.parked(parked).bytes != bytes) {
      return lengths_differ(tag, table_.parked(parked).bytes, bytes);
    }
  }
  size_t offer = OfferTable::kNone;
  if (offers_.size() > 0) {
    offer = offers_.find_rival(tag);
    if (offer != OfferTable::kNone) return hashes_differ(tag, offers_[offer].tag);
    offer = offers_.find(tag);
  }
  if (beside_ != nullptr) {
    if (Status status = agrees_with_waiting_beside(tag, bytes); !status) return status;
  }
  const uint32_t posted = table_.post(tag, bytes, sink);
  held_ = false;
  if (offer != OfferTable::kNone) return match_offer(offer, posted);
  if (parked != kNoSlot) claims_.push_back({posted, parked});
  if (running_ || !anything_here()) return {};
  running_ = true;
  Status status = consume();
  running_ = false;
  return status;
}

// Works off the stage. Parked beginnings are delivered before anything else, so that a message's
// bytes stay in order.
Status Receiver::consume() {
  while (!cancelled_) {
    if (!claims_.empty()) {
      if (Status status = deliver_claims(); !status) return status;
    }
    if (!in_frame_) {
      if (staged() < kFrameHeaderBytes) return {};
      Status status = begin_frame(std::span<const std::byte, kFrameHeaderBytes>(
          stage_.get() + stage_begin_, kFrameHeaderBytes));
      if (!status) return status;
      stage_begin_ += kFrameHeaderBytes;
    }
    if (Status status = find_place(); !status || held_) return status;
    if (!in_frame_) continue;
    if (staged() == 0) return {};
    const Expected<size_t> bytes = place({stage_.get() + stage_begin_, std::min(staged(), left_)});
    if (!bytes) return fail(bytes.error());
    stage_begin_ += *bytes;
  }
  return {};
}

// The frame's payload has a place to go, it is held back (held_), or it was empty and is done
// (no longer in_frame_).
Status Receiver::find_place() {
  if (to_posted_ != kNoSlot || to_parked_ != kNoSlot) return {};
  if (frame_.kind != FrameKind::kData) return left_ > 0 ? Status() : account(0);
  if (Status status = route(); !status || held_ || left_ > 0) return status;
  return account(0);
}

// Works off what lies in the stream's own memory, without a copy where the sink knows a better use
// for it. What is used is given back piece by piece, so that the peer can go on meanwhile.
Status Receiver::use_in_place(ByteStream& stream, size_t& used) {
  while (!cancelled_ && used < kReadBytes) {
    if (!claims_.empty()) {
      if (Status status = deliver_claims(); !status) return status;
    }
    if (!in_frame_) {
      // The next message is left alone until somebody asks for it: a look takes the line from the
      // peer that writes it, and its place is looked for twice.
      if (!wants_stream()) return {};
      const std::span<const std::byte> here = stream.readable();
      if (here.size() < kFrameHeaderBytes) return {};
      if (const size_t bytes = use_whole(here); bytes > 0) {
        stream.consumed(bytes);
        used += bytes;
        continue;
      }
      Status status = begin_frame(here.first<kFrameHeaderBytes>());
      stream.consumed(kFrameHeaderBytes);
      used += kFrameHeaderBytes;
      if (!status) return status;
    }
    if (Status status = find_place(); !status || held_) return status;
    if (!in_frame_) continue;
    const std::span<const std::byte> rest = stream.readable();
    if (rest.empty()) return {};
    const Expected<size_t> bytes = place(rest.first(std::min({rest.size(), left_, kPieceBytes})));
    stream.consumed(bytes.value_or(0));
    if (!bytes) return fail(bytes.error());
    used += *bytes;
  }
  return {};
}

// Most small messages are the one that was asked for first, and lie here from end to end: then the
// header is, byte for byte, the one that this rank would have written, and need not be taken apart.
// Returns the bytes of the frame; 0 = it is none of these, and nothing was done.
size_t Receiver::use_whole(std::span<const std::byte> here) {
  if (crc32c_ != nullptr || !table_.any_posted()) return 0;
  const PostedRecv& posted = table_.oldest_posted();
  const size_t bytes = posted.bytes;
  if (bytes > std::min<uint64_t>(kPieceBytes, rules_.max_length)) return 0;
  if (here.size() < kFrameHeaderBytes + bytes || posted.received > 0 || posted.offered) return 0;
  FrameHeader expected;
  expected.tag = posted.tag;
  expected.total = bytes;
  expected.length = static_cast<uint32_t>(bytes);
  expected.flags = kFrameLast;
  const FrameBytes header = encode_frame(expected);
  if (std::memcmp(here.data(), header.data(), header.size()) != 0) return 0;
  const std::span<const std::byte> payload = here.subspan(kFrameHeaderBytes, bytes);
  RecvSink* const sink = posted.sink;
  const bool in_place = bytes > 0 && sink->usable(payload) == bytes;
  if (!in_place && bytes > 0) {
    const std::span<std::byte> to = sink->window();
    if (to.size() < bytes) return 0;
    std::memcpy(to.data(), payload.data(), bytes);
  }
  (in_place ? stats_.in_place_bytes : stats_.copied_bytes) += bytes;
  stats_.payload_received += bytes;
  stats_.wire_received += kFrameHeaderBytes + bytes;
  ++stats_.frames_received;
  table_.remove_oldest_posted();
  if (in_place) {
    sink->use(payload);
  } else {
    sink->advance(bytes);
  }
  return kFrameHeaderBytes + bytes;
}

Status Receiver::begin_frame(std::span<const std::byte, kFrameHeaderBytes> bytes) {
  const Expected<FrameHeader> header = decode_frame(bytes, rules_);
  if (!header) return fail(header.error());
  frame_ = *header;
  left_ = frame_.length;
  if (crc32c_ != nullptr) crc_ = frame_header_crc(bytes, crc32c_);
  in_frame_ = true;
  to_posted_ = to_parked_ = kNoSlot;
  key_size_ = 0;
  return {};
}

// Finds where the frame's payload goes, or leaves it in the stream (held_).
Status Receiver::route() {
  held_ = false;
  const uint32_t posted = table_.find_posted(frame_.tag);
  if (posted != kNoSlot) return route_posted(posted);
  const uint32_t rival = table_.find_rival(frame_.tag);
  if (rival != kNoSlot) return hashes_differ(table_.posted(rival).tag, frame_.tag);
  if (beside_ != nullptr) {
    if (Status status = agrees_with_posted_beside(); !status) return status;
  }
  return route_parked(table_.find_parked(frame_.tag));
}

Status Receiver::route_posted(uint32_t index) {
  const PostedRecv& posted = table_.posted(index);
  if (posted.tag.op_hash != frame_.tag.op_hash) return hashes_differ(posted.tag, frame_.tag);
  if (posted.bytes != frame_.total) {
    return lengths_differ(frame_.tag, frame_.total, posted.bytes);
  }
  if (posted.offered) return bad_offer(frame_.tag, "is offered, and sent as well");
  if (posted.received != frame_.offset) {
    return fail(ErrorCode::kProtocol,
                fmt::format("frame from rank {}: offset is {}, expected {} ({})", peer_,
                            frame_.offset, posted.received, message_name(frame_.tag)));
  }
  to_posted_ = index;
  return {};
}

Status Receiver::route_parked(uint32_t index) {
  if (index != kNoSlot && table_.parked(index).complete()) index = kNoSlot;
  const size_t expected = index == kNoSlot ? 0 : table_.parked(index).received;
  const size_t total = index == kNoSlot ? frame_.total : table_.parked(index).bytes;
  if (frame_.offset != expected || frame_.total != total) {
    return fail(
        ErrorCode::kProtocol,
        fmt::format("frame from rank {}: offset {} of {} bytes, expected offset {} of {} "
                    "({})",
                    peer_, frame_.offset, frame_.total, expected, total, message_name(frame_.tag)));
  }
  if (table_.any_posted() || awaits_words_ > 0)
    to_parked_ = table_.park(index, frame_.tag, frame_.total, frame_.length);
  if (to_parked_ == kNoSlot) {
    held_ = true;
    return {};
  }
  stats_.parked_bytes_peak = std::max<uint64_t>(stats_.parked_bytes_peak, table_.parked_bytes());
  return {};
}

std::span<std::byte> Receiver::window() {
  if (frame_.kind != FrameKind::kData) return std::span(key_).subspan(key_size_, left_);
  if (to_posted_ != kNoSlot) return table_.posted(to_posted_).sink->window();
  ParkedMessage& parked = table_.parked(to_parked_);
  return std::span(parked.data).subspan(parked.received);
}

// Puts the next bytes of the frame's payload, which lie here, to their place; returns how many.
Expected<size_t> Receiver::place(std::span<const std::byte> here) {
  size_t bytes = 0;
  if (to_posted_ != kNoSlot) bytes = table_.posted(to_posted_).sink->usable(here);
  Status done;
  if (bytes > 0) {
    stats_.in_place_bytes += bytes;
    done = account(bytes, here.data());
  } else {
    const std::span<std::byte> to = window();
    bytes = std::min(here.size(), to.size());
    if (bytes == 0) return no_room(frame_.tag, left_);
    std::memcpy(to.data(), here.data(), bytes);
    if (frame_.kind == FrameKind::kData) stats_.copied_bytes += bytes;
    done = account(bytes);
  }
  if (!done) return fail(done.error());
  return bytes;
}

// `bytes` more of the frame's payload are where window() said, or the sink is to use them where
// they lie. All state is brought up to date before it hears of it, because it may post, cancel, or
// be gone afterwards.
Status Receiver::account(size_t bytes, const std::byte* in_place) {
  if (frame_.kind != FrameKind::kData) {
    key_size_ += bytes;
    left_ -= bytes;
    return left_ > 0 ? Status() : end_control();
  }
  const uint32_t to_posted = to_posted_;
  if (crc32c_ != nullptr && bytes > 0) {
    crc_ = crc32c_(crc_, in_place == nullptr ? window().data() : in_place, bytes);
  }
  left_ -= bytes;
  stats_.payload_received += bytes;
  if (to_posted == kNoSlot) table_.parked(to_parked_).received += bytes;
  if (left_ == 0) {
    Status status = end_frame();
    if (!status) return status;
  }
  if (to_posted == kNoSlot) return {};
  PostedRecv& posted = table_.posted(to_posted);
  posted.received += bytes;
  RecvSink* sink = posted.sink;
  if (posted.received == posted.bytes) table_.remove_posted(to_posted);
  if (in_place == nullptr) {
    sink->advance(bytes);
  } else {
    sink->use({in_place, bytes});
  }
  return {};
}

Status Receiver::end_frame() {
  ++stats_.frames_received;
  stats_.wire_received += kFrameHeaderBytes + frame_.length;
  if (crc32c_ != nullptr && crc_ != frame_.crc) {
    return fail(Error{ErrorCode::kWrongData,
                      fmt::format("frame from rank {}: checksum is {:#010x}, the header says "
                                  "{:#010x} ({}, offset {}, {} bytes)",
                                  peer_, crc_, frame_.crc, message_name(frame_.tag), frame_.offset,
                                  frame_.length),
                      0, "bytes changed on the way: look at the link, the network card and memory",
                      "collective.wrong_data"});
  }
  if (to_parked_ != kNoSlot && frame_.last()) table_.parked(to_parked_).ended = true;
  in_frame_ = false;
  to_posted_ = to_parked_ = kNoSlot;
  return {};
}

Status Receiver::end_control() {
  ++stats_.frames_received;
  stats_.wire_received += kFrameHeaderBytes + frame_.length;
  in_frame_ = false;
  switch (frame_.kind) {
    case FrameKind::kOffer:
      return take_offer();
    case FrameKind::kGrow:
      return grow_offer();
    default:
      return hear_word();
  }
}

Status Receiver::deliver_claims() {
  // A sink that is served here may post the next receive, whose message is parked too: the list
  // grows while it is worked off.
  for (size_t i = 0; i < claims_.size() && !cancelled_; ++i) {
    const Claim claim = claims_[i];
    Status status = deliver_claim(claim);
    if (!status) return status;
  }
  claims_.clear();
  return {};
}

Status Receiver::deliver_claim(const Claim& claim) {
  // The data leaves the table first: a sink may post, and posting may move the table's entries.
  ParkedMessage& parked = table_.parked(claim.parked);
  const std::vector<std::byte> data = std::move(parked.data);
  const size_t bytes = parked.received;
  const bool ended = parked.complete();
  parked.data = {};
  table_.remove_parked(claim.parked);
  if (to_parked_ == claim.parked) {  // in the middle of one of its frames: the rest goes straight
    to_parked_ = kNoSlot;
    to_posted_ = claim.posted;
  }
  size_t given = 0;
  while (given < bytes || (bytes == 0 && ended)) {
    PostedRecv& posted = table_.posted(claim.posted);
    RecvSink* sink = posted.sink;
    size_t take = 0;
    if (bytes > 0) {
      const std::span<std::byte> to = sink->window();
      take = std::min(to.size(), bytes - given);
      if (take == 0) return no_room(posted.tag, bytes - given);
      std::memcpy(to.data(), data.data() + given, take);
      stats_.copied_bytes += take;
    }
    given += take;
    posted.received += take;
    const bool done = posted.received == posted.bytes;
    if (done) table_.remove_posted(claim.posted);
    sink->advance(take);
    if (done || cancelled_) return {};
  }
  return {};
}

// What was used of the stage is free again.
void Receiver::clear_stage() {
  if (stage_begin_ == stage_end_) {
    stage_begin_ = stage_end_ = 0;
  } else if (stage_begin_ > 0) {  // less than a header
    std::memmove(stage_.get(), stage_.get() + stage_begin_, staged());
    stage_end_ -= stage_begin_;
    stage_begin_ = 0;
  }
}

// Where the next read goes: the rest of the frame straight to its place with the stage behind it,
// or the stage alone. Returns the bytes asked for.
size_t Receiver::aim(std::array<iovec, 2>& buffers, size_t* count, size_t* direct) {
  clear_stage();
  *count = 0;
  *direct = 0;
  if (in_frame_) {
    const std::span<std::byte> to = window();
    *direct = std::min({to.size(), left_, kReadBytes});
    buffers[(*count)++] = {to.data(), *direct};
    if (*direct < left_) return *direct;
  }
  size_t room = kStageBytes - stage_end_;
  // Behind it comes the next header, and no more where large frames of this message follow: their
  // payload need not pass through the stage.
  const uint64_t framed = frame_.offset + frame_.length;
  if (in_frame_ && frame_.total - framed > kStageBytes) room = std::min(room, kFrameHeaderBytes);
  buffers[(*count)++] = {stage_.get() + stage_end_, room};
  return *direct + room;
}

Expected<bool> Receiver::pull(ByteStream& stream) {
  if (running_) return false;  // called from a callback: the outer call goes on with it
  running_ = true;
  memory_ = stream.peer_memory();
  bool moved = false;
  size_t round = 0;
  Status status;
  if (anything_here()) status = consume();
  if (status && offers_.size() > 0) status = use_offers(round);
  while (status && wants_stream() && !cancelled_ && round < kReadBytes) {
    if (staged() == 0) {
      const size_t before = round;
      status = use_in_place(stream, round);
      if (round > before) {
        moved = true;
        stream.settle();
      }
      if (!status || cancelled_ || !wants_stream() || round >= kReadBytes) break;
      if (stream.shows_all() && stream.readable().empty()) break;
    }
    // A peer that has written all of it may have closed: then there is nothing more to read.
    if (offers_.any_to_take()) {
      status = use_offers(round);
      if (!status || cancelled_ || !wants_stream()) break;
    }
    std::array<iovec, 2> buffers;
    size_t count = 0;
    size_t direct = 0;
    const size_t asked = aim(buffers, &count, &direct);
    if (asked == 0) {
      status = no_room(frame_.tag, left_);
      break;
    }
    ++stats_.read_calls;
    const Expected<size_t> got = stream.read_some({buffers.data(), count});
    if (!got) {
      status = fail(in_context(got.error()));
      break;
    }
    if (*got == 0) break;
    moved = true;
    round += *got;
    const size_t straight = std::min(*got, direct);
    stage_end_ += *got - straight;
    if (straight > 0) status = account(straight);
    if (status) status = consume();
    if (*got < asked) break;  // the stream is empty: asking again would only cost a call
  }
  if (status && !cancelled_ && offers_.size() > 0) status = use_offers(round);
  running_ = false;
  if (!status) return fail(status.error());
  return moved || round > 0;
}

bool Receiver::idle() const {
  return !table_.any_posted() && !table_.any_parked() && offers_.size() == 0 && !in_frame_ &&
         staged() == 0;
}

std::optional<MessageTag> Receiver::oldest() const {
  if (!table_.any_posted()) return std::nullopt;
  return table_.oldest_posted().tag;
}

void Receiver::cancel() {
  cancelled_ = true;
  table_.clear();
  claims_.clear();
  offers_.clear();
  read_stage_taken_ = false;
  words_.clear();
  awaits_words_ = 0;
  in_frame_ = false;
  held_ = false;
  to_posted_ = to_parked_ = kNoSlot;
  left_ = 0;
  stage_begin_ = stage_end_ = 0;
}

}  // namespace plumbline
