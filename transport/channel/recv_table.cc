#include "transport/channel/recv_table.h"

namespace plumbline {
namespace {

// Every parked frame costs at least this much, so that empty ones cannot fill memory without end.
constexpr size_t kParkOverhead = 128;
// A slot that is given back keeps no larger buffer than this for its next use.
constexpr size_t kKeptCapacity = 64 * 1024;

bool same_name(const MessageTag& a, const MessageTag& b) {
  return a.step == b.step && a.sequence == b.sequence && a.group == b.group;
}

bool rivals(const MessageTag& a, const MessageTag& b) {
  return a.sequence == b.sequence && a.group == b.group && a.op_hash != b.op_hash;
}

// Messages mostly arrive in the order in which they were posted, so the first one is nearly always
// it.
template <typename Pool, typename Match>
uint32_t find(const Pool& pool, const SlotOrder& order, const MessageTag& tag, Match match) {
  uint32_t index = order.front();
  while (index != kNoSlot && !match(pool[index].tag, tag)) index = order.next(index);
  return index;
}

}  // namespace

uint32_t RecvTable::post(const MessageTag& tag, size_t bytes, RecvSink* sink) {
  const uint32_t index = posted_.take();
  posted_[index] = {tag, bytes, 0, sink};
  posted_order_.push_back(index);
  return index;
}

void RecvTable::remove_posted(uint32_t index) {
  posted_order_.remove(index);
  posted_.give(index);
}

uint32_t RecvTable::find_posted(const MessageTag& tag) const {
  return find(posted_, posted_order_, tag, same_name);
}

uint32_t RecvTable::find_rival(const MessageTag& tag) const {
  return find(posted_, posted_order_, tag, rivals);
}

uint32_t RecvTable::find_parked(const MessageTag& tag) const {
  return find(parked_, parked_order_, tag, same_name);
}

uint32_t RecvTable::find_parked_rival(const MessageTag& tag) const {
  return find(parked_, parked_order_, tag, rivals);
}

uint32_t RecvTable::park(uint32_t index, const MessageTag& tag, size_t total, size_t length) {
  const size_t cost = length + kParkOverhead;
  if (cost > park_bytes_ || parked_bytes_ > park_bytes_ - cost) return kNoSlot;
  if (index == kNoSlot) {
    index = parked_.take();
    ParkedMessage& fresh = parked_[index];
    fresh.tag = tag;
    fresh.bytes = total;
    fresh.received = 0;
    fresh.charged = 0;
    fresh.ended = false;
    fresh.data.clear();
    parked_order_.push_back(index);
  }
  ParkedMessage& message = parked_[index];
  message.data.resize(message.received + length);
  message.charged += cost;
  parked_bytes_ += cost;
  return index;
}

void RecvTable::remove_parked(uint32_t index) {
  ParkedMessage& message = parked_[index];
  parked_bytes_ -= message.charged;
  if (message.data.capacity() > kKeptCapacity) std::vector<std::byte>().swap(message.data);
  parked_order_.remove(index);
  parked_.give(index);
}

void RecvTable::clear() {
  while (any_posted()) remove_posted(posted_order_.front());
  while (any_parked()) remove_parked(parked_order_.front());
}

}  // namespace plumbline
