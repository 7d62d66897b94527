// Helpers for tests of channels: a pair of connected channels, sinks that collect, observers that
// count, a stream whose input the test writes itself, and ranks as threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "transport/channel/channel.h"
#include "transport/channel/fault.h"
#include "transport/channel/frame.h"
#include "transport/memory/memory.h"

namespace plumbline::test {

using Bytes = std::vector<std::byte>;

inline Bytes random_bytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t eight = random();  // a draw per byte takes seconds under a sanitizer
    std::memcpy(bytes.data() + at, &eight, std::min(sizeof eight, size - at));
  }
  return bytes;
}

inline constexpr uint32_t kHash = 0x1234;

inline MessageTag tag(uint32_t sequence, uint32_t step) { return {1, sequence, step, kHash}; }

// One frame as it stands on the wire, without checksum.
inline Bytes frame_of(const MessageTag& name, const Bytes& payload, size_t total, size_t offset) {
  FrameHeader header;
  header.tag = name;
  header.total = total;
  header.offset = offset;
  header.length = static_cast<uint32_t>(payload.size());
  header.flags = offset + payload.size() == total ? kFrameLast : 0;
  const FrameBytes bytes = encode_frame(header);
  Bytes frame(bytes.size() + payload.size());
  std::copy(bytes.begin(), bytes.end(), frame.begin());
  std::copy(payload.begin(), payload.end(), frame.begin() + kFrameHeaderBytes);
  return frame;
}

// Collects a message; offers at most `window` bytes at a time.
class CollectSink : public RecvSink {
 public:
  explicit CollectSink(size_t bytes, size_t window = static_cast<size_t>(-1))
      : bytes_(bytes), window_(window) {}
  std::span<std::byte> window() override {
    return std::span(bytes_).subspan(got_, std::min(window_, bytes_.size() - got_));
  }
  void advance(size_t bytes) override {
    got_ += bytes;
    ++calls_;
    ASSERT_LE(got_, bytes_.size());
    if (on_advance) on_advance();
  }
  bool done() const { return calls_ > 0 && got_ == bytes_.size(); }
  size_t got() const { return got_; }
  int calls() const { return calls_; }
  const Bytes& bytes() const { return bytes_; }
  std::function<void()> on_advance;

 private:
  Bytes bytes_;
  size_t window_;
  size_t got_ = 0;
  int calls_ = 0;
};

class CountObserver : public SendObserver {
 public:
  void sent(uint64_t cookie) override {
    cookies.push_back(cookie);
    if (on_sent) on_sent(cookie);
  }
  std::vector<uint64_t> cookies;
  std::function<void(uint64_t)> on_sent;
};

// What says how its messages are used.
class UseObserver : public CountObserver {
 public:
  explicit UseObserver(MessageUse use) : use_(use) {}
  MessageUse use() const override { return use_; }

 private:
  const MessageUse use_;
};

// A stream whose input stands ready; what is written is kept.
class ScriptStream : public ByteStream {
 public:
  explicit ScriptStream(Bytes input = {}) : input_(std::move(input)) {}
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    size_t taken = 0;
    for (const iovec& buffer : buffers) {
      const size_t take = std::min(buffer.iov_len, room - std::min(room, taken));
      const std::byte* from = static_cast<const std::byte*>(buffer.iov_base);
      written.insert(written.end(), from, from + take);
      taken += take;
    }
    return taken;
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    size_t given = 0;
    for (const iovec& buffer : buffers) {
      const size_t take = std::min(buffer.iov_len, input_.size() - at_);
      if (take > 0) std::memcpy(buffer.iov_base, input_.data() + at_, take);
      at_ += take;
      given += take;
    }
    return given;
  }
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    poll.push_back(poll_entry(-1, reads, writes));  // which poll(2) passes over
    return true;
  }
  StreamStats stats() const override { return {}; }
  void close() override {}
  void feed(const Bytes& more) { input_.insert(input_.end(), more.begin(), more.end()); }
  size_t unread() const { return input_.size() - at_; }

  Bytes written;
  size_t room = static_cast<size_t>(-1);  // taken at most by one write

 private:
  Bytes input_;
  size_t at_ = 0;
};

// A stream that can read and write and nothing else, as TCP's.
class PlainStream : public ByteStream {
 public:
  explicit PlainStream(std::unique_ptr<ByteStream> inner) : inner_(std::move(inner)) {}
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    return inner_->write_some(buffers);
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    return inner_->read_some(buffers);
  }
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    return inner_->add_to(poll, reads, writes);
  }
  StreamStats stats() const override { return inner_->stats(); }
  void close() override { inner_->close(); }

 private:
  const std::unique_ptr<ByteStream> inner_;
};

struct ChannelPair {
  // Over streams whose bytes cannot be used where they lie.
  static ChannelPair plain() {
    auto [left, right] = make_memory_streams(0, 1, 1 << 20);
    ChannelPair pair;
    pair.a = std::make_unique<Channel>(0, 1, std::make_unique<PlainStream>(std::move(left)),
                                       ChannelOptions{});
    pair.b = std::make_unique<Channel>(1, 0, std::make_unique<PlainStream>(std::move(right)),
                                       ChannelOptions{});
    return pair;
  }
  explicit ChannelPair(const ChannelOptions& options = {}, size_t ring_bytes = 1 << 20,
                       const std::string& fault = {}) {
    auto [left, right] = make_memory_streams(0, 1, ring_bytes);
    const auto spec = parse_fault(fault);
    if (!spec) throw std::runtime_error(spec.error().message());
    a = std::make_unique<Channel>(0, 1, wrap_fault(*spec, 0, 1, std::move(left)), options);
    b = std::make_unique<Channel>(1, 0, wrap_fault(*spec, 1, 0, std::move(right)), options);
  }
  // Progresses both ends until `done` or nothing moves any more; a failure ends it too.
  Status run(const std::function<bool()>& done) {
    int quiet = 0;
    while (!done() && quiet < 3) {
      const Expected<bool> one = a->progress();
      if (!one) return fail(one.error());
      const Expected<bool> two = b->progress();
      if (!two) return fail(two.error());
      quiet = *one || *two ? 0 : quiet + 1;
    }
    return {};
  }
  std::unique_ptr<Channel> a, b;
};

// Runs `body` for every group in a thread of its own and joins them.
inline void run_ranks(std::vector<std::unique_ptr<Group>>& groups,
                      const std::function<void(Group&)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(groups.size());
  for (auto& group : groups) threads.emplace_back([&body, &group] { body(*group); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace plumbline::test
