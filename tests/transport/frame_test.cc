#include "transport/channel/frame.h"

#include <gmock/gmock.h>

#include "channel_pair.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::CollectSink;
using test::random_bytes;
using test::ScriptStream;
using testing::AllOf;
using testing::HasSubstr;

const FrameRules kRules{3, 1000, false};

FrameHeader sample() {
  FrameHeader header;
  header.tag = {0x01020304, 91, 7, 0xdeadbeef};
  header.total = 2500;
  header.offset = 2000;
  header.length = 500;
  header.flags = kFrameLast;
  return header;
}

TEST(Frame, KeepsEveryField) {
  const auto decoded = decode_frame(encode_frame(sample()), kRules);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, sample());
}

TEST(Frame, HasTheDocumentedLayout) {
  const FrameBytes bytes = encode_frame(sample());
  const uint8_t expected[] = {'P', 'L', 1,    0x11, 4,    3,    2,    1, 91, 0, 0, 0, 7,    0,
                              0,   0,   0xef, 0xbe, 0xad, 0xde, 0xc4, 9, 0,  0, 0, 0, 0xd0, 7,
                              0,   0,   0,    0,    0xf4, 1,    0,    0, 0,  0, 0, 0};
  ASSERT_EQ(sizeof expected, bytes.size());
  EXPECT_EQ(std::memcmp(bytes.data(), expected, sizeof expected), 0);
}

TEST(Frame, CarriesTheLargestMessage) {
  FrameHeader header = sample();
  header.total = kMaxMessageBytes;
  header.offset = kMaxMessageBytes - 500;
  const auto decoded = decode_frame(encode_frame(header), kRules);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->total, kMaxMessageBytes);
  EXPECT_EQ(decoded->offset, kMaxMessageBytes - 500);
}

struct BadHeader {
  const char* name;
  const char* text;  // what the error must say
  std::function<void(FrameBytes&, FrameHeader&)> spoil;
};

TEST(Frame, NamesPeerAndFieldOfABadHeader) {
  const auto raw = [](size_t at, int value) {
    return
        [at, value](FrameBytes& bytes, FrameHeader&) { bytes[at] = static_cast<std::byte>(value); };
  };
  const auto field = [](const std::function<void(FrameHeader&)>& change) {
    return [change](FrameBytes& bytes, FrameHeader& header) {
      change(header);
      bytes = encode_frame(header);
    };
  };
  const BadHeader rows[] = {
      {"magic", "magic is 0x4c51", raw(0, 'Q')},
      {"version", "version is 2, expected 1", raw(2, 2)},
      {"kind", "kind is 6", raw(3, 0x61)},
      {"control flags", "flags 0x1 and crc field 0x0 in a frame of kind 2", raw(3, 0x21)},
      {"flags", "unknown flags 0x5", raw(3, 0x15)},
      {"length", "length 1001 is above the limit of 1000", field([](FrameHeader& h) {
         h.length = 1001;
         h.total = 3001;
       })},
      {"offset", "offset 2001 + length 500 is beyond",
       field([](FrameHeader& h) { h.offset = 2001; })},
      {"far offset", "beyond the message's", field([](FrameHeader& h) { h.offset = 1u << 30; })},
      {"last missing", "LAST flag is missing", field([](FrameHeader& h) { h.flags = 0; })},
      {"last set", "LAST flag is set", field([](FrameHeader& h) { h.offset = 1; })},
      {"empty", "length 0 in a message", field([](FrameHeader& h) {
         h.length = 0;
         h.offset = h.total;
       })},
      {"crc", "CRC flag is set", field([](FrameHeader& h) { h.flags = kFrameLast | kFrameCrc; })},
      {"crc field", "crc field is 0x1 without", field([](FrameHeader& h) { h.crc = 1; })},
  };
  for (const BadHeader& row : rows) {
    FrameHeader header = sample();
    FrameBytes bytes = encode_frame(header);
    row.spoil(bytes, header);
    const auto decoded = decode_frame(bytes, kRules);
    ASSERT_FALSE(decoded) << row.name;
    EXPECT_EQ(decoded.error().code, ErrorCode::kProtocol) << row.name;
    EXPECT_THAT(decoded.error().message(), AllOf(HasSubstr("rank 3"), HasSubstr(row.text)))
        << row.name;
  }
}

TEST(Frame, AsksForChecksumsWhenTheyAreOn) {
  const auto decoded = decode_frame(encode_frame(sample()), {3, 1000, true});
  ASSERT_FALSE(decoded);
  EXPECT_THAT(decoded.error().what, HasSubstr("CRC flag is missing"));
}

TEST(Frame, RandomHeadersNeverPassUnlessTheyAreConsistent) {
  std::mt19937_64 random(20261120);
  int accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    FrameBytes bytes = encode_frame(sample());
    const int changes = static_cast<int>(random() % 4);
    for (int c = 0; c <= changes; ++c)
      bytes[random() % 40] = static_cast<std::byte>(random() & 255);
    const auto decoded = decode_frame(bytes, kRules);
    if (!decoded) {
      ASSERT_EQ(decoded.error().code, ErrorCode::kProtocol);
      continue;
    }
    ++accepted;
    ASSERT_LE(decoded->length, 1000u);
    ASSERT_LE(decoded->offset + decoded->length, decoded->total);
    ASSERT_EQ(encode_frame(*decoded), bytes);
  }
  EXPECT_GT(accepted, 0);  // group, sequence, step and hash are free
}

TEST(Frame, Crc32cMatchesItsPublishedVectors) {
  EXPECT_EQ(crc32c_table(0, "123456789", 9), 0xe3069283u);
  const Bytes zeros(32, std::byte{0});
  EXPECT_EQ(crc32c_table(0, zeros.data(), zeros.size()), 0x8a9136aau);  // RFC 3720 B.4
  const Bytes ones(32, std::byte{0xff});
  EXPECT_EQ(crc32c_table(0, ones.data(), ones.size()), 0x62a8ab43u);
  EXPECT_EQ(crc32c_table(0, nullptr, 0), 0u);
}

TEST(Frame, Crc32cContinuesAtEverySplit) {
  const Bytes bytes = random_bytes(67, 1);
  const uint32_t whole = crc32c_table(0, bytes.data(), bytes.size());
  for (size_t split = 0; split <= bytes.size(); ++split) {
    const uint32_t first = crc32c_table(0, bytes.data(), split);
    EXPECT_EQ(crc32c_table(first, bytes.data() + split, bytes.size() - split), whole) << split;
  }
}

// Random bytes on a stream: an error or patience, never anything else, and no memory by their say.
TEST(Frame, RandomStreamsNeverDeliverOrCrash) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    ChannelOptions options;
    options.chunk_bytes = 64;
    options.park_bytes = 1024;
    Bytes input = random_bytes(random() % 200, seed + 1);
    // Half of the streams begin like a frame, so that the fields behind the magic are reached too.
    if (seed % 2 == 0) {
      FrameHeader header;
      header.tag = {static_cast<uint32_t>(random() % 2), static_cast<uint32_t>(random() % 3),
                    static_cast<uint32_t>(random() % 3), 5};
      header.total = random() % 128;
      header.length = static_cast<uint32_t>(random() % 70);
      header.flags = static_cast<uint8_t>(random() % 2);
      const FrameBytes bytes = encode_frame(header);
      input.insert(input.begin(), bytes.begin(), bytes.end());
    }
    auto owned = std::make_unique<ScriptStream>(input);
    Channel channel(0, 1, std::move(owned), options);
    CollectSink sink(32);
    channel.post_recv({1, 1, 1, 5}, 32, &sink);
    for (int round = 0; round < 5; ++round) {
      const auto moved = channel.progress();
      if (moved) continue;
      EXPECT_THAT(moved.error().code, testing::AnyOf(ErrorCode::kProtocol, ErrorCode::kMismatch));
      EXPECT_THAT(moved.error().message(), HasSubstr("rank 1"));
      break;
    }
    EXPECT_LE(channel.stats().parked_bytes_peak, 1024u);
  }
}

}  // namespace
}  // namespace plumbline
