// What a receiver says of the other stream of the same peer (lane.h): an operation of the peer that
// differs from ours may send its bytes where nobody waits for them.
#include "transport/channel/receiver.h"

namespace plumbline {

// The frame that has come, which nobody expects here, against what is posted beside.
Status Receiver::agrees_with_posted_beside() {
  const RecvTable& others = beside_->table_;
  uint32_t posted = others.find_rival(frame_.tag);
  if (posted != kNoSlot) return hashes_differ(others.posted(posted).tag, frame_.tag);
  posted = others.find_posted(frame_.tag);
  if (posted == kNoSlot) return {};
  return lengths_differ(frame_.tag, frame_.total, others.posted(posted).bytes);
}

// A receive that is about to be posted, against what has come beside and waits there.
Status Receiver::agrees_with_waiting_beside(const MessageTag& tag, uint64_t bytes) {
  const RecvTable& others = beside_->table_;
  uint32_t parked = others.any_parked() ? others.find_parked_rival(tag) : kNoSlot;
  if (parked != kNoSlot) return hashes_differ(tag, others.parked(parked).tag);
  parked = others.any_parked() ? others.find_parked(tag) : kNoSlot;
  if (parked != kNoSlot) return lengths_differ(tag, others.parked(parked).bytes, bytes);
  if (!beside_->held_) return {};
  const FrameHeader& held = beside_->frame_;
  if (rivals(held.tag, tag)) return hashes_differ(tag, held.tag);
  return same_name(held.tag, tag) ? lengths_differ(tag, held.total, bytes) : Status();
}

Status Receiver::look(ByteStream& stream) {
  if (running_ || !may_look()) return {};
  clear_stage();
  const iovec header{stage_.get() + stage_end_, kFrameHeaderBytes - staged()};
  ++stats_.read_calls;
  const Expected<size_t> got = stream.read_some({&header, 1});
  closed_ = !got;
  stage_end_ += got.value_or(0);
  if (staged() < kFrameHeaderBytes) return {};
  running_ = true;
  Status status = consume();
  running_ = false;
  return status;
}

}  // namespace plumbline
