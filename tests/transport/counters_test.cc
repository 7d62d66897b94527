// What a channel, a stream and a group count: the same as what went through them.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <cstring>

#include "channel_pair.h"
#include "core/clock.h"
#include "transport/group.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::ChannelPair;
using test::CollectSink;
using test::frame_of;
using test::random_bytes;
using test::ScriptStream;
using test::tag;

constexpr size_t kPage = 4096;

// Uses all that it can where it lies.
class InPlaceSink : public CollectSink {
 public:
  using CollectSink::CollectSink;
  size_t usable(std::span<const std::byte> bytes) override { return bytes.size(); }
  void use(std::span<const std::byte> bytes) override {
    std::memcpy(window().data(), bytes.data(), bytes.size());
    advance(bytes.size());
  }
};

TEST(Counters, BytesOfARingAreUsedWhereTheyLieOrCopied) {
  ChannelPair pair;
  const Bytes data = random_bytes(300'000, 1);
  InPlaceSink uses(data.size());
  CollectSink copies(data.size());
  pair.b->post_recv(tag(1, 0), data.size(), &uses);
  pair.b->post_recv(tag(1, 1), data.size(), &copies);
  pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
  pair.a->post_send(tag(1, 1), data.data(), data.size(), data.size(), nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return uses.done() && copies.done(); }));
  const ChannelStats& stats = pair.b->stats();
  EXPECT_EQ(stats.in_place_bytes, data.size());
  EXPECT_EQ(stats.copied_bytes, data.size());
  EXPECT_EQ(stats.payload_received, 2 * data.size());
  EXPECT_EQ(stats.wire_received, pair.a->stats().wire_sent);
}

// A stream without memory of its own puts large payloads straight into the window; only what came
// with a header is copied.
TEST(Counters, BytesThatAStreamPutsInPlaceAreNotCopies) {
  ChannelPair pair = ChannelPair::plain();
  const Bytes data = random_bytes(500'000, 2);
  CollectSink sink(data.size());
  pair.b->post_recv(tag(1, 0), data.size(), &sink);
  pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return sink.done(); }));
  EXPECT_EQ(sink.bytes(), data);
  EXPECT_EQ(pair.b->stats().in_place_bytes, 0u);
  EXPECT_GT(pair.b->stats().copied_bytes, 0u);
  EXPECT_LT(pair.b->stats().copied_bytes, data.size() / 4);
}

TEST(Counters, AParkedMessageIsCopiedOnceMore) {
  Bytes input = frame_of(tag(1, 1), random_bytes(100, 3), 100, 0);
  const Bytes awaited = frame_of(tag(1, 0), random_bytes(10, 4), 10, 0);
  input.insert(input.end(), awaited.begin(), awaited.end());
  Channel channel(0, 1, std::make_unique<ScriptStream>(input), ChannelOptions{});
  CollectSink first(10), second(100);
  channel.post_recv(tag(1, 0), 10, &first);
  ASSERT_TRUE(channel.progress());
  ASSERT_TRUE(first.done());
  EXPECT_EQ(channel.stats().copied_bytes, 110u);
  channel.post_recv(tag(1, 1), 100, &second);
  ASSERT_TRUE(second.done());
  EXPECT_EQ(channel.stats().copied_bytes, 210u);
}

TEST(Counters, AStallSaysWhatIsMissing) {
  auto owned = std::make_unique<ScriptStream>();
  ScriptStream& stream = *owned;
  ChannelOptions options;
  options.park_bytes = 1000;
  Channel channel(0, 1, std::move(owned), options);
  EXPECT_FALSE(channel.stall()) << "it waits for nothing";

  CollectSink sink(2 * kPage);
  channel.post_recv(tag(1, 0), 2 * kPage, &sink);
  ASSERT_TRUE(channel.progress());
  EXPECT_EQ(channel.stall(), Stall::kPeerLate);
  stream.feed(frame_of(tag(1, 0), random_bytes(kPage, 1), 2 * kPage, 0));
  ASSERT_TRUE(channel.progress());
  EXPECT_EQ(channel.stall(), Stall::kReceiving);

  stream.room = 0;
  const Bytes data = random_bytes(10, 2);
  channel.post_send(tag(1, 5), data.data(), 10, 10, nullptr, 0);
  ASSERT_TRUE(channel.progress());
  EXPECT_EQ(channel.stall(), Stall::kSendFull);

  stream.feed(frame_of(tag(2, 0), random_bytes(kPage, 3), kPage, 0));
  ASSERT_TRUE(channel.progress());
  EXPECT_EQ(channel.stall(), Stall::kParkFull);
}

TEST(Counters, ATcpStreamCountsItsSystemCalls) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const auto left = make_tcp_stream(Fd(ends[0]), "left"), right = make_tcp_stream(Fd(ends[1]), "r");
  std::byte byte{7};
  const iovec one{&byte, 1}, nothing{&byte, 0};
  ASSERT_TRUE(left->write_some({&one, 1}));
  ASSERT_TRUE(left->write_some({&nothing, 1}));  // no call
  ASSERT_EQ(right->read_some({&one, 1}).value(), 1u);
  ASSERT_EQ(right->read_some({&one, 1}).value(), 0u);  // an empty one is a call too
  EXPECT_EQ(left->stats().writes, 1u);
  EXPECT_EQ(left->stats().reads, 0u);
  EXPECT_EQ(right->stats().reads, 2u);
}

// Two ranks over memory, of which the second sends late: the first one's wait is told and timed.
TEST(Counters, AGroupTellsWhatItWaitedFor) {
  constexpr int64_t kLateNs = 30'000'000;
  auto groups = make_memory_groups(2, ChannelOptions{}, {0, false}, 1 << 16);
  const Deadline deadline = Deadline::after_ms(20'000);
  std::byte value{3};
  std::thread sender([&] {
    Channel& channel = **groups[1]->channel(0, deadline);
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLateNs));
    channel.post_send(tag(1, 0), &value, 1, 1, nullptr, 0);
    EXPECT_TRUE(groups[1]->wait([&] { return channel.idle(); }, deadline));
  });
  CollectSink sink(1);
  (*groups[0]->channel(1, deadline))->post_recv(tag(1, 0), 1, &sink);
  WaitTimes times{};
  groups[0]->time_waits(&times);
  const int64_t start = monotonic_ns();
  EXPECT_TRUE(groups[0]->wait([&] { return sink.done(); }, deadline));
  const int64_t took = monotonic_ns() - start;
  groups[0]->time_waits(nullptr);
  sender.join();
  const WaitStats& stats = groups[0]->wait_stats();
  EXPECT_EQ(stats.stalls[static_cast<size_t>(Stall::kPeerLate)], 1u);
  EXPECT_EQ(stats.stalls[static_cast<size_t>(Stall::kReceiving)], 0u);
  EXPECT_GT(stats.polls + stats.yields, 0u);
  EXPECT_GT(times[static_cast<size_t>(Stall::kPeerLate)], kLateNs / 2);
  EXPECT_LE(times[static_cast<size_t>(Stall::kPeerLate)], took);
  EXPECT_EQ(times[static_cast<size_t>(Stall::kSendFull)], 0);
}

}  // namespace
}  // namespace plumbline
