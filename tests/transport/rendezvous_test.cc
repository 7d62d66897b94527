// Messages that go from memory to memory: over streams that can, with each ability, in every order
// of posting, growing, and beside messages that are sent. A peer that lies about them:
// rendezvous_attacks_test.cc.
#include <gmock/gmock.h>

#include "tests/support/direct_stream.h"
#include "tests/transport/channel_pair.h"
#include "tests/transport/rendezvous_support.h"
#include "transport/peer_memory.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::CollectSink;
using test::CountObserver;
using test::direct;
using test::random_bytes;
using test::tag;
using test::UseObserver;
using test::UseSink;
using testing::ElementsAre;

// Over streams whose ends reach each other's memory.
struct DirectPair : test::ChannelPair {
  explicit DirectPair(const ChannelOptions& options, DirectBy by = DirectBy::kMap) {
    auto [left, right] = make_memory_streams(0, 1, 1 << 20);
    auto writer = std::make_unique<DirectStream>(std::move(left), by);
    of_a = writer.get();
    a = std::make_unique<Channel>(0, 1, std::move(writer), options);
    auto reader = std::make_unique<DirectStream>(std::move(right), by);
    of_b = reader.get();
    b = std::make_unique<Channel>(1, 0, std::move(reader), options);
  }
  // Reads that come late move nothing while they are awaited.
  Status run_long(const std::function<bool()>& done) {
    Status status;
    for (int i = 0; i < 1000 && status && !done(); ++i) status = run(done);
    return status;
  }
  DirectStream *of_a, *of_b;
};

// Its window is its own until it is filled.
class KeepSink : public CollectSink {
 public:
  using CollectSink::CollectSink;
  bool keeps_window() const override { return true; }
};

class RendezvousBy : public testing::TestWithParam<DirectBy> {};

INSTANTIATE_TEST_SUITE_P(EachAbility, RendezvousBy,
                         testing::Values(DirectBy::kMap, DirectBy::kRead, DirectBy::kLateRead,
                                         DirectBy::kMapAndLateRead, DirectBy::kWrite,
                                         DirectBy::kLateWrite));

TEST_P(RendezvousBy, MessagesOfEverySizeAreTakenWhereTheyLie) {
  for (const size_t bytes : {size_t{1}, size_t{100}, size_t{65'536}, size_t{3'000'001}}) {
    DirectPair pair(direct(), GetParam());
    const Bytes data = random_bytes(bytes, bytes);
    UseSink sink(bytes);
    CountObserver observer;
    pair.b->post_recv(tag(1, 0), bytes, &sink);
    pair.a->post_send(tag(1, 0), data.data(), bytes, bytes, &observer, 7);
    EXPECT_THAT(observer.cookies, ElementsAre()) << "before anybody has taken it";
    ASSERT_TRUE(pair.run_long([&] { return sink.done() && !observer.cookies.empty(); }));
    EXPECT_EQ(sink.bytes(), data) << bytes;
    EXPECT_EQ(sink.used, bytes);
    EXPECT_THAT(observer.cookies, ElementsAre(7));
    EXPECT_EQ(pair.a->stats().direct_sent, bytes);
    EXPECT_EQ(pair.b->stats().direct_received, bytes);
    EXPECT_EQ(pair.a->stats().payload_sent, bytes);
    EXPECT_TRUE(pair.a->idle() && pair.b->idle());
    EXPECT_FALSE(pair.b->owes());
  }
}

TEST_P(RendezvousBy, ASinkThatCopiesGetsCopies) {
  DirectPair pair(direct(), GetParam());
  const Bytes data = random_bytes(200'000, 1);
  CollectSink sink(data.size(), 999);
  pair.b->post_recv(tag(1, 0), data.size(), &sink);
  pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
  ASSERT_TRUE(pair.run_long([&] { return sink.done(); }));
  EXPECT_EQ(sink.bytes(), data);
}

// Its word that it has taken everything may be the last thing that it says.
TEST(Rendezvous, APeerThatHasTakenAllMayClose) {
  DirectPair pair(direct());
  const Bytes data = random_bytes(200'000, 8);
  UseSink sink(data.size());
  CountObserver observer;
  pair.b->post_recv(tag(1, 0), data.size(), &sink);
  pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), &observer, 7);
  while (!sink.done() || pair.b->owes()) ASSERT_TRUE(pair.b->progress());
  pair.b.reset();
  const Expected<bool> moved = pair.a->progress();
  EXPECT_TRUE(moved) << (moved ? "" : moved.error().message());
  EXPECT_THAT(observer.cookies, ElementsAre(7));
}

TEST(Rendezvous, TheStreamHearsFromTheObserverHowItsMessagesAreUsed) {
  DirectPair pair(direct(100));
  const Bytes data = random_bytes(100, 1);
  CountObserver some;
  UseObserver all(MessageUse::kAllCopy), rewritten(MessageUse::kRewritten);
  pair.a->post_send(tag(1, 0), data.data(), 100, 100, nullptr, 0);
  pair.a->post_send(tag(1, 1), data.data(), 100, 0, &all, 0);
  pair.a->post_send(tag(1, 2), data.data(), 100, 100, &some, 0);
  pair.a->post_send(tag(1, 3), data.data(), 99, 99, &all, 0);
  pair.a->post_send(tag(1, 4), data.data(), 100, 100, &rewritten, 0);
  EXPECT_THAT(pair.of_a->exposed, ElementsAre(MessageUse::kUnknown, MessageUse::kAllCopy,
                                              MessageUse::kUnknown, MessageUse::kRewritten));
}

// What lies in no ring and no mapping goes straight to a window that stays, and counts as taken,
// neither in place nor copied once more.
TEST(Rendezvous, AWindowThatStaysIsReadOrWrittenInto) {
  for (const DirectBy by :
       {DirectBy::kRead, DirectBy::kLateRead, DirectBy::kWrite, DirectBy::kLateWrite}) {
    DirectPair pair(direct(), by);
    const Bytes data = random_bytes(700'001, 9);
    KeepSink whole(data.size()), cut(data.size(), 999);
    pair.b->post_recv(tag(1, 0), data.size(), &whole);
    pair.b->post_recv(tag(1, 1), data.size(), &cut);
    pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
    pair.a->post_send(tag(1, 1), data.data(), data.size(), data.size(), nullptr, 0);
    ASSERT_TRUE(pair.run_long([&] { return whole.done() && cut.done(); }));
    EXPECT_EQ(whole.bytes(), data);
    EXPECT_EQ(cut.bytes(), data);
    const ChannelStats& stats = pair.b->stats();
    EXPECT_EQ(stats.direct_received, 2 * data.size());
    EXPECT_EQ(stats.in_place_bytes + stats.copied_bytes, 0u);
  }
}

TEST(Rendezvous, MessagesThatNeedTheStageTakeTurns) {
  DirectPair pair(direct(), DirectBy::kLateRead);
  const Bytes one = random_bytes(300'000, 10), two = random_bytes(200'000, 11);
  UseSink first(one.size()), second(two.size());
  KeepSink third(two.size());
  pair.b->post_recv(tag(1, 0), one.size(), &first);
  pair.b->post_recv(tag(1, 1), two.size(), &second);
  pair.b->post_recv(tag(1, 2), two.size(), &third);
  pair.a->post_send(tag(1, 0), one.data(), one.size(), one.size(), nullptr, 0);
  pair.a->post_send(tag(1, 1), two.data(), two.size(), two.size(), nullptr, 0);
  pair.a->post_send(tag(1, 2), two.data(), two.size(), two.size(), nullptr, 0);
  size_t most = 0;
  ASSERT_TRUE(pair.run_long([&] {
    most = std::max(most, pair.of_b->under_way.size());
    return first.done() && second.done() && third.done();
  }));
  EXPECT_EQ(first.bytes(), one);
  EXPECT_EQ(second.bytes(), two);
  EXPECT_EQ(third.bytes(), two);
  EXPECT_EQ(most, 2u) << "one into the stage, one into its window";
  EXPECT_EQ(pair.b->stats().in_place_bytes, 0u);
}

// Then whoever owns the window may give its memory back.
TEST(Rendezvous, WhatIsCancelledIsReadNoMore) {
  DirectPair pair(direct(), DirectBy::kLateRead);
  const Bytes data = random_bytes(100'000, 12);
  KeepSink sink(data.size());
  pair.b->post_recv(tag(1, 0), data.size(), &sink);
  pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return !pair.of_b->under_way.empty(); }));
  ASSERT_FALSE(pair.of_b->under_way.empty());
  EXPECT_TRUE(pair.b->wants_read()) << "somebody has to look whether it is there";
  pair.b->cancel(Error{ErrorCode::kAborted, "given up", 0, {}, {}});
  EXPECT_TRUE(pair.of_b->under_way.empty());
  EXPECT_EQ(sink.got(), 0u);
}

// Neither may the peer write to a window any more, nor is anything taken from what was to be sent.
TEST(Rendezvous, WhatIsCancelledIsWrittenNoMore) {
  for (const bool by_receiver : {true, false}) {
    DirectPair pair(direct(), DirectBy::kLateWrite);
    const Bytes data = random_bytes(100'000, 12);
    KeepSink sink(data.size());
    pair.b->post_recv(tag(1, 0), data.size(), &sink);
    pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
    ASSERT_TRUE(pair.run([&] { return !pair.of_a->under_way.empty(); }));
    ASSERT_FALSE(pair.of_a->under_way.empty());
    EXPECT_TRUE(pair.a->wants_write()) << "somebody has to look whether it is there";
    (by_receiver ? pair.b : pair.a)->cancel(Error{ErrorCode::kAborted, "given up", 0, {}, {}});
    EXPECT_EQ((by_receiver ? pair.of_b : pair.of_a)->ended, 1u) << by_receiver;
    EXPECT_EQ(sink.got(), 0u);
  }
}

// No more windows than there is room for, and each message has a stage of its own: the bytes of the
// first one may depend on the second, as those of rings do.
TEST(Rendezvous, AMessageThatIsWrittenLaterKeepsNoOtherOneFromItsWindows) {
  DirectPair pair(direct(), DirectBy::kWrite);
  const Bytes one = random_bytes(400'000, 13), two = random_bytes(300'000, 14);
  UseSink first(one.size()), second(two.size());
  pair.b->post_recv(tag(1, 0), one.size(), &first);
  pair.b->post_recv(tag(1, 1), two.size(), &second);
  const auto id = pair.a->post_send(tag(1, 0), one.data(), one.size(), 70'000, nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return first.got() == 70'000; }));
  EXPECT_EQ(pair.of_b->granted, 2u);
  pair.a->post_send(tag(1, 1), two.data(), two.size(), two.size(), nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return second.done(); }));
  EXPECT_EQ(second.bytes(), two);
  pair.a->extend_send(id, one.size());
  ASSERT_TRUE(pair.run([&] { return first.done(); }));
  EXPECT_EQ(first.bytes(), one);
  EXPECT_EQ(pair.of_b->granted, 7u) << "windows of 128 KiB: four and three";
}

// Then nothing more is said about the message.
TEST(Rendezvous, AWriterThatHasSaidThatAllIsThereMayClose) {
  DirectPair pair(direct(), DirectBy::kWrite);
  const Bytes data = random_bytes(200'000, 15);
  CountObserver observer;
  KeepSink sink(data.size());
  pair.b->post_recv(tag(1, 0), data.size(), &sink);
  pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), &observer, 3);
  ASSERT_TRUE(pair.a->progress());
  ASSERT_TRUE(pair.b->progress());
  while (observer.cookies.empty()) ASSERT_TRUE(pair.a->progress());
  EXPECT_TRUE(pair.a->idle());
  EXPECT_EQ(sink.got(), 0u);
  pair.a.reset();
  const Expected<bool> moved = pair.b->progress();
  EXPECT_TRUE(moved) << (moved ? "" : moved.error().message());
  EXPECT_EQ(sink.bytes(), data);
}

TEST(Rendezvous, AnOfferThatComesEarlyWaitsForItsReceive) {
  DirectPair pair(direct());
  const Bytes data = random_bytes(100'000, 2);
  CountObserver observer;
  UseSink other(8), sink(data.size());
  pair.b->post_recv(tag(1, 1), 8, &other);  // so that the stream is read
  pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), &observer, 0);
  ASSERT_TRUE(pair.run([&] { return false; }));
  EXPECT_FALSE(pair.b->idle());
  pair.b->post_recv(tag(1, 0), data.size(), &sink);
  ASSERT_TRUE(pair.run([&] { return sink.done(); }));
  EXPECT_EQ(sink.bytes(), data);
}

TEST_P(RendezvousBy, AGrowingMessageIsTakenAsItGrows) {
  DirectPair pair(direct(), GetParam());
  const Bytes data = random_bytes(300'000, 3);
  UseSink sink(data.size());
  pair.b->post_recv(tag(1, 0), data.size(), &sink);
  const Channel::SendId id = pair.a->post_send(tag(1, 0), data.data(), data.size(), 0, nullptr, 0);
  ASSERT_TRUE(pair.run([&] { return false; }));
  EXPECT_EQ(sink.got(), 0u);
  size_t before = 0;
  for (const size_t ready : {size_t{70'000}, size_t{150'000}, size_t{299'999}, data.size()}) {
    pair.a->extend_send(id, ready);
    ASSERT_TRUE(pair.run_long([&] { return sink.got() == ready; }));
    EXPECT_GT(sink.got(), before) << "at " << ready;
    EXPECT_LE(sink.got(), ready) << "no byte before it is there";
    before = sink.got();
  }
  EXPECT_EQ(sink.bytes(), data);
}

// The one who awaits the word "taken" reads it behind a message that it has not asked for.
TEST_P(RendezvousBy, TheWordIsFoundBehindAMessageThatNobodyExpects) {
  DirectPair pair(direct(1000), GetParam());
  const Bytes data = random_bytes(50'000, 4);
  const Bytes small = random_bytes(100, 5);
  CountObserver observer;
  UseSink sink(data.size());
  CollectSink late(small.size());
  pair.b->post_send(tag(2, 0), small.data(), small.size(), small.size(), nullptr, 0);
  pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), &observer, 9);
  pair.b->post_recv(tag(1, 0), data.size(), &sink);
  ASSERT_TRUE(pair.run_long([&] { return !observer.cookies.empty(); }));
  EXPECT_THAT(observer.cookies, ElementsAre(9));
  pair.a->post_recv(tag(2, 0), small.size(), &late);
  ASSERT_TRUE(pair.run([&] { return late.done(); }));
  EXPECT_EQ(late.bytes(), small);
}

TEST(Rendezvous, SmallerMessagesAndChecksumsGoThroughTheStream) {
  ChannelOptions summed = direct();
  summed.crc = true;
  for (const ChannelOptions& options : {direct(50'001), summed}) {
    DirectPair pair(options);
    const Bytes data = random_bytes(50'000, 6);
    CollectSink sink(data.size());
    pair.b->post_recv(tag(1, 0), data.size(), &sink);
    pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
    ASSERT_TRUE(pair.run([&] { return sink.done(); }));
    EXPECT_EQ(sink.bytes(), data);
    EXPECT_EQ(pair.a->stats().direct_sent, 0u);
  }
}

TEST(Rendezvous, LengthsAndOperationsThatDifferAreToldBeforeAnythingIsTaken) {
  for (const bool posted_first : {true, false}) {
    for (const uint32_t hash : {test::kHash, test::kHash + 1}) {
      DirectPair pair(direct());
      const Bytes data = random_bytes(1000, 7);
      const size_t asked = hash == test::kHash ? 999 : 1000;
      UseSink sink(asked), other(1);
      MessageTag name = tag(1, 0);
      name.op_hash = hash;
      pair.b->post_recv(tag(9, 0), 1, &other);
      if (posted_first) pair.b->post_recv(name, asked, &sink);
      pair.a->post_send(tag(1, 0), data.data(), data.size(), data.size(), nullptr, 0);
      Status status = pair.run([] { return false; });
      if (!posted_first) {
        pair.b->post_recv(name, asked, &sink);
        status = pair.run([] { return false; });
      }
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, ErrorCode::kMismatch) << status.error().message();
      EXPECT_EQ(sink.got(), 0u);
    }
  }
}

TEST(AllocateArray, ArraysOfEverySizeBeginOnAPage) {
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{5000}, size_t{2} << 20, size_t{5'000'000}}) {
    const Array array = *allocate_array(bytes);
    EXPECT_EQ(array.bytes, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data) % kArrayAlignment, 0u);
    std::fill_n(array.data, bytes, std::byte{3});
  }
  EXPECT_EQ(allocate_array(static_cast<size_t>(-1)).error().code, ErrorCode::kSystem);
}

}  // namespace
}  // namespace plumbline
