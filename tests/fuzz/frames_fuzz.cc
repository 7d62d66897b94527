// A channel whose peer writes whatever the input says: frames that are right, wrong in one field or
// rubbish, in pieces of any size, read by copy or where they lie, and of messages that go from
// memory to memory, while receives and sends are posted in between. It ends in an error or goes on;
// sinks get what they asked for and not a byte more, and what nobody expects stays within the bound
// of the park.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "fuzz_bytes.h"
#include "transport/channel/channel.h"
#include "transport/channel/frame.h"

namespace plumbline {
namespace {

// Memory to reach in every way; by a key's size, what it names is not there, or not there yet.
class HostileMemory : public PeerMemory {
 public:
  PeerAbilities abilities() const override { return {true, true, true, {}}; }
  std::optional<MemoryKey> expose(std::span<const std::byte> buffer, MessageUse) override {
    MemoryKey key;
    key.reach = static_cast<MemoryReach>(buffer.size() % 4);
    if (key.reach < MemoryReach::kMap) return std::nullopt;
    key.size = 1 + buffer.size() % 8;
    return key;
  }
  Expected<MappedBytes> map(const MemoryKey& key, uint64_t bytes) override {
    if (bytes > kMostBytes || key.size % 8 == 7) return fail(ErrorCode::kProtocol, "no such key");
    auto memory = std::make_shared<std::vector<std::byte>>(bytes);
    return MappedBytes{*memory, memory};
  }
  Expected<uint64_t> start_read(const MemoryKey& key, uint64_t bytes, uint64_t offset,
                                std::span<std::byte> to) override {
    require(!to.empty() && offset + to.size() <= bytes);
    if (key.size % 8 == 7) return fail(ErrorCode::kProtocol, "no such key");
    under_way_[++tickets_] = {to, {}, key.size % 4};
    return tickets_;
  }
  Expected<bool> read_done(uint64_t ticket) override { return done(ticket); }
  Expected<MemoryKey> grant(std::span<std::byte> window) override {
    require(!window.empty());
    std::fill(window.begin(), window.end(), std::byte{1});
    MemoryKey key;
    key.reach = MemoryReach::kWrite;
    key.size = 1;
    return key;
  }
  Expected<uint64_t> start_write(const MemoryKey& key, uint64_t bytes, uint64_t offset,
                                 std::span<const std::byte> from) override {
    require(!from.empty() && offset + from.size() <= bytes);
    if (key.size % 8 == 7) return fail(ErrorCode::kProtocol, "no such key");
    under_way_[++tickets_] = {{}, from, key.size % 4};
    return tickets_;
  }
  Expected<bool> write_done(uint64_t ticket) override { return done(ticket); }
  void end_transfers() override { under_way_.clear(); }
  // So often a transfer was looked at and not over yet: the next look may find that it is.
  size_t waits() const { return waits_; }

 private:
  static constexpr uint64_t kMostBytes = 4096;
  struct Transfer {
    std::span<std::byte> to;
    std::span<const std::byte> from;
    size_t looks = 0;  // so often it is not over yet
  };

  Expected<bool> done(uint64_t ticket) {
    const auto found = under_way_.find(ticket);
    require(found != under_way_.end());
    if (found->second.looks-- > 0) {
      ++waits_;
      return false;
    }
    std::fill(found->second.to.begin(), found->second.to.end(), std::byte{2});
    touch(found->second.from);
    under_way_.erase(found);
    return true;
  }

  std::map<uint64_t, Transfer> under_way_;
  uint64_t tickets_ = 0;
  size_t waits_ = 0;
};

// What the peer wrote, one piece at a time; each lies in memory of its own, so that a step beyond
// it is seen.
class HostileStream : public ByteStream {
 public:
  HostileStream(bool in_place, size_t room, bool memory) : in_place_(in_place), room_(room) {
    if (memory) memory_ = std::make_unique<HostileMemory>();
  }
  PeerMemory* peer_memory() override { return memory_.get(); }
  size_t waits() const { return memory_ ? memory_->waits() : 0; }

  void feed(const std::vector<std::byte>& bytes, size_t piece) {
    for (size_t at = 0; at < bytes.size(); at += piece) {
      const auto begin = bytes.begin() + static_cast<ptrdiff_t>(at);
      pieces_.emplace_back(begin,
                           begin + static_cast<ptrdiff_t>(std::min(piece, bytes.size() - at)));
    }
  }
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    size_t taken = 0;
    for (const iovec& buffer : buffers) {
      const size_t bytes = std::min(buffer.iov_len, room_ - taken);
      touch({static_cast<const std::byte*>(buffer.iov_base), bytes});
      taken += bytes;
    }
    return taken;
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    size_t given = 0;
    for (const iovec& buffer : buffers) {
      const std::span<const std::byte> here = front();
      const size_t bytes = std::min(buffer.iov_len, here.size());
      if (bytes > 0) std::memcpy(buffer.iov_base, here.data(), bytes);
      take(bytes);
      given += bytes;
    }
    return given;
  }
  std::span<const std::byte> readable() override {
    return in_place_ ? front() : std::span<const std::byte>();
  }
  void consumed(size_t bytes) override {
    require(bytes <= front().size());
    take(bytes);
  }
  bool add_to(std::vector<pollfd>&, bool, bool) const override { return false; }
  StreamStats stats() const override { return {}; }
  void close() override {}

 private:
  std::span<const std::byte> front() const {
    if (pieces_.empty()) return {};
    return std::span(pieces_.front()).subspan(used_);
  }
  void take(size_t bytes) {
    used_ += bytes;
    if (pieces_.empty() || used_ < pieces_.front().size()) return;
    pieces_.pop_front();
    used_ = 0;
  }

  const bool in_place_;
  const size_t room_;
  std::unique_ptr<HostileMemory> memory_;
  std::deque<std::vector<std::byte>> pieces_;
  size_t used_ = 0;  // of the first
};

// Wants so many bytes, a few at a time or where they lie, and posts the next one when it has them.
class GreedySink : public RecvSink {
 public:
  GreedySink(size_t bytes, size_t window, bool uses)
      : left_(bytes), most_(window), uses_(uses), keeps_(window % 2 == 1) {
    if (keeps_) window_.resize(bytes);
  }
  bool keeps_window() const override { return keeps_; }
  std::span<std::byte> window() override {
    if (keeps_) return std::span(window_).last(left_).first(std::min(left_, most_));
    window_.assign(std::min(left_, most_), std::byte{});
    return window_;
  }
  void advance(size_t bytes) override {
    require(bytes <= left_ && (bytes > 0 || left_ == 0) &&
            bytes <= std::max(window_.size(), left_));
    left_ -= bytes;
    over_ = left_ == 0;
  }
  size_t usable(std::span<const std::byte> bytes) override {
    return uses_ ? std::min(bytes.size(), most_) : 0;
  }
  void use(std::span<const std::byte> bytes) override {
    touch(bytes);
    require(uses_ && bytes.size() <= most_);
    advance(bytes.size());
  }
  bool over() const { return over_; }

 private:
  size_t left_;
  const size_t most_;
  const bool uses_, keeps_;
  bool over_ = false;
  std::vector<std::byte> window_;
};

MessageTag some_tag(FuzzBytes& input) {
  const uint8_t choice = input.number();
  return {1, choice % 3u, (choice / 4) % 2u, choice < 240 ? 7u : 8u};
}

std::vector<std::byte> in_one(const FrameBytes& head, const std::vector<std::byte>& payload) {
  std::vector<std::byte> frame(head.size() + payload.size());
  std::copy(payload.begin(), payload.end(), std::copy(head.begin(), head.end(), frame.begin()));
  return frame;
}

// About a message that goes from memory to memory, of which much is right.
std::vector<std::byte> some_word(FuzzBytes& input) {
  FrameHeader header;
  header.tag = some_tag(input);
  header.kind = static_cast<FrameKind>(2 + input.number() % 4);
  header.total = input.below(600);
  header.offset = input.flag() ? header.total : input.below(600);
  std::vector<std::byte> payload;
  if (header.kind == FrameKind::kOffer || header.kind == FrameKind::kGrant) {
    MemoryKey key;
    key.reach = static_cast<MemoryReach>(1 + input.number() % 3);
    if (header.kind == FrameKind::kOffer && key.reach == MemoryReach::kWrite) header.offset = 0;
    key.size = input.number() % MemoryKey::kMostBytes;
    const PackedKey packed = pack_key(key);
    payload.assign(packed.begin(), packed.begin() + static_cast<ptrdiff_t>(packed_size(key)));
  }
  header.length = static_cast<uint32_t>(payload.size());
  return in_one(encode_frame(header), payload);
}

// Mostly one of ours, often with a field that is not right.
std::vector<std::byte> some_frame(FuzzBytes& input, const ChannelOptions& options) {
  FrameHeader header;
  header.tag = some_tag(input);
  header.total = input.below(600);
  header.offset = input.flag() ? input.below(600) : 0;
  const std::vector<std::byte> payload = input.bytes(input.below(options.chunk_bytes + 2));
  header.length = static_cast<uint32_t>(payload.size());
  if (input.number() < 16) header.length = input.number<uint32_t>();
  const bool last = header.offset + header.length == header.total;
  header.flags = static_cast<uint8_t>((last ? kFrameLast : 0) | (options.crc ? kFrameCrc : 0));
  if (input.number() < 16) header.flags = input.number() % 16;
  if (input.number() < 8) header.total = input.number<uint64_t>() % kMaxMessageBytes;
  FrameBytes bytes = encode_frame(header);
  if (options.crc && input.number() >= 16) {
    uint32_t sum = frame_header_crc(bytes, crc32c_table);
    sum = crc32c_table(sum, payload.data(), payload.size());
    set_frame_crc(bytes, sum);
  }
  std::vector<std::byte> frame = in_one(bytes, payload);
  if (input.number() < 16 && !frame.empty()) {
    frame[input.below(frame.size())] ^= static_cast<std::byte>(input.number());
  }
  return frame;
}

class Attack {
 public:
  explicit Attack(FuzzBytes& input) : input_(input) {
    options_.chunk_bytes = 1 + input.below(300);
    options_.crc = input.flag();
    options_.park_bytes = input.below(4000);
    const bool in_place = input.flag();
    const auto room = input.number<uint16_t>();
    const bool memory = room % 2 == 1;
    options_.direct_bytes = memory ? 1 : ChannelOptions::kNothingDirect;
    auto stream = std::make_unique<HostileStream>(in_place, 1 + room % 500, memory);
    stream_ = stream.get();
    channel_ = std::make_unique<Channel>(0, 1, std::move(stream), options_);
  }

  void run() {
    for (int steps = 0; !input_.empty() && steps < kMostSteps; ++steps) step();
    int rounds = 0;
    while (rounds < kMostSteps && progress()) rounds += moved_ ? 1 : 0;
    // Only a stream that takes a byte at a time needs more of them, for what is to be sent.
    const bool sends = rounds == kMostSteps && channel_->wants_write();
    require(!progress() || sends);
    const ChannelStats& stats = channel_->stats();
    require(stats.parked_bytes_peak <= options_.park_bytes);
    require(stats.payload_received <= stats.wire_received + options_.chunk_bytes);
    if (stream_->peer_memory() == nullptr) require(stats.direct_received == 0);
    static_cast<void>(channel_->obstacle());
    static_cast<void>(channel_->waiting_recv());
  }

 private:
  static constexpr int kMostSteps = 2000;

  void step() {
    switch (input_.number() % 8) {
      case 0:
      case 1:
      case 2:
        return stream_->feed(some_frame(input_, options_), 1 + input_.below(400));
      case 3:
        if (stream_->peer_memory() != nullptr) {
          return stream_->feed(some_word(input_), 1 + input_.below(100));
        }
        return stream_->feed(input_.bytes(input_.number()), 1 + input_.number());
      case 4:
        return post_recv();
      case 5:
        return post_send();
      case 6:
        if (input_.number() == 0) channel_->cancel(Error{ErrorCode::kAborted, "enough", 0, "", ""});
        return;
      default:
        progress();
    }
  }

  // true = something moved, or the next try may find that a transfer is over.
  bool progress() {
    const size_t waits = stream_->waits();
    const Expected<bool> moved = channel_->progress();
    if (failed_) require(!moved && moved.error().message() == *failed_);
    if (!moved) failed_ = moved.error().message();
    moved_ = moved.value_or(false);
    return moved_ || (moved.has_value() && stream_->waits() > waits);
  }

  void post_recv() {
    const MessageTag tag = some_tag(input_);
    const std::pair<uint32_t, uint32_t> name{tag.sequence, tag.step};
    const auto live = sinks_.find(name);
    // One message of a name at a time: that much a channel is promised by its own rank.
    if (live != sinks_.end() && !live->second->over()) return;
    const size_t bytes = input_.below(600);
    auto sink = std::make_unique<GreedySink>(bytes, 1 + input_.below(300), input_.flag());
    RecvSink* const posted = sink.get();
    gone_.push_back(std::exchange(sinks_[name], std::move(sink)));
    channel_->post_recv(tag, bytes, posted);
  }

  void post_send() {
    const MessageTag tag{1, input_.number() % 3u, sent_++, 7};
    buffers_.push_back(input_.bytes(input_.below(600)));
    const std::vector<std::byte>& bytes = buffers_.back();
    const size_t ready = bytes.empty() ? 0 : input_.below(bytes.size() + 1);
    const auto id = channel_->post_send(tag, bytes.data(), bytes.size(), ready, nullptr, 0);
    if (input_.flag()) channel_->extend_send(id, bytes.size());
  }

  FuzzBytes& input_;
  ChannelOptions options_;
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<GreedySink>> sinks_;
  std::deque<std::unique_ptr<GreedySink>> gone_;
  std::deque<std::vector<std::byte>> buffers_;
  uint32_t sent_ = 0;
  std::optional<std::string> failed_;
  bool moved_ = false;  // in the last try
  HostileStream* stream_ = nullptr;
  std::unique_ptr<Channel> channel_;  // the last member: it uses the others
};

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plumbline::FuzzBytes input(data, size);
  plumbline::Attack(input).run();
  return 0;
}
