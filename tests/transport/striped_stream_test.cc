// One stream over several: every byte in its place whatever each part takes and gives at a time,
// and the failure of one part as the failure of all.
#include "transport/tcp/striped_stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <random>

#include "channel_pair.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::random_bytes;
using testing::HasSubstr;
using StreamPtr = std::unique_ptr<ByteStream>;

// Passes a random part of every call on, often nothing; counts the calls.
class FickleStream : public ByteStream {
 public:
  FickleStream(StreamPtr inner, uint64_t seed, size_t most)
      : inner_(std::move(inner)), random_(seed), most_(most) {}
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    ++writes;
    return some(buffers, [this](std::span<const iovec> part) { return inner_->write_some(part); });
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    return some(buffers, [this](std::span<const iovec> part) { return inner_->read_some(part); });
  }
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes_too) const override {
    return inner_->add_to(poll, reads, writes_too);
  }
  bool told_by_poll() const override { return inner_->told_by_poll(); }
  StreamStats stats() const override { return inner_->stats(); }
  void close() override { inner_->close(); }

  int writes = 0;

 private:
  template <typename Call>
  Expected<size_t> some(std::span<const iovec> buffers, const Call& call) {
    size_t left = most_ == 0 ? SIZE_MAX : random_() % (most_ + 1);
    std::vector<iovec> part;
    for (const iovec& buffer : buffers) {
      const size_t take = std::min(buffer.iov_len, left);
      if (take == 0) break;
      part.push_back({buffer.iov_base, take});
      left -= take;
    }
    return call(part);
  }

  const StreamPtr inner_;
  std::mt19937_64 random_;
  const size_t most_;  // bytes per call; 0 = all
};

// Both ends of a stream over `parts` socket pairs, and the parts of the first end.
struct Ends {
  explicit Ends(size_t parts, size_t block, size_t most = 0) {
    std::vector<StreamPtr> near, far;
    for (size_t i = 0; i < parts; ++i) {
      std::array<int, 2> fds{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
      for (const int fd : fds) ::fcntl(fd, F_SETFL, O_NONBLOCK);
      near_fds.push_back(fds[0]);
      far_fds.push_back(fds[1]);
      const std::string name = " over cable " + std::to_string(i);
      auto one =
          std::make_unique<FickleStream>(make_tcp_stream(Fd(fds[0]), "rank 1" + name), 2 * i, most);
      near_parts.push_back(one.get());
      near.push_back(std::move(one));
      far.push_back(std::make_unique<FickleStream>(make_tcp_stream(Fd(fds[1]), "rank 0" + name),
                                                   2 * i + 1, most));
    }
    a = make_striped_stream(std::move(near), block);
    b = make_striped_stream(std::move(far), block);
  }
  std::vector<int> near_fds, far_fds;
  std::vector<FickleStream*> near_parts;
  StreamPtr a, b;
};

// What a random number of random pieces of `bytes` from `at` on looks like to sendmsg(2).
std::vector<iovec> pieces(std::span<std::byte> bytes, std::mt19937_64& random) {
  std::vector<iovec> out;
  size_t at = 0;
  for (size_t count = 1 + random() % 5; count > 0 && at < bytes.size(); --count) {
    const size_t take = std::min<size_t>(random() % 3000, bytes.size() - at);
    out.push_back({bytes.data() + at, take});
    at += take;
  }
  return out;
}

std::vector<pollfd> asked(const ByteStream& stream, bool reads, bool writes) {
  std::vector<pollfd> entries;
  EXPECT_TRUE(stream.add_to(entries, reads, writes));
  return entries;
}

TEST(StripedStream, EveryByteComesInItsPlace) {
  std::mt19937_64 random(20);
  for (size_t parts = 1; parts <= 5; ++parts) {
    for (const size_t block : {size_t{1}, size_t{7}, size_t{1000}, size_t{65536}}) {
      SCOPED_TRACE(std::to_string(parts) + " parts, blocks of " + std::to_string(block));
      Ends ends(parts, block, block < 10 ? 5 : 20'000);
      const size_t total = block < 10 ? 5'000 : 300'000;
      struct Way {
        ByteStream &from, &to;
        Bytes sent, got;
        size_t gone = 0, come = 0;
      };
      Way ways[] = {{*ends.a, *ends.b, random_bytes(total, 1), Bytes(total)},
                    {*ends.b, *ends.a, random_bytes(total, 2), Bytes(total)}};
      for (int turn = 0; ways[0].come < total || ways[1].come < total; ++turn) {
        ASSERT_LT(turn, 1'000'000) << "no progress";
        for (Way& way : ways) {
          const auto out = pieces(std::span(way.sent).subspan(way.gone), random);
          const auto in = pieces(std::span(way.got).subspan(way.come), random);
          const Expected<size_t> wrote = way.from.write_some(out), read = way.to.read_some(in);
          ASSERT_TRUE(wrote && read);
          way.gone += *wrote;
          way.come += *read;
        }
      }
      for (const Way& way : ways) EXPECT_EQ(way.sent, way.got);
    }
  }
}

TEST(StripedStream, AMessageInsideABlockIsOneWriteOfOnePart) {
  Ends ends(3, 1000);
  Bytes bytes(500);
  const iovec halves[] = {{bytes.data(), 250}, {bytes.data() + 250, 250}};
  for (int message = 0; message < 4; ++message) {
    EXPECT_EQ(*ends.a->write_some(halves), 500u);
  }
  EXPECT_EQ(ends.near_parts[0]->writes, 2);
  EXPECT_EQ(ends.near_parts[1]->writes, 2);
  EXPECT_EQ(ends.near_parts[2]->writes, 0);
}

// A call goes on over as many parts as it has bytes for, reading too.
TEST(StripedStream, OneCallTakesFromAllPartsInOrder) {
  Ends ends(4, 100);
  Bytes out = random_bytes(950, 3), in(950);
  const iovec all{out.data(), out.size()}, room{in.data(), in.size()};
  EXPECT_EQ(*ends.a->write_some({&all, 1}), 950u);
  EXPECT_EQ(*ends.b->read_some({&room, 1}), 950u);
  EXPECT_EQ(in, out);
}

TEST(StripedStream, PollLooksWhereTheNextByteGoes) {
  Ends ends(3, 100);
  Bytes bytes(150);
  const iovec all{bytes.data(), bytes.size()};
  auto entries = asked(*ends.a, true, true);
  ASSERT_EQ(entries.size(), 1u);  // both directions begin with the first
  EXPECT_EQ(entries[0].events, POLLIN | POLLOUT);
  ASSERT_EQ(*ends.a->write_some({&all, 1}), 150u);
  entries = asked(*ends.a, true, true);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].fd, ends.near_fds[0]);
  EXPECT_EQ(entries[0].events, POLLIN);
  EXPECT_EQ(entries[1].fd, ends.near_fds[1]);
  EXPECT_EQ(entries[1].events, POLLOUT);
  EXPECT_TRUE(ends.a->told_by_poll());
  ASSERT_EQ(*ends.b->read_some({&all, 1}), 150u);
  entries = asked(*ends.b, true, false);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].fd, ends.far_fds[1]);
}

// What came over the other parts waits: nothing overtakes.
TEST(StripedStream, ASlowPartHoldsTheOthersBack) {
  std::vector<StreamPtr> near, far;
  auto [slow_out, slow_in] = make_memory_streams(0, 1, 10);
  auto [fast_out, fast_in] = make_memory_streams(0, 1, 1000);
  near.push_back(std::move(slow_out));
  near.push_back(std::move(fast_out));
  far.push_back(std::move(slow_in));
  far.push_back(std::move(fast_in));
  const StreamPtr a = make_striped_stream(std::move(near), 100);
  const StreamPtr b = make_striped_stream(std::move(far), 100);
  Bytes out = random_bytes(1000, 4), in(1000);
  size_t gone = 0, come = 0;
  for (int turn = 0; come < out.size() && turn < 1000; ++turn) {
    const iovec rest{out.data() + gone, out.size() - gone};
    gone += *a->write_some({&rest, 1});
    const iovec room{in.data() + come, in.size() - come};
    const size_t got = *b->read_some({&room, 1});
    come += got;
    EXPECT_LE(got, 10u + 100u + 10u);  // the slow ring's, a block of the fast one, the slow one's
  }
  EXPECT_EQ(in, out);
  std::vector<pollfd> entries;
  EXPECT_FALSE(a->add_to(entries, true, true)) << "rings wake nobody";
}

TEST(StripedStream, OneDeadPartEndsTheStreamAfterItsLastByte) {
  Ends ends(3, 100);
  Bytes out = random_bytes(1000, 5), in(1000);
  const iovec all{out.data(), out.size()}, room{in.data(), in.size()};
  ASSERT_EQ(*ends.a->write_some({&all, 1}), 1000u);
  // The last of ten blocks went over part 0, so part 1 is the next.
  ends.near_parts[1]->close();
  // What was on the way still comes, in order; then the end of that part is the end of all.
  EXPECT_EQ(*ends.b->read_some({&room, 1}), 1000u);
  EXPECT_EQ(in, out);
  const Expected<size_t> end = ends.b->read_some({&room, 1});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kPeerLost);
  EXPECT_THAT(end.error().what, HasSubstr("cable 1"));
}

// Bytes that moved before the failure are told of first; then every call says the same.
TEST(StripedStream, AFailureIsToldOnceWhatMovedIsTold) {
  for (const bool writing : {true, false}) {
    Ends ends(2, 100);
    Bytes bytes = random_bytes(1000, 6);
    const iovec all{bytes.data(), bytes.size()};
    const iovec first{bytes.data(), 100};
    if (!writing) {
      ASSERT_EQ(*ends.b->write_some({&first, 1}), 100u);
    }
    ends.near_parts[1]->close();
    const auto call = [&] {
      return writing ? ends.a->write_some({&all, 1}) : ends.a->read_some({&all, 1});
    };
    const Expected<size_t> moved = call();
    ASSERT_TRUE(moved);
    EXPECT_EQ(*moved, 100u);
    EXPECT_FALSE(ends.a->told_by_poll()) << "a failure is found by a try, not by a look";
    for (int again = 0; again < 2; ++again) {
      const Expected<size_t> failed = call();
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, ErrorCode::kPeerLost);
      EXPECT_THAT(failed.error().what, HasSubstr("cable 1"));
    }
  }
}

TEST(StripedStream, StatsAreTheSumAndEachByItself) {
  Ends ends(3, 100);
  Bytes bytes(250);
  const iovec all{bytes.data(), bytes.size()};
  ASSERT_EQ(*ends.a->write_some({&all, 1}), 250u);
  EXPECT_EQ(*ends.a->read_some({&all, 1}), 0u);
  const StreamStats stats = ends.a->stats();
  ASSERT_EQ(stats.parts.size(), 3u);
  EXPECT_EQ(stats.writes, 3u);
  EXPECT_EQ(stats.reads, 1u);
  uint64_t buffers = 0;
  for (const StreamStats& part : stats.parts) buffers += part.send_buffer.value_or(0);
  EXPECT_GT(buffers, 0u);
  EXPECT_EQ(stats.send_buffer, buffers);
  EXPECT_FALSE(stats.mss) << "not TCP: nobody tells";
  EXPECT_TRUE(stats.parts[0].parts.empty());
}

TEST(StripedStream, NothingAskedMovesNothingAndTheEndEndsAll) {
  Ends ends(2, 100);
  EXPECT_EQ(*ends.a->read_some({}), 0u);
  EXPECT_EQ(*ends.a->write_some({}), 0u);
  ends.a->close();
  Bytes bytes(10);
  const iovec all{bytes.data(), bytes.size()};
  EXPECT_FALSE(ends.a->write_some({&all, 1}));
  const Expected<size_t> end = ends.b->read_some({&all, 1});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().cause, "rank.dead");
}

}  // namespace
}  // namespace plumbline
