// What a channel does when the peer disagrees, lies, goes away, or its own user gives up.
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
using testing::AllOf;
using testing::HasSubstr;

TEST(ChannelFailure, AnotherOperationUnderTheSameNumberIsNamed) {
  for (const uint32_t their_step : {0u, 5u}) {  // 5: not even the message exists here
    ChannelPair pair;
    const Bytes data(8);
    CollectSink sink(8);
    pair.b->post_recv({1, 91, 0, 0xaaaa}, 8, &sink);
    pair.a->post_send({1, 91, their_step, 0xbbbb}, data.data(), 8, 8, nullptr, 0);
    const auto moved = pair.b->progress();
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().code, ErrorCode::kMismatch);
    EXPECT_EQ(moved.error().cause, "collective.mismatch");
    EXPECT_THAT(moved.error().what, AllOf(HasSubstr("op 91"), HasSubstr("0x0000aaaa"),
                                          HasSubstr("0x0000bbbb"), HasSubstr("rank 0")));
    ASSERT_TRUE(pair.b->hash_mismatch());
    EXPECT_EQ(pair.b->hash_mismatch()->theirs, 0xbbbbu);
    EXPECT_FALSE(sink.done());
  }
}

TEST(ChannelFailure, AMismatchIsSeenWhenTheMessageWasParked) {
  ChannelPair pair;
  const Bytes data(8);
  CollectSink other(8);
  CollectSink sink(8);
  pair.b->post_recv({1, 90, 0, 1}, 8, &other);
  pair.a->post_send({1, 91, 0, 0xbbbb}, data.data(), 8, 8, nullptr, 0);
  ASSERT_TRUE(pair.b->progress());
  pair.b->post_recv({1, 91, 0, 0xaaaa}, 8, &sink);
  const auto moved = pair.b->progress();
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, ErrorCode::kMismatch);
}

TEST(ChannelFailure, ADifferentLengthNamesBothLengths) {
  for (const bool parked : {false, true}) {
    ChannelPair pair;
    const Bytes data(9);
    CollectSink other(1);
    CollectSink sink(8);
    if (parked) pair.b->post_recv(tag(1, 7), 1, &other);
    if (!parked) pair.b->post_recv(tag(1, 0), 8, &sink);
    pair.a->post_send(tag(1, 0), data.data(), 9, 9, nullptr, 0);
    if (parked) {
      ASSERT_TRUE(pair.b->progress());
      pair.b->post_recv(tag(1, 0), 8, &sink);
    }
    const auto moved = pair.b->progress();
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().code, ErrorCode::kMismatch);
    EXPECT_THAT(moved.error().what, AllOf(HasSubstr("op 1 step 0"), HasSubstr("9 bytes"),
                                          HasSubstr("8 bytes"), HasSubstr("rank 0")));
  }
}

TEST(ChannelFailure, FramesOutOfOrderAreRefused) {
  const Bytes payload(10);
  for (const auto& [wire, posted] :
       {std::pair{frame_of(tag(1, 0), payload, 30, 10), true},      // begins in the middle
        std::pair{frame_of(tag(1, 0), payload, 30, 10), false}}) {  // the same, parked
    Channel channel(1, 0, std::make_unique<ScriptStream>(wire), {10});
    CollectSink sink(30);
    channel.post_recv(tag(1, posted ? 0 : 1), 30, &sink);
    const auto moved = channel.progress();
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().code, ErrorCode::kProtocol);
    EXPECT_THAT(moved.error().what, HasSubstr("offset"));
  }
  Bytes twice = frame_of(tag(1, 0), payload, 30, 0);
  const Bytes again = twice;
  twice.insert(twice.end(), again.begin(), again.end());
  Channel channel(1, 0, std::make_unique<ScriptStream>(twice), {10});
  CollectSink sink(30);
  channel.post_recv(tag(1, 0), 30, &sink);
  EXPECT_FALSE(channel.progress());
}

TEST(ChannelFailure, ALostPeerInTheMiddleIsAnErrorThatSaysWhere) {
  ChannelPair pair({}, 1 << 20, "close:rank=0,after=1000");
  const Bytes data(5000);
  CollectSink sink(5000);
  pair.b->post_recv(tag(4, 2), 5000, &sink);
  pair.a->post_send(tag(4, 2), data.data(), 5000, 5000, nullptr, 0);
  EXPECT_FALSE(pair.a->progress());
  Expected<bool> moved = true;
  for (int i = 0; i < 10 && moved; ++i) moved = pair.b->progress();
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, ErrorCode::kPeerLost);
  EXPECT_THAT(moved.error().what, AllOf(HasSubstr("rank 0"), HasSubstr("op 4 step 2")));
  EXPECT_EQ(sink.got(), 960u);  // what came before the end was delivered
  const auto again = pair.b->progress();
  ASSERT_FALSE(again);  // a failure is final
  EXPECT_EQ(again.error().what, moved.error().what);
  EXPECT_TRUE(pair.b->wants_read());  // so that somebody looks
}

TEST(ChannelFailure, BytesBeforeAnOrderlyEndAreStillDelivered) {
  ChannelPair pair;
  const Bytes data = random_bytes(100, 11);
  pair.a->post_send(tag(1, 0), data.data(), 100, 100, nullptr, 0);
  pair.a.reset();
  CollectSink sink(100);
  pair.b->post_recv(tag(1, 0), 100, &sink);
  EXPECT_TRUE(pair.b->progress());
  EXPECT_EQ(sink.bytes(), data);
}

TEST(ChannelFailure, ChecksumFindsEveryFlippedBit) {
  ChannelOptions options;
  options.crc = true;
  options.chunk_bytes = 32;
  const Bytes data = random_bytes(50, 12);
  auto owned = std::make_unique<ScriptStream>();
  ScriptStream* out = owned.get();
  Channel sender(0, 1, std::move(owned), options);
  sender.post_send(tag(1, 0), data.data(), 50, 50, nullptr, 0);
  const Bytes wire = out->written;
  ASSERT_EQ(wire.size(), 130u);
  for (size_t bit = 0; bit < wire.size() * 8; ++bit) {
    Bytes spoiled = wire;
    spoiled[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    Channel receiver(1, 0, std::make_unique<ScriptStream>(spoiled), options);
    CollectSink sink(50);
    receiver.post_recv(tag(1, 0), 50, &sink);
    Expected<bool> moved = true;
    for (int i = 0; i < 4 && moved; ++i) moved = receiver.progress();
    ASSERT_FALSE(moved) << "bit " << bit;
    ASSERT_FALSE(sink.done()) << "bit " << bit;  // never announced as complete
    if (bit / 8 >= 40 && bit / 8 < 72) {
      EXPECT_EQ(moved.error().code, ErrorCode::kWrongData);
      EXPECT_THAT(moved.error().what,
                  AllOf(HasSubstr("rank 0"), HasSubstr("op 1 step 0"), HasSubstr("offset 0")));
    }
  }
}

uint32_t counted_crc_calls = 0;
uint32_t counting_crc(uint32_t crc, const void* data, size_t bytes) {
  ++counted_crc_calls;
  return crc32c_table(crc, data, bytes);
}

TEST(ChannelFailure, UsesTheChecksumFunctionThatItIsGiven) {
  ChannelOptions options;
  options.crc = true;
  options.crc32c = counting_crc;
  counted_crc_calls = 0;
  ChannelPair pair(options);
  const Bytes data = random_bytes(500, 13);
  CollectSink sink(500);
  pair.b->post_recv(tag(1, 0), 500, &sink);
  pair.a->post_send(tag(1, 0), data.data(), 500, 500, nullptr, 0);
  ASSERT_TRUE(pair.b->progress());
  EXPECT_EQ(sink.bytes(), data);
  EXPECT_GE(counted_crc_calls, 4u);
}

TEST(ChannelFailure, OnlyOneEndWithChecksumsIsAnError) {
  ChannelOptions with;
  with.crc = true;
  auto [left, right] = make_memory_streams(0, 1, 4096);
  Channel a(0, 1, std::move(left), with);
  Channel b(1, 0, std::move(right), {});
  const Bytes data(8);
  CollectSink sink(8);
  b.post_recv(tag(1, 0), 8, &sink);
  a.post_send(tag(1, 0), data.data(), 8, 8, nullptr, 0);
  const auto moved = b.progress();
  ASSERT_FALSE(moved);
  EXPECT_THAT(moved.error().what, HasSubstr("CRC flag"));
}

TEST(ChannelFailure, CancelForgetsSinksAndSends) {
  ChannelPair pair({16}, 64);
  const Bytes data(200);
  CountObserver observer;
  {
    CollectSink sink(200);
    pair.b->post_recv(tag(1, 0), 200, &sink);
    pair.a->post_send(tag(1, 0), data.data(), 200, 200, &observer, 0);
    ASSERT_TRUE(pair.b->progress());
    EXPECT_GT(sink.got(), 0u);
    pair.b->cancel(Error{ErrorCode::kAborted, "enough", 0, {}, {}});
    pair.a->cancel(Error{ErrorCode::kAborted, "enough", 0, {}, {}});
  }
  EXPECT_TRUE(pair.a->idle());
  EXPECT_TRUE(pair.b->idle());
  const auto moved = pair.b->progress();
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().what, "enough");
  EXPECT_TRUE(observer.cookies.empty());
  CollectSink late(1);
  pair.b->post_recv(tag(1, 1), 1, &late);
  EXPECT_EQ(pair.a->post_send(tag(1, 1), data.data(), 1, 1, &observer, 1), 0u);
  EXPECT_TRUE(pair.b->idle());
}

TEST(ChannelFailure, ASinkMayCancelItsOwnChannel) {
  for (const bool parked : {false, true}) {
    ChannelPair pair({16});
    const Bytes data(200);
    CollectSink other(1);
    CollectSink sink(200, 8);
    sink.on_advance = [&] { pair.b->cancel(Error{ErrorCode::kInterrupted, "stop", 0, {}, {}}); };
    pair.b->post_recv(tag(1, parked ? 5 : 0), parked ? 1 : 200, parked ? &other : &sink);
    pair.a->post_send(tag(1, 0), data.data(), 200, 200, nullptr, 0);
    if (parked) {
      ASSERT_TRUE(pair.b->progress());
      pair.b->post_recv(tag(1, 0), 200, &sink);
    }
    const auto moved = pair.b->progress();
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().code, ErrorCode::kInterrupted);
    EXPECT_EQ(sink.calls(), 1);
  }
}

TEST(ChannelFailure, ASinkWithoutRoomIsAnErrorNotASpin) {
  class Full : public RecvSink {
   public:
    std::span<std::byte> window() override { return {}; }
    void advance(size_t) override {}
  };
  ChannelPair pair;
  const Bytes data(100'000);
  Full sink;
  pair.b->post_recv(tag(1, 0), data.size(), &sink);
  pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
  EXPECT_FALSE(pair.b->progress());
}

}  // namespace
}  // namespace plumbline
