// A peer that lies about messages that go from memory to memory: keys that cannot be, offers,
// growth, words and windows that do not fit one another.
#include <gmock/gmock.h>

#include "tests/support/direct_stream.h"
#include "tests/transport/channel_pair.h"
#include "tests/transport/rendezvous_support.h"
#include "transport/peer_memory.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::direct;
using test::random_bytes;
using test::tag;
using test::UseSink;
using testing::HasSubstr;

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
  Bytes key() const { return packed(*peer_->peer_memory()->expose(data_, MessageUse::kUnknown)); }
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

}  // namespace
}  // namespace plumbline
