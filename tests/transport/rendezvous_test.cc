// Messages that go from memory to memory: over streams that can, with each ability, in every order
// of posting, growing, and beside messages that are sent; and a peer that lies about them.
#include <gmock/gmock.h>

#include "tests/support/direct_stream.h"
#include "tests/transport/channel_pair.h"
#include "transport/peer_memory.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::CollectSink;
using test::CountObserver;
using test::random_bytes;
using test::tag;
using testing::ElementsAre;
using testing::HasSubstr;

ChannelOptions direct(size_t from_bytes = 1) {
  ChannelOptions options;
  options.direct_bytes = from_bytes;
  return options;
}

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

// Uses bytes where they lie.
class UseSink : public CollectSink {
 public:
  explicit UseSink(size_t bytes) : CollectSink(bytes) {}
  size_t usable(std::span<const std::byte> bytes) override { return bytes.size(); }
  void use(std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), window().begin());
    advance(bytes.size());
    used += bytes.size();
  }
  size_t used = 0;
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

class AllCopyObserver : public CountObserver {
 public:
  bool all_copy() const override { return true; }
};

TEST(Rendezvous, TheStreamHearsFromTheObserverWhetherAllCopy) {
  DirectPair pair(direct(100));
  const Bytes data = random_bytes(100, 1);
  CountObserver some;
  AllCopyObserver all;
  pair.a->post_send(tag(1, 0), data.data(), 100, 100, nullptr, 0);
  pair.a->post_send(tag(1, 1), data.data(), 100, 0, &all, 0);
  pair.a->post_send(tag(1, 2), data.data(), 100, 100, &some, 0);
  pair.a->post_send(tag(1, 3), data.data(), 99, 99, &all, 0);
  EXPECT_THAT(pair.of_a->exposed_to_copy, ElementsAre(false, true, false));
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

// A peer that speaks our frames and lies.
class RendezvousAttacked : public testing::Test {
 protected:
  RendezvousAttacked() { connect(); }
  void connect(DirectBy by = DirectBy::kMap) {
    auto [left, right] = make_memory_streams(0, 1, 1 << 16);
    peer_ = std::make_unique<DirectStream>(std::move(left), by);
    channel_ = std::make_unique<Channel>(1, 0, std::make_unique<DirectStream>(std::move(right), by),
                                         direct());
  }
  void frame(FrameKind kind, uint64_t total, uint64_t offset, const Bytes& payload = {},
             uint32_t step = 0) {
    FrameHeader header;
    header.kind = kind;
    header.tag = tag(1, step);
    header.total = total;
    header.offset = offset;
    header.length = static_cast<uint32_t>(payload.size());
    const FrameBytes head = encode_frame(header);
    Bytes bytes(head.begin(), head.end());
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    const iovec part{bytes.data(), bytes.size()};
    ASSERT_EQ(*peer_->write_some({&part, 1}), bytes.size());
  }
  static Bytes packed(const MemoryKey& key) {
    const PackedKey bytes = pack_key(key);
    return {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(packed_size(key))};
  }
  Bytes key() const { return packed(*peer_->peer_memory()->expose(data_, false)); }
  // Of a window of the peer's.
  Bytes window_key(size_t bytes) {
    return packed(*peer_->peer_memory()->grant(std::span(window_).first(bytes)));
  }
  Error error() {
    for (int i = 0; i < 5; ++i) {
      const Expected<bool> moved = channel_->progress();
      if (!moved) return moved.error();
    }
    return {};
  }

  const Bytes data_ = random_bytes(1000, 8);
  Bytes window_ = Bytes(1000);
  std::unique_ptr<ByteStream> peer_;
  std::unique_ptr<Channel> channel_;
  UseSink sink_{1000};
};

TEST_F(RendezvousAttacked, ItWorksWhenNobodyLies) {
  channel_->post_recv(tag(1, 0), 1000, &sink_);
  frame(FrameKind::kOffer, 1000, 400, key());
  EXPECT_EQ(error().what, "");
  EXPECT_EQ(sink_.got(), 400u);
  frame(FrameKind::kGrow, 1000, 1000);
  EXPECT_EQ(error().what, "");
  EXPECT_EQ(sink_.bytes(), data_);
}

TEST_F(RendezvousAttacked, AKeyThatCannotBeIsAnError) {
  for (size_t size : {size_t{1}, key().size() - 1, MemoryKey::kMostPacked}) {
    connect();
    Bytes wrong = key();
    wrong.resize(size);
    channel_->post_recv(tag(1, static_cast<uint32_t>(size)), 1000, &sink_);
    frame(FrameKind::kOffer, 1000, 1000, wrong, static_cast<uint32_t>(size));
    EXPECT_EQ(error().code, ErrorCode::kProtocol) << size;
  }
  EXPECT_EQ(sink_.got(), 0u);
}

TEST_F(RendezvousAttacked, AWayThatThesePeersDoNotHaveIsAnError) {
  // A read over a stream that maps, no way, another kind of memory, and no kind.
  for (const int ways : {0x12, 0x10, 0x13, 0x1f, 0x21, 0x01, 0xf1}) {
    connect();
    Bytes other = key();
    other[0] = static_cast<std::byte>(ways);
    UseSink sink(1000);
    channel_->post_recv(tag(1, 0), 1000, &sink);
    frame(FrameKind::kOffer, 1000, 1000, other);
    const Error told = error();
    EXPECT_EQ(told.code, ErrorCode::kProtocol) << ways;
    EXPECT_THAT(told.message(), HasSubstr("in a way that these two do not have")) << ways;
    EXPECT_EQ(sink.got(), 0u);
  }
}

TEST(MemoryKey, ComesOutOfItsPackedFormAsItWas) {
  for (const size_t size : {size_t{1}, size_t{24}, MemoryKey::kMostBytes}) {
    MemoryKey key;
    key.reach = MemoryReach::kRead;
    key.size = size;
    std::fill_n(key.bytes.begin(), size, std::byte{7});
    const PackedKey packed = pack_key(key);
    const auto back = unpack_key(std::span(packed).first(packed_size(key)));
    ASSERT_TRUE(back) << size;
    EXPECT_EQ(back->reach, key.reach);
    EXPECT_EQ(back->kind, MemoryKind::kHost);
    EXPECT_EQ(back->bytes, key.bytes);
    EXPECT_EQ(back->size, size);
  }
  EXPECT_FALSE(unpack_key({}));
  constexpr std::byte kNames[] = {std::byte{0x13}, std::byte{0x12}, std::byte{0x11}};
  EXPECT_TRUE(unpack_key(std::span(kNames).first(1))) << "that the sender writes needs no name";
  EXPECT_FALSE(unpack_key(std::span(kNames).subspan(1, 1)));
  EXPECT_FALSE(unpack_key(std::span(kNames).subspan(2, 1)));
}

TEST_F(RendezvousAttacked, AnOfferThatEndsInTheMiddleMovesNothing) {
  channel_->post_recv(tag(1, 0), 1000, &sink_);
  FrameHeader header;
  header.kind = FrameKind::kOffer;
  header.tag = tag(1, 0);
  header.total = header.offset = 1000;
  header.length = static_cast<uint32_t>(key().size());
  const FrameBytes head = encode_frame(header);
  Bytes bytes(head.begin(), head.end());
  const Bytes whole_key = key();
  bytes.insert(bytes.end(), whole_key.begin(), whole_key.end());
  for (std::byte byte : bytes) {
    EXPECT_EQ(sink_.got(), 0u);
    const iovec part{&byte, 1};
    ASSERT_EQ(*peer_->write_some({&part, 1}), 1u);
    EXPECT_EQ(error().what, "");
  }
  EXPECT_EQ(sink_.bytes(), data_);
}

struct Lie {
  const char* name;
  std::vector<std::tuple<FrameKind, uint64_t, uint64_t>> frames;  // total, offset
  const char* answer;
  bool asked_for = true;
};

TEST_F(RendezvousAttacked, EveryLieIsNamed) {
  using enum FrameKind;
  const Lie lies[] = {
      {"twice", {{kOffer, 1000, 10}, {kOffer, 1000, 10}}, "offered twice"},
      {"grows unoffered", {{kGrow, 1000, 10}}, "was not offered"},
      {"shrinks", {{kOffer, 1000, 10}, {kGrow, 1000, 9}}, "does not grow"},
      {"another size", {{kOffer, 1000, 10}, {kGrow, 1001, 20}}, "does not grow"},
      {"taken unoffered", {{kTaken, 1000, 1000}}, "was not offered"},
      {"beyond its end", {{kOffer, 1000, 1001}}, "offset 1001 of 1000 bytes"},
      {"nothing of it", {{kOffer, 1000, 0}}, "with a number of bytes that cannot be"},
      {"of nothing", {{kOffer, 0, 0}}, "offset 0 of 0 bytes"},
      {"grows by nothing", {{kOffer, 1000, 10}, {kGrow, 1000, 0}}, "offset 0 of 1000 bytes"},
      {"taken in part", {{kTaken, 1000, 999}}, "offset 999 of 1000 bytes"},
  };
  for (const Lie& lie : lies) {
    connect();
    UseSink sink(1000);
    channel_->post_recv(tag(1, 0), 1000, &sink);
    for (const auto& [kind, total, offset] : lie.frames) {
      frame(kind, total, offset, kind == kOffer ? key() : Bytes());
    }
    const Error told = error();
    EXPECT_EQ(told.code, ErrorCode::kProtocol) << lie.name;
    EXPECT_THAT(told.message(), HasSubstr(lie.answer)) << lie.name;
  }
}

TEST_F(RendezvousAttacked, EveryLieOfAWriterIsNamed) {
  using enum FrameKind;
  const Lie lies[] = {
      {"ready before it is written", {{kOffer, 1000, 10}}, "with a number of bytes that cannot be"},
      {"beyond its windows", {{kOffer, 300'000, 0}, {kGrow, 300'000, 262'145}}, "no window was"},
      {"before it has one", {{kOffer, 1001, 0}, {kGrow, 1001, 1}}, "no window was", false},
      {"twice", {{kOffer, 1000, 0}, {kOffer, 1000, 0}}, "offered twice"},
      {"grants us what we take", {{kOffer, 1000, 0}, {kGrant, 1000, 1000}}, "was not offered"},
  };
  for (const Lie& lie : lies) {
    connect(DirectBy::kWrite);
    UseSink sink(std::get<1>(lie.frames.front()));
    // Of another step where it is not: so that the stream is read.
    channel_->post_recv(tag(1, lie.asked_for ? 0 : 1), sink.bytes().size(), &sink);
    for (const auto& [kind, total, offset] : lie.frames) {
      frame(kind, total, offset,
            kind == kOffer   ? key()
            : kind == kGrant ? window_key(1000)
                             : Bytes());
    }
    const Error told = error();
    EXPECT_EQ(told.code, ErrorCode::kProtocol) << lie.name;
    EXPECT_THAT(told.message(), HasSubstr(lie.answer)) << lie.name;
    EXPECT_EQ(sink.got(), 0u) << lie.name;
  }
}

// The other way round: a peer that says where this rank may write.
TEST_F(RendezvousAttacked, EveryLieAboutWindowsIsNamed) {
  using enum FrameKind;
  const Lie lies[] = {
      {"a right one, and one more",
       {{kGrant, 1000, 1000}, {kGrant, 1000, 1000}},
       "needs no such window"},
      {"one that does not grow", {{kGrant, 1000, 500}, {kGrant, 1000, 500}}, "needs no such"},
      {"of another message's size", {{kGrant, 1001, 1001}}, "needs no such window"},
      {"beyond its end", {{kGrant, 1000, 1001}}, "offset 1001 of 1000 bytes"},
      {"of nothing", {{kGrant, 1000, 0}}, "offset 0 of 1000 bytes"},
      {"taken before it is written", {{kTaken, 1000, 1000}}, "was not offered"},
  };
  for (const Lie& lie : lies) {
    connect(DirectBy::kWrite);
    channel_->post_send(tag(1, 0), data_.data(), 1000, 0, nullptr, 0);
    channel_->post_send(tag(1, 1), data_.data(), 1000, 1000, nullptr, 0);
    for (const auto& [kind, total, offset] : lie.frames) {
      const size_t room = std::min<size_t>(offset, 1000);
      frame(kind, total, offset, kind == kGrant ? window_key(std::max<size_t>(room, 1)) : Bytes(),
            1);
    }
    const Error told = error();
    EXPECT_EQ(told.code, ErrorCode::kProtocol) << lie.name;
    EXPECT_THAT(told.message(), HasSubstr(lie.answer)) << lie.name;
  }
}

// Each of them would be right; a rank grants two before any is full.
TEST_F(RendezvousAttacked, WindowsWithoutEndAreRefused) {
  for (const uint64_t windows : {16, 17}) {
    connect(DirectBy::kWrite);
    channel_->post_send(tag(1, 0), data_.data(), 1000, 1000, nullptr, 0);
    for (uint64_t end = 1; end <= windows; ++end) {
      frame(FrameKind::kGrant, 1000, end, window_key(1));
    }
    const std::string told = error().what;
    if (windows == 16) {
      EXPECT_EQ(told, "");
    } else {
      EXPECT_THAT(told, HasSubstr("needs no such window"));
    }
  }
}

// A key of another reach, one that names no window, and a window where none was ever asked for.
TEST_F(RendezvousAttacked, AWindowThatCannotBeIsAnError) {
  for (const int ways : {0x11, 0x12, 0x14, 0x23, 0x10}) {
    connect(DirectBy::kWrite);
    channel_->post_send(tag(1, 0), data_.data(), 1000, 1000, nullptr, 0);
    Bytes other = window_key(1000);
    other[0] = static_cast<std::byte>(ways);
    frame(FrameKind::kGrant, 1000, 1000, other);
    EXPECT_THAT(error().message(), HasSubstr("in a way that these two do not have")) << ways;
  }
  connect(DirectBy::kWrite);
  channel_->post_send(tag(1, 0), data_.data(), 1000, 1000, nullptr, 0);
  Bytes empty = window_key(1000);
  empty.resize(1);
  frame(FrameKind::kGrant, 1000, 1000, empty);
  EXPECT_THAT(error().message(), HasSubstr("a key that cannot be"));
  connect(DirectBy::kMap);
  channel_->post_send(tag(1, 0), data_.data(), 1000, 1000, nullptr, 0);
  frame(FrameKind::kGrant, 1000, 1000, window_key(1000));
  EXPECT_THAT(error().message(), HasSubstr("in a way that these two do not have"));
}

TEST_F(RendezvousAttacked, WhatIsOfferedIsNotSentAsWell) {
  channel_->post_recv(tag(1, 0), 1000, &sink_);
  frame(FrameKind::kOffer, 1000, 10, key());
  const Bytes sent = test::frame_of(tag(1, 0), Bytes(1000), 1000, 0);
  const iovec part{const_cast<std::byte*>(sent.data()), sent.size()};
  ASSERT_TRUE(peer_->write_some({&part, 1}));
  EXPECT_THAT(error().message(), HasSubstr("is offered, and sent as well"));
}

// Over a stream without memory of the peer's.
TEST(Rendezvous, AnOfferWhereNothingIsSharedIsAnError) {
  FrameHeader header;
  header.kind = FrameKind::kOffer;
  header.tag = tag(1, 0);
  header.total = header.offset = 10;
  header.length = 4;
  const FrameBytes head = encode_frame(header);
  Bytes bytes(head.begin(), head.end());
  bytes.resize(bytes.size() + 4);
  Channel channel(0, 1, std::make_unique<test::ScriptStream>(bytes), direct());
  UseSink sink(10);
  channel.post_recv(tag(1, 0), 10, &sink);
  const Expected<bool> moved = channel.progress();
  ASSERT_FALSE(moved);
  EXPECT_THAT(moved.error().message(), HasSubstr("no memory is shared"));
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
