#include "transport/channel/queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace plumbline {
namespace {

// Every parked frame costs at least this much, so that empty ones cannot fill memory without end.
constexpr size_t kParkOverhead = 128;
// A slot that is given back keeps no larger buffer than this for its next use.
constexpr size_t kKeptCapacity = 64 * 1024;

// Messages mostly arrive in the order in which they were posted, so the first one is nearly always
// it.
template <typename Pool, typename Match>
uint32_t find(const Pool& pool, const SlotOrder& order, const MessageTag& tag, Match match) {
  uint32_t index = order.front();
  while (index != kNoSlot && !match(pool[index].tag, tag)) index = order.next(index);
  return index;
}

// Operation numbers wrap around.
bool earlier(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }

// The peer hears of every so many bytes more of an offered message.
constexpr size_t kGrowBytes = 64 * 1024;

}  // namespace

std::string message_name(const MessageTag& tag) {
  return fmt::format("op {} step {}", tag.sequence, tag.step);
}

bool same_name(const MessageTag& a, const MessageTag& b) {
  return a.step == b.step && a.sequence == b.sequence && a.group == b.group;
}

bool rivals(const MessageTag& a, const MessageTag& b) {
  return a.sequence == b.sequence && a.group == b.group && a.op_hash != b.op_hash;
}

uint32_t RecvTable::post(const MessageTag& tag, size_t bytes, RecvSink* sink) {
  const uint32_t index = posted_.take();
  posted_[index] = {tag, bytes, 0, sink, false};
  posted_order_.push_back(index);
  if (count_ != nullptr) ++*count_;
  return index;
}

void RecvTable::remove_posted(uint32_t index) {
  posted_order_.remove(index);
  posted_.give(index);
  if (count_ != nullptr) --*count_;
}

void RecvTable::count_into(size_t* count) {
  if (count_ != nullptr) *count_ -= posted_.alive();
  count_ = count;
  if (count_ != nullptr) *count_ += posted_.alive();
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

SendQueue::SendQueue(const ChannelOptions& options, ChannelStats& stats, const SendBudget& budget)
    : chunk_bytes_(options.chunk_bytes),
      whole_bytes_(options.whole_bytes),
      crc32c_(crc_of(options)),
      budget_(budget),
      stats_(stats) {}

uint32_t SendQueue::add_message(const MessageTag& tag, const void* data, size_t bytes, size_t ready,
                                SendObserver* observer, uint64_t cookie) {
  const uint32_t index = messages_.take();
  Message& message = messages_[index];
  message = {tag,      static_cast<const std::byte*>(data),
             bytes,    std::min(ready, bytes),
             0,        false,
             false,    message.generation + 1,
             observer, cookie};
  live_.push_back(index);
  return index;
}

Channel::SendId SendQueue::post(const MessageTag& tag, const void* data, size_t bytes, size_t ready,
                                SendObserver* observer, uint64_t cookie, const MemoryKey* key) {
  const uint32_t index = add_message(tag, data, bytes, ready, observer, cookie);
  Message& message = messages_[index];
  if (key != nullptr) {
    message.offered = true;
    if (offered_.size() <= index) offered_.resize(index + 1);
    offered_[index] = {*key};
    ++awaits_;
    if (written_by_us(index)) ++writers_;
  }
  if (frame_ready(index)) enqueue(index, Place::kBehindEqual);
  return uint64_t{message.generation} << 32 | index;
}

void SendQueue::extend(Channel::SendId id, size_t ready) {
  const uint32_t index = static_cast<uint32_t>(id & 0xffffffff);
  if (!live_.contains(index)) return;
  Message& message = messages_[index];
  if (message.generation != static_cast<uint32_t>(id >> 32)) return;
  message.ready = std::max(message.ready, std::min(ready, message.bytes));
  if (!frame_ready(index)) return;
  if (ready_.contains(index)) ready_.remove(index);
  enqueue(index, Place::kBeforeEqual);
}

bool SendQueue::frame_ready(uint32_t index) const {
  const Message& message = messages_[index];
  if (message.all_framed) return false;
  if (message.offered) {
    if (written_by_us(index) && offered_[index].announced) {
      return offered_[index].written > message.framed;
    }
    return message.ready - message.framed >= std::min(kGrowBytes, message.bytes - message.framed);
  }
  return message.ready - message.framed >= next_frame(message);
}

// Bytes of it.
size_t SendQueue::next_frame(const Message& message) const {
  if (message.bytes <= whole_bytes_) return message.bytes;
  return std::min(chunk_bytes_, message.bytes - message.framed);
}

void SendQueue::enqueue(uint32_t index, Place place) {
  const uint32_t sequence = messages_[index].tag.sequence;
  if (place == Place::kBeforeEqual) {
    uint32_t at = ready_.front();
    while (at != kNoSlot && earlier(messages_[at].tag.sequence, sequence)) at = ready_.next(at);
    ready_.insert_before(at, index);
    return;
  }
  uint32_t at = kNoSlot;
  uint32_t before = ready_.back();
  while (before != kNoSlot && earlier(sequence, messages_[before].tag.sequence)) {
    at = before;
    before = ready_.prev(before);
  }
  ready_.insert_before(at, index);
}

void SendQueue::put_control(const FrameHeader& header, const MemoryKey* key, Frame& frame) {
  const FrameBytes bytes = encode_frame(header);
  std::memcpy(frame.head.data(), bytes.data(), kFrameHeaderBytes);
  if (key != nullptr) {
    std::memcpy(frame.head.data() + kFrameHeaderBytes, pack_key(*key).data(), header.length);
  }
  frame.head_bytes = kFrameHeaderBytes + header.length;
  frame.payload = nullptr;
  frame.payload_bytes = 0;
  frame.length = header.length;
  frame.message = kNoSlot;
  frame.last = false;
  frame.kind = header.kind;
}

// Of a message that this rank writes, the last such frame is its end.
void SendQueue::cut_offer(uint32_t index, Frame& frame) {
  Message& message = messages_[index];
  Offered& offered = offered_[index];
  const MemoryKey* const key = offered.announced ? nullptr : &offered.key;
  const bool ours = written_by_us(index);
  FrameHeader header;
  header.kind = key != nullptr ? FrameKind::kOffer : FrameKind::kGrow;
  header.tag = message.tag;
  header.total = message.bytes;
  header.offset = ours ? offered.written : message.ready;
  header.length = key != nullptr ? static_cast<uint32_t>(packed_size(*key)) : 0;
  put_control(header, key, frame);
  offered.announced = true;
  message.framed = header.offset;
  message.all_framed = message.framed == message.bytes;
  frame.message = index;
  frame.last = ours && message.all_framed;
}

void SendQueue::cut_reply(Frame& frame) {
  const ReceiverWord& word = replies_.front();
  const MemoryKey* const key = word.kind == FrameKind::kGrant ? &word.key : nullptr;
  FrameHeader header;
  header.kind = word.kind;
  header.tag = word.tag;
  header.total = word.total;
  header.offset = word.offset;
  header.length = key != nullptr ? static_cast<uint32_t>(packed_size(*key)) : 0;
  put_control(header, key, frame);
  replies_.erase(replies_.begin());
}

void SendQueue::reply(const ReceiverWord& word) {
  replies_.push_back(word);
  ++unsent_replies_;
}

uint32_t SendQueue::find_offered(const MessageTag& tag) const {
  uint32_t index = live_.front();
  while (index != kNoSlot && !(messages_[index].offered && messages_[index].tag == tag)) {
    index = live_.next(index);
  }
  return index;
}

Status SendQueue::hear(const ReceiverWord& word) {
  const uint32_t index = find_offered(word.tag);
  if (index != kNoSlot) {
    return word.kind == FrameKind::kGrant ? granted(index, word) : taken(index);
  }
  return no_such_word(word, "was not offered");
}

Status SendQueue::taken(uint32_t index) {
  const Message& message = messages_[index];
  if (!message.all_framed || written_by_us(index)) {
    return no_such_word({FrameKind::kTaken, message.tag}, "was not offered");
  }
  SendObserver* const observer = message.observer;
  const uint64_t cookie = message.cookie;
  count_direct(message);
  live_.remove(index);
  messages_.give(index);
  --awaits_;
  if (observer != nullptr) observer->sent(cookie);  // may post, extend or cancel
  return {};
}

void SendQueue::count_direct(const Message& message) {
  stats_.payload_sent += message.bytes;
  stats_.wire_sent += message.bytes;
  stats_.direct_sent += message.bytes;
}

void SendQueue::cut_frame(uint32_t index, Frame& frame) {
  Message& message = messages_[index];
  if (message.offered) return cut_offer(index, frame);
  FrameHeader header;
  header.tag = message.tag;
  header.total = message.bytes;
  header.offset = message.framed;
  header.length = static_cast<uint32_t>(next_frame(message));
  message.all_framed = header.offset + header.length == header.total;
  header.flags = static_cast<uint8_t>((message.all_framed ? kFrameLast : 0) |
                                      (crc32c_ != nullptr ? kFrameCrc : 0));
  put_data(header, header.length > 0 ? message.data + header.offset : nullptr, frame);
  frame.message = index;
  message.framed += header.length;
}

void SendQueue::put_data(const FrameHeader& header, const std::byte* payload, Frame& frame) const {
  FrameBytes bytes = encode_frame(header);
  if (crc32c_ != nullptr) {
    const uint32_t crc = frame_header_crc(bytes, crc32c_);
    set_frame_crc(bytes, header.length > 0 ? crc32c_(crc, payload, header.length) : crc);
  }
  std::memcpy(frame.head.data(), bytes.data(), kFrameHeaderBytes);
  frame.head_bytes = kFrameHeaderBytes;
  frame.payload = payload;
  frame.payload_bytes = header.length;
  if (header.length > 0 && header.length <= kInlineBytes) {
    std::memcpy(frame.head.data() + kFrameHeaderBytes, payload, header.length);
    frame.head_bytes += header.length;
    frame.payload_bytes = 0;
  }
  frame.length = header.length;
  frame.last = header.last();
  frame.kind = FrameKind::kData;
}

Expected<bool> SendQueue::send_at_once(ByteStream& stream, const MessageTag& tag, const void* data,
                                       size_t bytes, SendObserver* observer, uint64_t cookie) {
  FrameHeader header;
  header.tag = tag;
  header.total = bytes;
  header.length = static_cast<uint32_t>(bytes);
  header.flags = static_cast<uint8_t>(kFrameLast | (crc32c_ != nullptr ? kFrameCrc : 0));
  Frame& frame = batch_[0];
  put_data(header, bytes > 0 ? static_cast<const std::byte*>(data) : nullptr, frame);
  const iovec whole{frame.head.data(), frame.head_bytes};
  ++stats_.write_calls;
  const Expected<size_t> written = stream.write_some({&whole, 1});
  if (!written) return fail(written.error());
  if (*written == frame.head_bytes) {
    stats_.wire_sent += frame.head_bytes;
    stats_.payload_sent += bytes;
    ++stats_.frames_sent;
    if (observer != nullptr) observer->sent(cookie);  // may post, extend or cancel
    return true;
  }
  frame.message = add_message(tag, data, bytes, bytes, observer, cookie);
  messages_[frame.message].framed = bytes;
  messages_[frame.message].all_framed = true;
  first_ = 0;
  frames_ = 1;
  consume(*written);
  return *written > 0;
}

void SendQueue::fill_frames() {
  first_ = 0;
  size_t bytes = 0;
  while (frames_ < kBatchFrames && !replies_.empty()) cut_reply(batch_[frames_++]);
  while (frames_ < kBatchFrames && !ready_.empty() && bytes < budget_.batch_bytes) {
    const uint32_t index = ready_.front();
    cut_frame(index, batch_[frames_]);
    bytes += batch_[frames_].length;
    ++frames_;
    if (!frame_ready(index)) ready_.remove(index);
  }
}

size_t SendQueue::gather(std::span<iovec> out, size_t* total) const {
  size_t count = 0;
  size_t skip = front_written_;
  *total = 0;
  const auto add = [&](const std::byte* data, size_t bytes) {
    const size_t skipped = std::min(skip, bytes);
    skip -= skipped;
    const size_t take = std::min(bytes - skipped, budget_.write_bytes - *total);
    if (take == 0) return;
    // writev(2) takes the buffers as not const although it only reads them.
    out[count++] = {const_cast<std::byte*>(data + skipped), take};
    *total += take;
  };
  for (size_t i = first_; i < first_ + frames_; ++i) {
    add(batch_[i].head.data(), batch_[i].head_bytes);
    add(batch_[i].payload, batch_[i].payload_bytes);
  }
  return count;
}

void SendQueue::consume(size_t bytes) {
  stats_.wire_sent += bytes;
  front_written_ += bytes;
  while (frames_ > 0) {
    const Frame& frame = batch_[first_];
    const size_t size = kFrameHeaderBytes + frame.length;
    if (front_written_ < size) return;
    front_written_ -= size;
    ++first_;
    --frames_;
    ++stats_.frames_sent;
    if (frame.kind == FrameKind::kTaken || frame.kind == FrameKind::kGrant) --unsent_replies_;
    if (frame.kind == FrameKind::kData) stats_.payload_sent += frame.length;
    if (!frame.last) continue;
    const Message& message = messages_[frame.message];
    SendObserver* observer = message.observer;
    const uint64_t cookie = message.cookie;
    if (message.offered) {
      count_direct(message);
      --writers_;
    }
    live_.remove(frame.message);
    messages_.give(frame.message);
    if (observer != nullptr) observer->sent(cookie);  // may post, extend or cancel
  }
}

Expected<bool> SendQueue::flush(ByteStream& stream) {
  if (flushing_) return false;  // called by an observer: the outer call goes on with it
  flushing_ = true;
  bool moved = false;
  size_t round = 0;
  while (round < budget_.write_bytes) {
    if (frames_ == 0) fill_frames();
    if (frames_ == 0) break;
    std::array<iovec, 2 * kBatchFrames> buffers;
    size_t total = 0;
    const size_t count = gather(buffers, &total);
    ++stats_.write_calls;
    const Expected<size_t> written = stream.write_some({buffers.data(), count});
    if (!written) {
      flushing_ = false;
      return fail(written.error());
    }
    if (*written > 0) {
      moved = true;
      consume(*written);
    }
    if (*written < total) break;  // full: asking again would only cost a call
    round += total;
  }
  flushing_ = false;
  return moved;
}

std::optional<MessageTag> SendQueue::oldest() const {
  if (live_.empty()) return std::nullopt;
  return messages_[live_.front()].tag;
}

void SendQueue::cancel() {
  while (!ready_.empty()) ready_.remove(ready_.front());
  while (!live_.empty()) {
    messages_.give(live_.front());
    live_.remove(live_.front());
  }
  replies_.clear();
  frames_ = 0;
  front_written_ = awaits_ = unsent_replies_ = writers_ = 0;
}

}  // namespace plumbline
