// Messages that come before they are expected: back pressure, parking, and posting from inside.
#include <gmock/gmock.h>

#include "channel_pair.h"
#include "core/clock.h"
#include "transport/channel/channel.h"
#include "transport/channel/frame.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::ChannelPair;
using test::CollectSink;
using test::CountObserver;
using test::frame_of;
using test::random_bytes;
using test::ScriptStream;
using test::tag;
using testing::HasSubstr;

TEST(ChannelPark, InterleavedMessagesOfSeveralOperationsArrive) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    ChannelOptions options;
    options.chunk_bytes = 1 + random() % 60;
    options.crc = seed % 2 == 0;
    ChannelPair pair(options, 1 + random() % 300, "short:bytes=" + std::to_string(1 + seed % 90));
    struct Message {
      MessageTag name;
      Bytes data;
      std::unique_ptr<CollectSink> sink;
      Channel::SendId id = 0;
      size_t ready = 0;
    };
    std::vector<Message> messages(30);
    uint32_t number = 0;
    for (Message& message : messages) {
      message.name = tag(1 + number % 4, number / 4);
      message.data = random_bytes(random() % 200, seed * 1000 + number);
      message.sink = std::make_unique<CollectSink>(message.data.size(), 1 + random() % 64);
      ++number;
    }
    std::vector<size_t> order(messages.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    CountObserver observer;
    for (const size_t i : order) {
      Message& m = messages[i];
      m.id = pair.a->post_send(m.name, m.data.data(), m.data.size(), 0, &observer, i);
    }
    std::shuffle(order.begin(), order.end(), random);
    size_t posted = 0;
    const auto all_done = [&] {
      return std::all_of(messages.begin(), messages.end(),
                         [](const Message& m) { return m.sink->done(); });
    };
    for (int round = 0; !all_done() && round < 100'000; ++round) {
      Message& m = messages[random() % messages.size()];
      m.ready = std::min(m.data.size(), m.ready + random() % 80);
      pair.a->extend_send(m.id, m.ready);
      if (posted < order.size() && random() % 3 == 0) {
        Message& next = messages[order[posted++]];
        pair.b->post_recv(next.name, next.data.size(), next.sink.get());
      }
      ASSERT_TRUE(pair.a->progress());
      const auto moved = pair.b->progress();
      ASSERT_TRUE(moved) << "seed " << seed << ": " << moved.error().message();
    }
    ASSERT_TRUE(all_done()) << "seed " << seed;
    for (const Message& m : messages) ASSERT_EQ(m.sink->bytes(), m.data) << "seed " << seed;
    EXPECT_EQ(observer.cookies.size(), messages.size());
    EXPECT_TRUE(pair.a->idle());
    EXPECT_TRUE(pair.b->idle());
  }
}

TEST(ChannelPark, WithoutAnyPostedReceiveBytesStayInTheStream) {
  ChannelPair pair({}, 4096);
  const Bytes data = random_bytes(100, 5);
  pair.a->post_send(tag(1, 0), data.data(), 100, 100, nullptr, 0);
  EXPECT_FALSE(pair.b->wants_read());
  ASSERT_TRUE(pair.b->progress());
  EXPECT_EQ(pair.b->stats().read_calls, 0u);
  CollectSink sink(100);
  pair.b->post_recv(tag(1, 0), 100, &sink);
  ASSERT_TRUE(pair.b->progress());
  EXPECT_EQ(sink.bytes(), data);
}

TEST(ChannelPark, AnEarlyFrameIsHeldWhenNothingElseIsPosted) {
  ChannelPair pair = ChannelPair::plain();
  const Bytes one = random_bytes(10, 6);
  const Bytes two = random_bytes(10, 7);
  CollectSink first(10);
  CollectSink second(10);
  pair.b->post_recv(tag(1, 0), 10, &first);
  pair.a->post_send(tag(1, 0), one.data(), 10, 10, nullptr, 0);
  pair.a->post_send(tag(2, 0), two.data(), 10, 10, nullptr, 0);  // comes along in the same read
  ASSERT_TRUE(pair.b->progress());
  EXPECT_TRUE(first.done());
  EXPECT_FALSE(pair.b->wants_read());
  EXPECT_FALSE(pair.b->idle());  // raw use of the stream would miss the bytes
  EXPECT_THAT(pair.b->obstacle(), HasSubstr("op 2 step 0"));
  EXPECT_EQ(pair.b->stats().parked_bytes_peak, 0u);
  pair.b->post_recv(tag(2, 0), 10, &second);
  EXPECT_TRUE(second.done());  // without progress(): the bytes were here
  EXPECT_EQ(second.bytes(), two);
  EXPECT_EQ(pair.b->obstacle(), "");
  EXPECT_TRUE(pair.b->idle());
}

TEST(ChannelPark, EarlyFramesAreParkedWhenSomethingIsPostedBehindThem) {
  ChannelPair pair({16});
  const Bytes early = random_bytes(40, 8);
  const Bytes awaited = random_bytes(20, 9);
  CollectSink awaited_sink(20);
  CollectSink early_sink(40);
  pair.b->post_recv(tag(1, 1), 20, &awaited_sink);
  pair.a->post_send(tag(1, 0), early.data(), 40, 40, nullptr, 0);
  pair.a->post_send(tag(1, 1), awaited.data(), 20, 20, nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return awaited_sink.done(); }));
  EXPECT_EQ(awaited_sink.bytes(), awaited);
  EXPECT_GE(pair.b->stats().parked_bytes_peak, 40u);
  EXPECT_FALSE(pair.b->idle());
  pair.b->post_recv(tag(1, 0), 40, &early_sink);
  EXPECT_TRUE(early_sink.done());
  EXPECT_EQ(early_sink.bytes(), early);
  EXPECT_TRUE(pair.b->idle());
}

TEST(ChannelPark, AParkedBeginningIsContinuedInTheSink) {
  // Cut at every byte of the early message, so that the post meets whole frames, half headers and
  // half payloads.
  for (size_t cut = 1; cut < 3 * 56 + 8; ++cut) {
    const Bytes early = random_bytes(56, 10);
    Bytes wire;
    for (size_t offset = 0; offset < 56; offset += 16) {
      const size_t length = std::min<size_t>(16, 56 - offset);
      const auto begin = early.begin() + static_cast<std::ptrdiff_t>(offset);
      const Bytes part(begin, begin + static_cast<std::ptrdiff_t>(length));
      const Bytes frame = frame_of(tag(1, 0), part, 56, offset);
      wire.insert(wire.end(), frame.begin(), frame.end());
    }
    const auto middle = wire.begin() + static_cast<std::ptrdiff_t>(cut);
    auto owned = std::make_unique<ScriptStream>(Bytes(wire.begin(), middle));
    ScriptStream* stream = owned.get();
    Channel channel(1, 0, std::move(owned), {16});
    CollectSink other(1);
    CollectSink sink(56, 5);
    channel.post_recv(tag(1, 9), 1, &other);
    ASSERT_TRUE(channel.progress());
    channel.post_recv(tag(1, 0), 56, &sink);
    stream->feed(Bytes(middle, wire.end()));
    stream->feed(frame_of(tag(1, 9), Bytes(1), 1, 0));
    const auto moved = channel.progress();
    ASSERT_TRUE(moved) << "cut " << cut << ": " << moved.error().message();
    ASSERT_TRUE(channel.progress());
    ASSERT_TRUE(sink.done()) << "cut " << cut;
    ASSERT_EQ(sink.bytes(), early) << "cut " << cut;
    EXPECT_TRUE(other.done());
    EXPECT_TRUE(channel.idle());
  }
}

TEST(ChannelPark, ParkedEmptyMessageIsDelivered) {
  ChannelPair pair;
  const Bytes data(4);
  CollectSink awaited(4);
  CollectSink empty(0);
  pair.b->post_recv(tag(1, 1), 4, &awaited);
  pair.a->post_send(tag(1, 0), nullptr, 0, 0, nullptr, 0);
  pair.a->post_send(tag(1, 1), data.data(), 4, 4, nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return awaited.done(); }));
  pair.b->post_recv(tag(1, 0), 0, &empty);
  EXPECT_TRUE(empty.done());
  EXPECT_EQ(empty.calls(), 1);
  EXPECT_TRUE(pair.b->idle());
}

TEST(ChannelPark, AFullParkStopsReadingUntilSomethingIsPosted) {
  ChannelOptions options;
  options.chunk_bytes = 100;
  options.park_bytes = 500;
  ChannelPair pair(options, 64 * 1024);
  std::vector<Bytes> data;
  for (uint32_t i = 0; i < 10; ++i) {
    data.push_back(random_bytes(100, i));
    pair.a->post_send(tag(1, i), data[i].data(), 100, 100, nullptr, 0);
  }
  const Bytes last = random_bytes(100, 77);
  pair.a->post_send(tag(1, 50), last.data(), 100, 100, nullptr, 0);
  CollectSink last_sink(100);
  pair.b->post_recv(tag(1, 50), 100, &last_sink);
  ASSERT_TRUE(pair.run([&] { return last_sink.done(); }));
  EXPECT_FALSE(last_sink.done());
  EXPECT_FALSE(pair.b->wants_read());  // a poll for input would return at once, again and again
  EXPECT_LE(pair.b->stats().parked_bytes_peak, 500u);
  EXPECT_THAT(pair.b->obstacle(), HasSubstr("park_bytes"));
  std::vector<std::unique_ptr<CollectSink>> sinks;
  for (uint32_t i = 0; i < 10; ++i) {
    sinks.push_back(std::make_unique<CollectSink>(100));
    pair.b->post_recv(tag(1, i), 100, sinks[i].get());
  }
  ASSERT_TRUE(pair.run([&] { return last_sink.done(); }));
  EXPECT_EQ(last_sink.bytes(), last);
  for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(sinks[i]->bytes(), data[i]);
  EXPECT_TRUE(pair.b->idle());
}

TEST(ChannelPark, EndlessEmptyFramesCannotFillMemory) {
  auto owned = std::make_unique<ScriptStream>();
  ScriptStream* stream = owned.get();
  ChannelOptions options;
  options.park_bytes = 10'000;
  Channel channel(1, 0, std::move(owned), options);
  CollectSink sink(1);
  channel.post_recv(tag(1, 0xffffffff), 1, &sink);
  for (uint32_t i = 0; i < 5000; ++i) stream->feed(frame_of(tag(1, i), {}, 0, 0));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(channel.progress());
  EXPECT_LE(channel.stats().parked_bytes_peak, 10'000u);
  EXPECT_GT(stream->unread(), 100'000u);
}

TEST(ChannelPark, CallbacksMayPostAndExtend) {
  // An echo that grows: every received message posts the next receive and answers, and every sent
  // one posts the next send, thousands deep when the other end has sent everything already.
  ChannelPair pair({64}, 1 << 20);
  constexpr uint32_t kMessages = 5000;
  const Bytes data = random_bytes(100, 14);
  std::vector<std::unique_ptr<CollectSink>> sinks;
  const auto post_next = [&](const auto& self) -> void {
    const uint32_t step = static_cast<uint32_t>(sinks.size());
    if (step == kMessages) return;
    sinks.push_back(std::make_unique<CollectSink>(100, 30));
    CollectSink* sink = sinks.back().get();
    sink->on_advance = [&self, sink] {
      if (sink->done()) self(self);
    };
    pair.b->post_recv(tag(1, step), 100, sink);
  };
  CollectSink never(1);
  pair.b->post_recv(tag(1, kMessages), 1, &never);  // so that everything gets parked
  CountObserver observer;
  observer.on_sent = [&](uint64_t cookie) {
    const uint32_t next = static_cast<uint32_t>(cookie) + 1;
    if (next < kMessages) pair.a->post_send(tag(1, next), data.data(), 100, 100, &observer, next);
  };
  pair.a->post_send(tag(1, 0), data.data(), 100, 100, &observer, 0);
  ASSERT_TRUE(pair.run([&] { return observer.cookies.size() == kMessages; }));
  ASSERT_TRUE(pair.run([] { return false; }));
  post_next(post_next);
  ASSERT_TRUE(pair.run([&] { return sinks.size() == kMessages && sinks.back()->done(); }));
  ASSERT_EQ(sinks.size(), kMessages);
  for (const auto& sink : sinks) ASSERT_EQ(sink->bytes(), data);
}

}  // namespace
}  // namespace plumbline
