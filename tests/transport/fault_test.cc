#include "transport/channel/fault.h"

#include <gmock/gmock.h>

#include <bit>

#include "channel_pair.h"
#include "core/clock.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::random_bytes;
using test::ScriptStream;
using testing::HasSubstr;

struct Wrapped {
  explicit Wrapped(const std::string& text, int self = 1, int peer = 0, Bytes input = {}) {
    auto owned = std::make_unique<ScriptStream>(std::move(input));
    inner = owned.get();
    const auto spec = parse_fault(text);
    EXPECT_TRUE(spec) << spec.error().message();
    stream = wrap_fault(*spec, self, peer, std::move(owned));
  }
  Expected<size_t> write(const Bytes& bytes) {
    // In two buffers, as frames are.
    const size_t half = bytes.size() / 2;
    const iovec buffers[] = {{const_cast<std::byte*>(bytes.data()), half},
                             {const_cast<std::byte*>(bytes.data()) + half, bytes.size() - half}};
    return stream->write_some(buffers);
  }
  // Until everything is taken, at most 100 calls.
  size_t write_all(Bytes bytes) {
    size_t taken = 0;
    for (int i = 0; i < 100 && !bytes.empty(); ++i) {
      const auto wrote = write(bytes);
      if (!wrote) break;
      taken += *wrote;
      bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*wrote));
    }
    return taken;
  }
  bool nothing_wakes() const {
    std::vector<pollfd> entries;
    EXPECT_TRUE(inner->add_to(entries, true, true));
    return !stream->add_to(entries, true, true);
  }
  ScriptStream* inner;
  std::unique_ptr<ByteStream> stream;
};

TEST(Fault, ParsesEveryKey) {
  const auto spec = parse_fault("flip:rank=1,peer=0,after=4096");
  ASSERT_TRUE(spec && *spec);
  EXPECT_EQ((*spec)->kind, "flip");
  EXPECT_EQ((*spec)->rank, 1);
  EXPECT_EQ((*spec)->peer, 0);
  EXPECT_EQ((*spec)->after, 4096u);
  EXPECT_EQ((*parse_fault("short:bytes=7"))->bytes, 7u);
  EXPECT_EQ((*parse_fault("delay:us=1500,rank=3"))->us, 1500);
  EXPECT_EQ((*parse_fault("delay:ns=250,us=1"))->ns, 250);
  EXPECT_EQ((*parse_fault("stall"))->after, 0u);
  const auto none = parse_fault("");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST(Fault, RefusesWhatItDoesNotKnow) {
  const std::pair<const char*, const char*> rows[] = {
      {"explode", "unknown kind 'explode'"},
      {":after=1", "unknown kind ''"},
      {"flip:", "'' is not key=value"},
      {"flip:after", "'after' is not key=value"},
      {"flip:after=", "after must be a whole number"},
      {"flip:after=-1", "not '-1'"},
      {"flip:after=1x", "not '1x'"},
      {"flip:after=99999999999999999999", "after must be"},
      {"flip:rank=4294967296", "rank must be a whole number from 0 to 2147483647"},
      {"flip:us=1", "flip takes rank, peer and after, not 'us'"},
      {"delay:after=1", "delay takes rank, peer and us ns, not 'after'"},
      {"delay:u=1", "not 'u'"},
      {"delay:=1", "not ''"},
      {"short:bytes=0", "bytes must be at least 1"},
      {"flip:after=1,", "'' is not key=value"},
      {"flip:after=1,,rank=0", "'' is not key=value"},
  };
  for (const auto& [text, says] : rows) {
    const auto spec = parse_fault(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::kConfig);
    EXPECT_THAT(spec.error().message(), HasSubstr(says));
    EXPECT_THAT(spec.error().message(), HasSubstr("flip|delay|short|stall|close"));
  }
}

TEST(Fault, WrapsOnlyTheStreamItNames) {
  for (const int self : {0, 1}) {
    for (const int peer : {0, 1, 2}) {
      Wrapped wrapped("stall:rank=1,peer=2", self, peer);
      EXPECT_EQ(wrapped.stream.get() != wrapped.inner, self == 1 && peer == 2);
    }
  }
  Wrapped all("stall", 7, 8);
  EXPECT_NE(all.stream.get(), all.inner);
}

TEST(Fault, FlipsOneBitAtItsOffset) {
  const Bytes data = random_bytes(20, 1);
  for (size_t at = 0; at < 20; ++at) {
    Wrapped wrapped("flip:after=" + std::to_string(at));
    EXPECT_EQ(wrapped.write_all(data), 20u);
    ASSERT_EQ(wrapped.inner->written.size(), 20u);
    for (size_t i = 0; i < 20; ++i) {
      const int changed =
          std::popcount(std::to_integer<unsigned>(wrapped.inner->written[i] ^ data[i]));
      EXPECT_EQ(changed, i == at ? 1 : 0) << "offset " << at << " byte " << i;
    }
  }
}

TEST(Fault, ShortLimitsBothWays) {
  Wrapped wrapped("short:bytes=3", 1, 0, Bytes(10));
  EXPECT_EQ(wrapped.write(Bytes(10)).value(), 3u);
  std::byte into[10];
  const iovec buffer{into, 10};
  EXPECT_EQ(wrapped.stream->read_some({&buffer, 1}).value(), 3u);
}

TEST(Fault, StallsAfterItsBytes) {
  Wrapped wrapped("stall:after=12", 1, 0, Bytes(10));
  std::byte into[4];
  const iovec buffer{into, 4};
  EXPECT_EQ(wrapped.stream->read_some({&buffer, 1}).value(), 4u);  // not yet
  EXPECT_EQ(wrapped.write_all(Bytes(20)), 12u);
  EXPECT_EQ(wrapped.inner->written.size(), 12u);
  EXPECT_EQ(wrapped.stream->read_some({&buffer, 1}).value(), 0u);
}

TEST(Fault, ClosesAfterItsBytes) {
  Wrapped wrapped("close:after=5");
  EXPECT_EQ(wrapped.write_all(Bytes(20)), 5u);
  const auto wrote = wrapped.write(Bytes(1));
  ASSERT_FALSE(wrote);
  EXPECT_EQ(wrote.error().code, ErrorCode::kPeerLost);
  std::byte into[4];
  const iovec buffer{into, 4};
  EXPECT_FALSE(wrapped.stream->read_some({&buffer, 1}));
}

TEST(Fault, ADelayOfNothingIsTheWrapperAlone) {
  Wrapped wrapped("delay:ns=0");
  EXPECT_EQ(wrapped.write(Bytes(4)).value(), 4u);
  EXPECT_TRUE(wrapped.nothing_wakes());
}

TEST(Fault, DelayHoldsEveryWriteBackWithoutBlocking) {
  Wrapped wrapped("delay:us=2000");
  for (int message = 0; message < 2; ++message) {
    const int64_t start = monotonic_ns();
    ASSERT_EQ(wrapped.write(Bytes(4)).value(), 0u);
    while (wrapped.write(Bytes(4)).value() == 0) {
      ASSERT_LT(monotonic_ns() - start, 10 * kSecond);
    }
    EXPECT_GE(monotonic_ns() - start, 2 * kMillisecond);
  }
  EXPECT_TRUE(wrapped.nothing_wakes());
}

}  // namespace
}  // namespace plumbline
