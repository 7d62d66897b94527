// Two small containers for queues whose entries come and go millions of times: a pool of reusable
// slots addressed by index, and a doubly linked order over such indices. Both grow to the largest
// number of entries ever alive and allocate nothing after that. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace plumbline {

inline constexpr uint32_t kNoSlot = 0xffffffff;

// Indices stay valid while references do not: taking a slot may move the others.
template <typename T>
class SlotPool {
 public:
  uint32_t take() {
    ++alive_;
    if (free_.empty()) {
      slots_.emplace_back();
      free_.reserve(slots_.capacity());
      return static_cast<uint32_t>(slots_.size() - 1);
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  // The slot's content stays as it is until the slot is taken again.
  void give(uint32_t index) {
    free_.push_back(index);
    --alive_;
  }
  T& operator[](uint32_t index) { return slots_[index]; }
  const T& operator[](uint32_t index) const { return slots_[index]; }
  size_t alive() const { return alive_; }
  size_t size() const { return slots_.size(); }

 private:
  std::vector<T> slots_;
  std::vector<uint32_t> free_;
  size_t alive_ = 0;
};

class SlotOrder {
 public:
  bool empty() const { return head_ == kNoSlot; }
  uint32_t front() const { return head_; }
  uint32_t back() const { return tail_; }
  uint32_t next(uint32_t index) const { return links_[index].next; }
  uint32_t prev(uint32_t index) const { return links_[index].prev; }
  bool contains(uint32_t index) const { return index < links_.size() && links_[index].linked; }

  void push_back(uint32_t index) { insert_before(kNoSlot, index); }
  // `position` kNoSlot = at the end.
  void insert_before(uint32_t position, uint32_t index) {
    if (index >= links_.size()) links_.resize(index + 1);
    const uint32_t before = position == kNoSlot ? tail_ : links_[position].prev;
    links_[index] = {before, position, true};
    (before == kNoSlot ? head_ : links_[before].next) = index;
    (position == kNoSlot ? tail_ : links_[position].prev) = index;
  }
  void remove(uint32_t index) {
    const Link link = links_[index];
    (link.prev == kNoSlot ? head_ : links_[link.prev].next) = link.next;
    (link.next == kNoSlot ? tail_ : links_[link.next].prev) = link.prev;
    links_[index].linked = false;
  }

 private:
  struct Link {
    uint32_t prev = kNoSlot, next = kNoSlot;
    bool linked = false;
  };
  std::vector<Link> links_;
  uint32_t head_ = kNoSlot, tail_ = kNoSlot;
};

}  // namespace plumbline
