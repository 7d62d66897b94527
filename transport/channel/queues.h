// What a channel has to do yet: the messages on their way out (SendQueue), the receives that are
// posted and the messages that came before theirs (RecvTable), and the list that both stand on
// (SlotPool, SlotOrder). Internal to transport/channel/; one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/channel/channel.h"
#include "transport/channel/frame.h"
#include "transport/peer_memory.h"

namespace plumbline {

// Two small containers for queues whose entries come and go millions of times: a pool of reusable
// slots addressed by index, and a doubly linked order over such indices. Both grow to the largest
// number of entries ever alive and allocate nothing after that. Not thread-safe.

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

// "op 5 step 2", for errors.
std::string message_name(const MessageTag& tag);
// Two tags of one message.
bool same_name(const MessageTag& a, const MessageTag& b);
// Different operations under one number.
bool rivals(const MessageTag& a, const MessageTag& b);

struct PostedRecv {
  MessageTag tag;
  size_t bytes = 0;
  size_t received = 0;
  RecvSink* sink = nullptr;
  bool offered = false;  // its bytes come from the peer's memory
};

struct ParkedMessage {
  MessageTag tag;
  size_t bytes = 0;             // of the whole message
  size_t received = 0;          // of them in `data`
  std::vector<std::byte> data;  // may be longer than `received` while a frame arrives
  size_t charged = 0;           // what it takes from the park, bytes
  bool complete() const { return received == bytes && ended; }
  bool ended = false;  // its last frame is here
};

// What a channel expects and what came too early: the posted receives in order of posting, and the
// parked messages, copies of unexpected ones whose memory is bounded. Knows nothing of bytes on a
// stream (receiver.h does). Not thread-safe.
class RecvTable {
 public:
  explicit RecvTable(size_t park_bytes) : park_bytes_(park_bytes) {}
  ~RecvTable() { count_into(nullptr); }
  RecvTable(const RecvTable&) = delete;
  RecvTable& operator=(const RecvTable&) = delete;

  // The posted receives are counted there as well, as long as the table lives; null = nowhere.
  void count_into(size_t* count);

  uint32_t post(const MessageTag& tag, size_t bytes, RecvSink* sink);
  void remove_posted(uint32_t index);
  void remove_oldest_posted() { remove_posted(posted_order_.front()); }
  // The oldest posted receive of this name, or kNoSlot.
  uint32_t find_posted(const MessageTag& tag) const;
  // A posted receive of the same operation number with another fingerprint, or kNoSlot.
  uint32_t find_rival(const MessageTag& tag) const;
  PostedRecv& posted(uint32_t index) { return posted_[index]; }
  const PostedRecv& posted(uint32_t index) const { return posted_[index]; }
  bool any_posted() const { return !posted_order_.empty(); }
  const PostedRecv& oldest_posted() const { return posted_[posted_order_.front()]; }

  // Makes room for a frame of `length` in this parked message (kNoSlot = a new one of `total`
  // bytes). kNoSlot when the park is full.
  uint32_t park(uint32_t index, const MessageTag& tag, size_t total, size_t length);
  // The parked message of this name that came first, or kNoSlot.
  uint32_t find_parked(const MessageTag& tag) const;
  // A parked message of the same operation number with another fingerprint, or kNoSlot.
  uint32_t find_parked_rival(const MessageTag& tag) const;
  ParkedMessage& parked(uint32_t index) { return parked_[index]; }
  const ParkedMessage& parked(uint32_t index) const { return parked_[index]; }
  void remove_parked(uint32_t index);
  bool any_parked() const { return !parked_order_.empty(); }
  size_t parked_bytes() const { return parked_bytes_; }
  size_t park_limit() const { return park_bytes_; }

  void clear();

 private:
  size_t park_bytes_;
  size_t parked_bytes_ = 0;
  size_t* count_ = nullptr;  // ByteStream::awaited()
  SlotPool<PostedRecv> posted_;
  SlotOrder posted_order_;
  SlotPool<ParkedMessage> parked_;
  SlotOrder parked_order_;
};

// What a receiver says to the sender of a message that goes from memory to memory (frame.h).
struct ReceiverWord {
  FrameKind kind = FrameKind::kTaken;  // or kGrant
  MessageTag tag;
  uint64_t total = 0, offset = 0;
  MemoryKey key = {};  // of kGrant

  bool ends() const { return offset == total; }  // nothing more is said about this message
};

// How much goes out at a time.
struct SendBudget {
  // Frames are gathered into one call up to this many payload bytes.
  size_t batch_bytes = 256 * 1024;
  // One call takes at most this much, and one round about as much, so that reading gets its turn
  // while the bytes just written are still in cache.
  size_t write_bytes = 512 * 1024;
};
// Of a stream that another thread writes to while this one reads: it is asked for its next bytes
// only when this one has time.
inline constexpr SendBudget kBulkBudget = {2 * 1024 * 1024, 2 * 1024 * 1024};

// The sending half of a channel: messages posted by the rank, cut into frames, handed to the stream
// with header and payload in one call. A frame is made when its whole chunk (or the message's tail)
// is ready. Among ready messages the lowest sequence goes first; inside one operation those that
// were extended go before those that were posted whole, the last extended first, because its bytes
// are still in cache. Observers may post and extend from inside flush(). Not thread-safe.
class SendQueue {
 public:
  SendQueue(const ChannelOptions& options, ChannelStats& stats, const SendBudget& budget = {});

  // `key`: of the message's memory, which is offered then; null = its bytes are sent.
  Channel::SendId post(const MessageTag& tag, const void* data, size_t bytes, size_t ready,
                       SendObserver* observer, uint64_t cookie, const MemoryKey* key = nullptr);
  // The same for a whole message of at most kInlineBytes before which nothing waits: its one frame
  // goes straight into the stream, and only what does not fit becomes a message of the queue.
  Expected<bool> send_at_once(ByteStream& stream, const MessageTag& tag, const void* data,
                              size_t bytes, SendObserver* observer, uint64_t cookie);
  bool can_send_at_once(size_t bytes) const {
    return bytes <= std::min(kInlineBytes, chunk_bytes_) && !wants_write() && !flushing_;
  }
  // What the peer says about a message that was offered; kProtocol when it cannot be.
  Status hear(const ReceiverWord& word);
  // Tells the peer something about a message of its own.
  void reply(const ReceiverWord& word);
  // About so many messages the peer has to say something yet.
  size_t awaits() const { return awaits_; }
  bool owes() const { return unsent_replies_ > 0; }
  // Moves messages on that this rank writes to windows of the peer. true = something moved.
  Expected<bool> write_on(PeerMemory& memory);
  void extend(Channel::SendId id, size_t ready);
  // Writes frames until the stream is full, nothing is ready, or the budget of one round is spent.
  // true = something moved.
  Expected<bool> flush(ByteStream& stream);

  bool wants_write() const {
    return frames_ > 0 || !ready_.empty() || !replies_.empty() || (writers_ > 0 && can_write());
  }
  // There are messages for write_on().
  bool any_writers() const { return writers_ > 0; }
  bool empty() const { return live_.empty() && frames_ == 0 && !owes(); }
  std::optional<MessageTag> oldest() const;
  const SendBudget& budget() const { return budget_; }
  void cancel();

 private:
  struct Message {
    MessageTag tag;
    const std::byte* data = nullptr;
    size_t bytes = 0, ready = 0;
    size_t framed = 0;        // bytes already cut into frames
    bool all_framed = false;  // its last frame was cut (bytes may be 0)
    bool offered = false;     // then `framed` is what the peer was told to be ready, or written
    uint32_t generation = 0;  // counts the slot's uses, so that an old SendId hits nothing
    SendObserver* observer = nullptr;
    uint64_t cookie = 0;
  };
  // A payload up to this size is copied behind its header: the kernel takes one buffer faster than
  // two, by more than the copy costs. Bytes.
  static constexpr size_t kInlineBytes = 2048;

  // A frame that is on its way into the stream.
  struct Frame {
    std::array<std::byte, kFrameHeaderBytes + kInlineBytes> head;
    size_t head_bytes = 0;               // the header, and the payload when it is small
    const std::byte* payload = nullptr;  // what is not in `head`
    size_t payload_bytes = 0;
    size_t length = 0;  // of the whole payload
    uint32_t message = kNoSlot;
    bool last = false;
    FrameKind kind = FrameKind::kData;
  };
  // Of a message that is offered.
  struct Offered {
    struct Window {
      MemoryKey key;
      uint64_t begin = 0, end = 0;  // in the message
    };
    MemoryKey key;  // of our memory; one of kWrite says that we write it
    bool announced = false;
    // Where we do: in order, not full yet; and of the message, how many bytes have windows, have
    // been written, and are on their way.
    std::vector<Window> windows = {};
    uint64_t granted = 0, written = 0;
    size_t under_way = 0;
    uint64_t ticket = 0;
  };
  enum class Place { kBehindEqual, kBeforeEqual };

  uint32_t add_message(const MessageTag& tag, const void* data, size_t bytes, size_t ready,
                       SendObserver* observer, uint64_t cookie);
  bool frame_ready(uint32_t index) const;
  uint32_t find_offered(const MessageTag& tag) const;
  Status taken(uint32_t index);
  Status granted(uint32_t index, const ReceiverWord& word);
  bool written_by_us(uint32_t index) const {
    return messages_[index].offered && offered_[index].key.reach == MemoryReach::kWrite;
  }
  size_t writable(uint32_t index) const;
  // Bytes of ours are on their way to windows of the peer.
  bool transfers() const;
  bool can_write() const;
  size_t next_frame(const Message& message) const;
  Expected<bool> write_message(uint32_t index, PeerMemory& memory);
  void count_direct(const Message& message);
  static tl::unexpected<Error> no_such_word(const ReceiverWord& word, const char* why);
  void enqueue(uint32_t index, Place place);
  void fill_frames();
  void cut_frame(uint32_t index, Frame& frame);
  void put_data(const FrameHeader& header, const std::byte* payload, Frame& frame) const;
  void cut_offer(uint32_t index, Frame& frame);
  void cut_reply(Frame& frame);
  static void put_control(const FrameHeader& header, const MemoryKey* key, Frame& frame);
  size_t gather(std::span<iovec> out, size_t* total) const;
  void consume(size_t bytes);

  // Small frames that share one call; more gains nothing, and what is in here can no longer be
  // overtaken by an earlier operation.
  static constexpr size_t kBatchFrames = 8;

  const size_t chunk_bytes_, whole_bytes_;
  const CrcFunction crc32c_;  // null = no checksums
  const SendBudget budget_;
  ChannelStats& stats_;
  SlotPool<Message> messages_;
  std::vector<Offered> offered_;       // by slot, of those that are
  std::vector<ReceiverWord> replies_;  // not cut yet
  size_t awaits_ = 0, unsent_replies_ = 0;
  size_t writers_ = 0;  // messages that this rank writes
  SlotOrder live_;      // posted and not sent, in order of posting
  SlotOrder ready_;     // a frame can be cut, in order of sending
  std::array<Frame, kBatchFrames> batch_;
  size_t first_ = 0, frames_ = 0;  // batch_[first_ .. first_ + frames_) are not wholly written
  size_t front_written_ = 0;       // bytes of batch_[first_] that are, header included
  bool flushing_ = false;
};

}  // namespace plumbline
