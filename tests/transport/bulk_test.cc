// Channels whose large messages go over a stream of their own: every message whole, whatever each
// of the two streams takes and gives at a time, and operations that differ found although they come
// where nobody waits.
#include <gmock/gmock.h>

#include "channel_pair.h"
#include "transport/tcp/bulk_stream.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::CollectSink;
using test::CountObserver;
using test::random_bytes;
using test::tag;
using testing::HasSubstr;

constexpr size_t kBulk = 1000;  // from so many bytes on

ChannelOptions options_with_chunk(size_t chunk) {
  ChannelOptions options;
  options.chunk_bytes = chunk;
  options.bulk_bytes = kBulk;
  return options;
}

// Two channels, each over two pairs of rings.
struct BulkPair : test::ChannelPair {
  BulkPair(const ChannelOptions& options, size_t main_ring, size_t bulk_ring) {
    auto [main_a, main_b] = make_memory_streams(0, 1, main_ring);
    auto [bulk_a, bulk_b] = make_memory_streams(0, 1, bulk_ring);
    bulk = bulk_a.get();
    a = std::make_unique<Channel>(
        0, 1, make_bulk_stream(plain(std::move(main_a)), std::move(bulk_a)), options);
    b = std::make_unique<Channel>(
        1, 0, make_bulk_stream(plain(std::move(main_b)), std::move(bulk_b)), options);
  }
  static std::unique_ptr<ByteStream> plain(std::unique_ptr<ByteStream> ring) {
    return std::make_unique<test::PlainStream>(std::move(ring));
  }
  ByteStream* bulk = nullptr;  // of a
};

// One message of b's, and what a got of it.
struct Sent {
  Sent(size_t bytes, uint64_t seed) : out(random_bytes(bytes, seed)), sink(bytes) {}
  Bytes out;
  CollectSink sink;
};

TEST(Bulk, MessagesOfEverySizeAreWholeBothWays) {
  for (const bool crc : {false, true}) {
    for (const size_t ring : {size_t{7}, size_t{300}, size_t{1} << 20}) {
      SCOPED_TRACE(std::to_string(ring) + (crc ? " crc" : ""));
      ChannelOptions options = options_with_chunk(4096);
      options.crc = crc;
      BulkPair pair(options, std::max<size_t>(ring, 64), ring);
      CountObserver observer;
      std::vector<std::unique_ptr<Sent>> messages;
      uint32_t step = 0;
      for (const size_t bytes : {0, 1, 999, 1000, 1001, 4096, 4097, 5000, 5096, 20'000, 3, 2048}) {
        for (const auto& [from, to] :
             {std::pair(pair.a.get(), pair.b.get()), std::pair(pair.b.get(), pair.a.get())}) {
          messages.push_back(std::make_unique<Sent>(bytes, step));
          Sent& sent = *messages.back();
          to->post_recv(tag(1, step), bytes, &sent.sink);
          from->post_send(tag(1, step), sent.out.data(), bytes, bytes, &observer, step);
          ++step;
        }
      }
      const Status status = pair.run([&] {
        return std::all_of(messages.begin(), messages.end(),
                           [](const auto& m) { return m->sink.done(); });
      });
      ASSERT_TRUE(status) << status.error().message();
      for (const auto& message : messages) {
        ASSERT_TRUE(message->sink.done());
        EXPECT_EQ(message->sink.bytes(), message->out);
      }
      EXPECT_EQ(observer.cookies.size(), messages.size());
      EXPECT_TRUE(pair.a->idle() && pair.b->idle());
      EXPECT_EQ(pair.a->stats().wire_sent, pair.b->stats().wire_received);
    }
  }
}

TEST(Bulk, OnlyLargeMessagesTakeTheSecondStream) {
  BulkPair pair(options_with_chunk(4096), 1 << 20, 1 << 20);
  Sent small(999, 1), large(1000, 2);
  pair.a->post_send(tag(1, 0), small.out.data(), 999, 999, nullptr, 0);
  pair.a->post_send(tag(1, 1), large.out.data(), 1000, 1000, nullptr, 0);
  while (*pair.a->progress()) {
  }
  Bytes there(5000);
  const iovec room{there.data(), there.size()};
  ASSERT_EQ(*pair.b->stream(1000).read_some({&room, 1}), kFrameHeaderBytes + 1000);
  EXPECT_EQ(Bytes(there.begin() + kFrameHeaderBytes, there.begin() + kFrameHeaderBytes + 1000),
            large.out);
  EXPECT_EQ(*pair.b->stream(999).read_some({&room, 1}), kFrameHeaderBytes + 999);
}

// One that is extended later finds its lane again, with small ones of the same number beside it.
TEST(Bulk, AMessageGrowsWhereItWasPosted) {
  BulkPair pair(options_with_chunk(500), 1 << 20, 1 << 20);
  Sent small(900, 1), large(4000, 2);
  pair.b->post_recv(tag(1, 0), 900, &small.sink);
  pair.b->post_recv(tag(1, 1), 4000, &large.sink);
  const Channel::SendId one = pair.a->post_send(tag(1, 0), small.out.data(), 900, 0, nullptr, 0);
  const Channel::SendId two = pair.a->post_send(tag(1, 1), large.out.data(), 4000, 0, nullptr, 0);
  EXPECT_NE(one, two);
  for (size_t ready = 100; ready <= 4000; ready += 100) {
    pair.a->extend_send(one, std::min<size_t>(ready, 900));
    pair.a->extend_send(two, ready);
    ASSERT_TRUE(pair.run([] { return false; }));
  }
  EXPECT_TRUE(small.sink.done() && large.sink.done());
  EXPECT_EQ(small.sink.bytes(), small.out);
  EXPECT_EQ(large.sink.bytes(), large.out);
}

// It comes before it is asked for and stands in nobody's way: nothing is copied to let others pass.
TEST(Bulk, SmallMessagesDoNotWaitBehindALargeOne) {
  ChannelOptions options = options_with_chunk(4096);
  options.park_bytes = 0;
  BulkPair pair(options, 1 << 20, 1 << 20);
  Sent early(10'000, 1), late(20, 2);
  pair.a->post_send(tag(1, 0), early.out.data(), 10'000, 10'000, nullptr, 0);
  pair.a->post_send(tag(1, 1), late.out.data(), 20, 20, nullptr, 0);
  pair.b->post_recv(tag(1, 1), 20, &late.sink);
  ASSERT_TRUE(pair.run([&] { return late.sink.done(); }));
  EXPECT_TRUE(late.sink.done());
  EXPECT_EQ(pair.b->stats().parked_bytes_peak, 0u);
  pair.b->post_recv(tag(1, 0), 10'000, &early.sink);
  ASSERT_TRUE(pair.run([&] { return early.sink.done(); }));
  EXPECT_EQ(early.sink.bytes(), early.out);
  EXPECT_EQ(late.sink.bytes(), late.out);
}

// What was looked at while a rank waited for something else is read on when it is asked for.
TEST(Bulk, AMessageThatWasLookedAtIsWhole) {
  BulkPair pair(options_with_chunk(4096), 1 << 20, 1 << 20);
  Sent large(10'000, 1), small(20, 2);
  pair.a->post_send(tag(1, 0), large.out.data(), 10'000, 10'000, nullptr, 0);
  pair.b->post_recv(tag(1, 1), 20, &small.sink);
  for (int turn = 0; turn < 100; ++turn) ASSERT_TRUE(pair.b->progress());
  EXPECT_THAT(pair.b->obstacle(), HasSubstr("op 1 step 0"));  // it was seen
  pair.a->post_send(tag(1, 1), small.out.data(), 20, 20, nullptr, 0);
  pair.b->post_recv(tag(1, 0), 10'000, &large.sink);
  ASSERT_TRUE(pair.run([&] { return small.sink.done() && large.sink.done(); }));
  EXPECT_EQ(large.sink.bytes(), large.out);
  EXPECT_EQ(small.sink.bytes(), small.out);
}

// The look reads behind what was read before, which may have filled the stage to its end.
TEST(Bulk, ALookFindsRoomBehindAMessageThatFilledTheStage) {
  ChannelOptions options;
  BulkPair pair(options, 1 << 20, 1 << 20);
  Sent full(16 * 1024, 1), next(30, 2), large(options.bulk_bytes, 3);
  pair.b->post_recv(tag(1, 0), full.out.size(), &full.sink);
  pair.a->post_send(tag(1, 0), full.out.data(), full.out.size(), full.out.size(), nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return full.sink.done(); }));
  pair.b->post_recv(tag(2, 0), large.out.size(), &large.sink);
  pair.a->post_send(tag(3, 0), next.out.data(), 30, 30, nullptr, 0);
  for (int turn = 0; turn < 100; ++turn) ASSERT_TRUE(pair.b->progress());
  EXPECT_THAT(pair.b->obstacle(), HasSubstr("op 3 step 0"));
  pair.b->post_recv(tag(3, 0), 30, &next.sink);
  pair.a->post_send(tag(2, 0), large.out.data(), large.out.size(), large.out.size(), nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return next.sink.done() && large.sink.done(); }));
  EXPECT_EQ(full.sink.bytes(), full.out);
  EXPECT_EQ(next.sink.bytes(), next.out);
  EXPECT_EQ(large.sink.bytes(), large.out);
}

// What `waits` bytes, of operation `ours`, is told while the peer sends `sent` bytes of `theirs`:
// before or after the bytes have come.
std::string told(size_t waits, size_t sent, uint32_t ours, uint32_t theirs, bool posted_first,
                 bool looked = true) {
  BulkPair pair(options_with_chunk(4096), 1 << 20, 1 << 20);
  Sent out(sent, 1), other(30, 3);
  CollectSink sink(waits);
  MessageTag mine = tag(1, 0), its = tag(1, 0);
  mine.op_hash = ours;
  its.op_hash = theirs;
  if (posted_first) pair.b->post_recv(mine, waits, &sink);
  pair.a->post_send(its, out.out.data(), sent, sent, nullptr, 0);
  EXPECT_TRUE(pair.a->progress());
  if (!posted_first) {
    // Waits elsewhere on this channel meanwhile: the bytes are looked at, or parked.
    if (looked) pair.b->post_recv(tag(2, 0), sent < kBulk ? 2000 : 30, &other.sink);
    if (!looked) pair.b->post_recv(tag(2, 0), sent, &other.sink);
    for (int turn = 0; turn < 100; ++turn) EXPECT_TRUE(pair.b->progress());
    pair.b->post_recv(mine, waits, &sink);
  }
  for (int turn = 0; turn < 100; ++turn) {
    const Expected<bool> moved = pair.b->progress();
    if (!moved) {
      EXPECT_EQ(moved.error().code, ErrorCode::kMismatch);
      EXPECT_EQ(pair.b->hash_mismatch().has_value(), ours != theirs);
      return moved.error().message();
    }
  }
  return "nothing";
}

TEST(Bulk, OperationsThatDifferAreFoundWhereNobodyWaits) {
  for (const bool posted_first : {true, false}) {
    for (const bool looked : {true, false}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(posted_first)) + (looked ? " looked" : ""));
      EXPECT_THAT(told(30, 5000, 7, 7, posted_first, looked),
                  HasSubstr("rank 0 sends 5000 bytes but rank 1 expects 30"));
      EXPECT_THAT(told(5000, 30, 7, 7, posted_first, looked),
                  HasSubstr("rank 0 sends 30 bytes but rank 1 expects 5000"));
      EXPECT_THAT(told(30, 5000, 7, 8, posted_first, looked), HasSubstr("another operation"));
      EXPECT_THAT(told(5000, 30, 7, 8, posted_first, looked), HasSubstr("another operation"));
    }
  }
}

// A peer that is through closes; what it wrote before is still to be read.
TEST(Bulk, AnEndWhereNobodyWaitsIsNoLoss) {
  BulkPair pair(options_with_chunk(4096), 1 << 20, 1 << 20);
  Sent last(30, 1);
  pair.b->post_recv(tag(1, 0), 30, &last.sink);
  pair.bulk->close();
  for (int turn = 0; turn < 100; ++turn) ASSERT_TRUE(pair.b->progress());
  pair.a->post_send(tag(1, 0), last.out.data(), 30, 30, nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return last.sink.done(); }));
  EXPECT_EQ(last.sink.bytes(), last.out);
  CollectSink never(2000);
  pair.b->post_recv(tag(1, 1), 2000, &never);
  const Expected<bool> moved = pair.b->progress();
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, ErrorCode::kPeerLost);
}

TEST(Bulk, AnEndInTheMiddleSaysOfWhat) {
  BulkPair pair(options_with_chunk(4096), 1 << 20, 500);
  Sent sent(2000, 1);
  pair.b->post_recv(tag(1, 0), 2000, &sent.sink);
  pair.a->post_send(tag(1, 0), sent.out.data(), 2000, 2000, nullptr, 0);
  pair.bulk->close();
  Expected<bool> moved = true;
  for (int turn = 0; moved && turn < 10; ++turn) moved = pair.b->progress();
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, ErrorCode::kPeerLost);
  EXPECT_THAT(moved.error().message(), HasSubstr("in the middle of op 1 step 0"));
  EXPECT_EQ(moved.error().ranks, std::vector<int>{0});
}

// Of what both lanes wait for, the older one is told; nothing is left after cancel().
TEST(Bulk, WaitsAreToldOldestFirst) {
  BulkPair pair(options_with_chunk(4096), 1 << 20, 1 << 20);
  CollectSink large(2000), small(10);
  pair.b->post_recv(tag(4, 1), 2000, &large);
  EXPECT_EQ(pair.b->waiting_recv()->step, 1u);
  pair.b->post_recv(tag(4, 0), 10, &small);
  EXPECT_EQ(pair.b->waiting_recv()->step, 0u);
  EXPECT_EQ(pair.b->stall(), Stall::kPeerLate);
  pair.b->cancel({ErrorCode::kAborted, "over", 0, {}, {}, {}});
  EXPECT_FALSE(pair.b->waiting_recv());
  EXPECT_TRUE(pair.b->idle());
}

}  // namespace
}  // namespace plumbline
