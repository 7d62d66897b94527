// How messages become frames and calls: order, streaming, sizes.
#include "transport/channel/channel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "channel_pair.h"
#include "core/clock.h"
#include "transport/channel/frame.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::ChannelPair;
using test::CollectSink;
using test::CountObserver;
using test::random_bytes;
using test::ScriptStream;
using test::tag;
using testing::ElementsAre;

// The steps of the frames in a written byte sequence, in order.
std::vector<uint32_t> steps_of(const Bytes& written, uint64_t chunk) {
  std::vector<uint32_t> steps;
  for (size_t at = 0; at + kFrameHeaderBytes <= written.size();) {
    const auto header =
        decode_frame(std::span(written).subspan(at).first<kFrameHeaderBytes>(), {1, chunk, false});
    if (!header) {
      ADD_FAILURE() << header.error().message();
      break;
    }
    steps.push_back(header->tag.step);
    at += kFrameHeaderBytes + header->length;
  }
  return steps;
}

TEST(Channel, SmallMessageTakesOneWriteAndOneRead) {
  ChannelPair pair = ChannelPair::plain();
  const Bytes data = random_bytes(8, 1);
  CollectSink sink(8);
  CountObserver observer;
  pair.b->post_recv(tag(1, 0), 8, &sink);
  pair.a->post_send(tag(1, 0), data.data(), 8, 8, &observer, 42);
  EXPECT_THAT(observer.cookies, ElementsAre(42));  // at once, without progress()
  ASSERT_TRUE(pair.b->progress());
  EXPECT_TRUE(sink.done());
  EXPECT_EQ(sink.bytes(), data);
  EXPECT_EQ(pair.a->stats().write_calls, 1u);
  EXPECT_EQ(pair.b->stats().read_calls, 1u);
  EXPECT_EQ(pair.a->stats().wire_sent, 48u);
  EXPECT_EQ(pair.b->stats().wire_received, 48u);
  EXPECT_EQ(pair.b->stats().payload_received, 8u);
  EXPECT_TRUE(pair.a->idle());
  EXPECT_TRUE(pair.b->idle());
}

// What can use bytes where they lie is given them there, as many as it wants, and the rest by copy.
TEST(Channel, BytesAreUsedWhereTheyLieAsFarAsTheSinkWantsThem) {
  class InPlace : public CollectSink {
   public:
    explicit InPlace(size_t bytes) : CollectSink(bytes, 100) {}
    size_t usable(std::span<const std::byte> bytes) override {
      return ++asked_ % 2 == 0 ? 0 : std::min<size_t>(bytes.size(), 7);
    }
    void use(std::span<const std::byte> bytes) override {
      used += bytes.size();
      const std::span<std::byte> to = window();
      ASSERT_GE(to.size(), bytes.size());
      std::memcpy(to.data(), bytes.data(), bytes.size());
      advance(bytes.size());
    }
    size_t used = 0;

   private:
    size_t asked_ = 0;
  };
  for (const bool crc : {false, true}) {
    ChannelOptions options{1000};
    options.crc = crc;
    ChannelPair pair(options, 4096);
    const Bytes data = random_bytes(20'011, 3);
    InPlace sink(data.size());
    pair.b->post_recv(tag(1, 0), data.size(), &sink);
    pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
    const Status status = pair.run([&] { return sink.done(); });
    EXPECT_TRUE(status) << status.error().message();
    EXPECT_EQ(sink.bytes(), data);
    EXPECT_GT(sink.used, 500u);
    EXPECT_LT(sink.used, data.size());
  }
}

// A message that lies in the stream from end to end is known by its header, byte for byte, only as
// the one that was asked for first. Everything else about it is as with any other.
TEST(Channel, AWholeMessageGoesToItsReceiveAtOnce) {
  class Whole : public CollectSink {
   public:
    explicit Whole(size_t bytes) : CollectSink(bytes, 100) {}
    size_t usable(std::span<const std::byte> bytes) override { return bytes.size(); }
    void use(std::span<const std::byte> bytes) override {
      pieces.push_back(bytes.size());
      std::memcpy(window().data(), bytes.data(), bytes.size());
      advance(bytes.size());
    }
    std::vector<size_t> pieces;
  };
  ChannelPair pair({1000}, 4096);
  Whole first(16), second(16);
  CollectSink copied(16, 100), cut(16, 7);
  const std::vector<CollectSink*> sinks = {&first, &second, &copied, &cut};
  std::vector<Bytes> data;
  for (uint32_t step = 0; step < sinks.size(); ++step) {
    data.push_back(random_bytes(16, step));
    pair.b->post_recv(tag(1, step), 16, sinks[step]);
  }
  for (const uint32_t step : {1, 0, 2, 3}) {
    pair.a->post_send(tag(1, step), data[step].data(), 16, 16, nullptr, 0);
  }
  ASSERT_TRUE(pair.run([&] {
    return std::all_of(sinks.begin(), sinks.end(), [](CollectSink* sink) { return sink->done(); });
  }));
  for (size_t step = 0; step < sinks.size(); ++step) EXPECT_EQ(sinks[step]->bytes(), data[step]);
  EXPECT_THAT(first.pieces, ElementsAre(16));
  const ChannelStats& stats = pair.b->stats();
  EXPECT_EQ(stats.in_place_bytes, 32u);
  EXPECT_EQ(stats.copied_bytes, 32u);
  EXPECT_EQ(stats.payload_received, 64u);
  EXPECT_EQ(stats.wire_received, pair.a->stats().wire_sent);
  EXPECT_EQ(stats.frames_received, 4u);
  EXPECT_TRUE(pair.b->idle());
}

TEST(Channel, LargeMessageTakesAboutOneCallPerFrame) {
  ChannelPair pair({64 * 1024}, 1 << 20);
  const size_t bytes = 64 * 1024 * 10;
  const Bytes data = random_bytes(bytes, 2);
  CollectSink sink(bytes);
  pair.b->post_recv(tag(1, 0), bytes, &sink);
  pair.a->post_send(tag(1, 0), data.data(), bytes, bytes, nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return sink.done(); }));
  EXPECT_EQ(sink.bytes(), data);
  EXPECT_EQ(pair.b->stats().frames_received, 10u);
  EXPECT_LE(pair.b->stats().read_calls, 13u);  // no read for a header alone
}

TEST(Channel, AMessageOfUpToWholeBytesIsOneFrame) {
  ChannelOptions options;
  options.chunk_bytes = 64 * 1024;
  options.whole_bytes = 1 << 20;
  ChannelPair pair(options, 1 << 20);
  uint64_t frames = 0;
  for (const auto& [bytes, more] : {std::pair{size_t{1} << 20, 1}, {(size_t{1} << 20) + 1, 17}}) {
    const Bytes data = random_bytes(bytes, 2);
    CollectSink sink(bytes);
    const auto step = static_cast<uint32_t>(more);
    pair.b->post_recv(tag(1, step), bytes, &sink);
    pair.a->post_send(tag(1, step), data.data(), bytes, bytes, nullptr, 0);
    ASSERT_TRUE(pair.run([&] { return sink.done(); }));
    EXPECT_EQ(sink.bytes(), data);
    frames += static_cast<uint64_t>(more);
    EXPECT_EQ(pair.b->stats().frames_received, frames) << bytes;
  }
}

// It leaves when all of it is there.
TEST(Channel, AWholeMessageThatGrowsIsOneFrame) {
  for (const bool crc : {false, true}) {
    ChannelOptions options;
    options.chunk_bytes = 1000;
    options.whole_bytes = 10'000;
    options.crc = crc;
    ChannelPair pair(options, 4096);
    const Bytes data = random_bytes(10'000, 2);
    CollectSink sink(data.size());
    pair.b->post_recv(tag(1, 0), data.size(), &sink);
    const Channel::SendId id =
        pair.a->post_send(tag(1, 0), data.data(), data.size(), 0, nullptr, 0);
    for (const size_t ready : {size_t{5000}, data.size() - 1}) {
      pair.a->extend_send(id, ready);
      for (int i = 0; i < 10; ++i) ASSERT_TRUE(pair.a->progress() && pair.b->progress());
      EXPECT_EQ(pair.a->stats().frames_sent, 0u);
    }
    pair.a->extend_send(id, data.size());
    ASSERT_TRUE(pair.run([&] { return sink.done(); }));
    EXPECT_EQ(sink.bytes(), data);
    EXPECT_EQ(pair.b->stats().frames_received, 1u);
  }
}

TEST(Channel, EveryCutOfTheByteStreamGivesTheSameMessages) {
  for (const bool crc : {false, true}) {
    for (const size_t ring : {size_t{1}, size_t{7}, size_t{40}, size_t{41}, size_t{4096}}) {
      for (int step_bytes = 1; step_bytes <= 50; step_bytes += 7) {
        ChannelOptions options;
        options.chunk_bytes = 33;
        options.crc = crc;
        ChannelPair pair(options, ring, "short:bytes=" + std::to_string(step_bytes));
        const size_t sizes[] = {0, 1, 32, 33, 34, 66, 100};
        std::vector<Bytes> data;
        std::vector<std::unique_ptr<CollectSink>> sinks;
        uint32_t step = 0;
        for (const size_t size : sizes) data.push_back(random_bytes(size, step++));
        for (uint32_t i = 0; i < std::size(sizes); ++i) {
          sinks.push_back(std::make_unique<CollectSink>(sizes[i], 10));
          pair.b->post_recv(tag(1, i), sizes[i], sinks.back().get());
        }
        for (uint32_t i = 0; i < std::size(sizes); ++i) {
          pair.a->post_send(tag(1, i), data[i].data(), sizes[i], sizes[i], nullptr, i);
        }
        const Status status = pair.run([&] {
          return std::all_of(sinks.begin(), sinks.end(), [](auto& sink) { return sink->done(); });
        });
        ASSERT_TRUE(status) << status.error().message();
        for (size_t i = 0; i < std::size(sizes); ++i) {
          ASSERT_TRUE(sinks[i]->done()) << "ring " << ring << " cut " << step_bytes << " #" << i;
          ASSERT_EQ(sinks[i]->bytes(), data[i]);
        }
        EXPECT_TRUE(pair.b->idle());
      }
    }
  }
}

TEST(Channel, EmptyMessageGetsOneAdvance) {
  ChannelPair pair;
  CollectSink sink(0);
  CountObserver observer;
  pair.a->post_send(tag(1, 3), nullptr, 0, 0, &observer, 7);
  pair.b->post_recv(tag(1, 3), 0, &sink);
  EXPECT_FALSE(sink.done());
  ASSERT_TRUE(pair.b->progress());
  EXPECT_TRUE(sink.done());
  EXPECT_EQ(sink.calls(), 1);
  EXPECT_THAT(observer.cookies, ElementsAre(7));
}

TEST(Channel, SendsAFrameOnlyWhenItsChunkOrTheTailIsReady) {
  auto owned = std::make_unique<ScriptStream>();
  ScriptStream* stream = owned.get();
  Channel channel(0, 1, std::move(owned), {100});
  const Bytes data = random_bytes(250, 3);
  CountObserver observer;
  const auto id = channel.post_send(tag(1, 0), data.data(), 250, 99, &observer, 1);
  EXPECT_FALSE(channel.wants_write());
  EXPECT_TRUE(stream->written.empty());
  channel.extend_send(id, 100);
  EXPECT_EQ(stream->written.size(), 140u);
  channel.extend_send(id, 50);  // never backwards
  channel.extend_send(id, 249);
  EXPECT_EQ(stream->written.size(), 280u);
  EXPECT_TRUE(observer.cookies.empty());
  EXPECT_FALSE(channel.idle());
  channel.extend_send(id, 1000);  // never beyond the message
  EXPECT_EQ(stream->written.size(), 370u);
  EXPECT_THAT(observer.cookies, ElementsAre(1));
  EXPECT_TRUE(channel.idle());
  channel.extend_send(id, 250);  // an id that is no more
  EXPECT_EQ(stream->written.size(), 370u);
}

TEST(Channel, LowestSequenceGoesFirstAndTheLastExtendedInsideIt) {
  auto owned = std::make_unique<ScriptStream>();
  ScriptStream* stream = owned.get();
  stream->room = 0;
  Channel channel(0, 1, std::move(owned), {10});
  const Bytes data(40);
  channel.post_send(tag(9, 1), data.data(), 10, 10, nullptr, 0);  // tried at once: it stays first
  channel.post_send(tag(8, 2), data.data(), 10, 10, nullptr, 0);
  channel.post_send(tag(8, 3), data.data(), 10, 10, nullptr, 0);
  channel.post_send(tag(7, 4), data.data(), 10, 10, nullptr, 0);
  const auto early = channel.post_send(tag(7, 5), data.data(), 20, 0, nullptr, 0);
  const auto late = channel.post_send(tag(7, 6), data.data(), 20, 0, nullptr, 0);
  channel.extend_send(early, 20);
  channel.extend_send(late, 10);
  channel.extend_send(early, 20);
  channel.extend_send(late, 10);
  stream->room = static_cast<size_t>(-1);
  ASSERT_TRUE(channel.progress());
  EXPECT_THAT(steps_of(stream->written, 10), ElementsAre(1, 6, 5, 5, 4, 2, 3));
  channel.extend_send(late, 20);
  EXPECT_EQ(steps_of(stream->written, 10).back(), 6u);
}

TEST(Channel, OperationNumbersMayWrapAround) {
  auto owned = std::make_unique<ScriptStream>();
  ScriptStream* stream = owned.get();
  stream->room = 0;
  Channel channel(0, 1, std::move(owned), {10});
  const Bytes data(10);
  channel.post_send(tag(5, 0), data.data(), 10, 10, nullptr, 0);
  channel.post_send(tag(2, 1), data.data(), 10, 10, nullptr, 0);
  channel.post_send(tag(0xfffffff0, 2), data.data(), 10, 10, nullptr, 0);
  stream->room = 1000;
  ASSERT_TRUE(channel.progress());
  EXPECT_THAT(steps_of(stream->written, 10), ElementsAre(0, 2, 1));
}

TEST(Channel, APartlyWrittenFrameIsFinishedBeforeAnythingElse) {
  auto owned = std::make_unique<ScriptStream>();
  ScriptStream* stream = owned.get();
  stream->room = 60;
  Channel channel(0, 1, std::move(owned), {100});
  const Bytes data = random_bytes(100, 4);
  channel.post_send(tag(9, 1), data.data(), 100, 100, nullptr, 0);
  channel.post_send(tag(1, 2), data.data(), 100, 100, nullptr, 0);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(channel.progress());
  EXPECT_THAT(steps_of(stream->written, 100), ElementsAre(1, 2));
  EXPECT_EQ(stream->written.size(), 280u);
}

TEST(Channel, ManySmallReadyFramesShareCalls) {
  auto owned = std::make_unique<ScriptStream>();
  ScriptStream* stream = owned.get();
  stream->room = 0;
  Channel channel(0, 1, std::move(owned), {});
  const Bytes data(8);
  for (uint32_t i = 0; i < 17; ++i) channel.post_send(tag(1, i), data.data(), 8, 8, nullptr, i);
  const uint64_t before = channel.stats().write_calls;
  stream->room = static_cast<size_t>(-1);
  ASSERT_TRUE(channel.progress());
  EXPECT_TRUE(channel.idle());
  EXPECT_LE(channel.stats().write_calls - before, 3u);
  EXPECT_EQ(stream->written.size(), 17u * 48);
}

TEST(Channel, SmallPayloadsAreCopiedAtEverySizeAroundTheLimit) {
  for (const bool crc : {false, true}) {
    ChannelOptions options;
    options.crc = crc;
    for (size_t size = 2040; size <= 2056; ++size) {
      ChannelPair pair(options, 600);  // the frame goes out in pieces
      const Bytes data = random_bytes(size, size);
      CollectSink sink(size);
      pair.b->post_recv(tag(1, 0), size, &sink);
      pair.a->post_send(tag(1, 0), data.data(), size, size, nullptr, 0);
      ASSERT_TRUE(pair.run([&] { return sink.done(); }));
      ASSERT_EQ(sink.bytes(), data) << size;
      EXPECT_TRUE(pair.a->idle());
    }
  }
}

TEST(Channel, KnowsWhenItsLastByteMoved) {
  ChannelPair pair;
  const int64_t start = monotonic_ns();
  pair.b->note_time(start);  // nothing has moved: no change
  const int64_t created = pair.b->last_progress_ns();
  EXPECT_LE(created, start);
  const std::byte one{1};
  CollectSink sink(1);
  pair.b->post_recv(tag(1, 0), 1, &sink);
  pair.a->post_send(tag(1, 0), &one, 1, 1, nullptr, 0);
  ASSERT_TRUE(pair.b->progress());
  EXPECT_GE(pair.b->last_progress_ns(), start);
  pair.b->note_time(start + 5);
  EXPECT_EQ(pair.b->last_progress_ns(), start + 5);
  pair.b->note_time(start + 50);
  EXPECT_EQ(pair.b->last_progress_ns(), start + 5);
  ASSERT_TRUE(pair.b->progress());  // in vain
  EXPECT_EQ(pair.b->last_progress_ns(), start + 5);
}

TEST(Channel, TellsWhatItWaitsFor) {
  ChannelPair pair({10}, 4);
  EXPECT_FALSE(pair.a->waiting_send());
  EXPECT_FALSE(pair.a->waiting_recv());
  const Bytes data(10);
  pair.a->post_send(tag(3, 1), data.data(), 10, 10, nullptr, 0);
  pair.a->post_send(tag(4, 2), data.data(), 10, 10, nullptr, 0);
  ASSERT_TRUE(pair.a->waiting_send());
  EXPECT_EQ(*pair.a->waiting_send(), tag(3, 1));
  CollectSink sink(10);
  pair.b->post_recv(tag(3, 1), 10, &sink);
  EXPECT_EQ(*pair.b->waiting_recv(), tag(3, 1));
}

}  // namespace
}  // namespace plumbline
