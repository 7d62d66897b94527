// A rank that gives an operation up does with its arrays what it likes: peers that were offered
// them get an error, never other bytes, however they reach them.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "channel_pair.h"
#include "core/fd.h"
#include "tests/support/process_reads_linux.h"
#include "tests/support/rank_lives_linux.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::CollectSink;
using test::random_bytes;
using test::tag;
using test::UseObserver;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

// A pipe that all processes of a test have: whoever waits goes on when somebody says so.
class Call {
 public:
  Call() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reading_.reset(ends[0]);
    writing_.reset(ends[1]);
  }
  void say() const {
    const char word = 1;
    EXPECT_EQ(::write(writing_.get(), &word, 1), 1);
  }
  void wait() const {
    pollfd one{reading_.get(), POLLIN, 0};
    ::poll(&one, 1, 20'000);
  }

 private:
  Fd reading_, writing_;
};

struct GivenUpRow {
  const char* name;
  MemoryReach reach;
  bool gone;  // the memory itself, else other bytes are in it

  friend void PrintTo(const GivenUpRow& row, std::ostream* out) { *out << row.name; }  // NOLINT
};

// Messages of rank 0, of which the last one is given up when it was offered.
class GivenUpArrays : public testing::TestWithParam<GivenUpRow> {
 protected:
  static constexpr size_t kBytes = 700'000;

  void SetUp() override {
    if (const std::string why = test::no_process_reads(); !why.empty() && !mapped()) {
      GTEST_SKIP() << why;
    }
  }
  static bool mapped() { return GetParam().reach == MemoryReach::kMap; }
  std::string send(Group& group, Channel& channel, Deadline deadline) const {
    Bytes own(kBytes);
    Array shared = *group.allocate(kBytes);
    const std::span<std::byte> data = mapped() ? std::span(shared.data, kBytes) : std::span(own);
    const Bytes right = random_bytes(kBytes, 1);
    std::copy(right.begin(), right.end(), data.begin());
    UseObserver observer(MessageUse::kAllCopy);
    const auto post = [&](uint32_t sequence) {
      channel.post_send(tag(sequence, 0), data.data(), kBytes, kBytes, &observer, 0);
    };
    post(1);  // then both ends know what they may
    while (observer.cookies.empty() && !deadline.passed()) static_cast<void>(channel.progress());
    post(2);
    while (channel.wants_write() && !deadline.passed()) static_cast<void>(channel.progress());
    channel.cancel({ErrorCode::kAborted, "a test gives up", 0, {}, {}});
    std::fill(data.begin(), data.end(), std::byte{9});
    if (GetParam().gone) shared = Array();
    cancelled_.say();
    refused_.wait();
    return std::to_string(group.stats().direct_sent);
  }
  std::string receive(Channel& channel, Deadline deadline) const {
    for (uint32_t sequence = 1; sequence <= 2; ++sequence) {
      if (sequence == 2) cancelled_.wait();
      CollectSink sink(kBytes);
      channel.post_recv(tag(sequence, 0), kBytes, &sink);
      Expected<bool> moved = true;
      while (moved && (!sink.done() || channel.owes()) && !deadline.passed()) {
        moved = channel.progress();
      }
      if (sequence == 2) refused_.say();
      if (!moved) return to_string(moved.error().code) + (": " + moved.error().message());
      if (!sink.done()) return "hangs";
      if (sink.bytes() != random_bytes(kBytes, 1)) return "wrong bytes";
    }
    return "right bytes";
  }

  const Call cancelled_, refused_;
};

// Found by this test: wrong bytes.
TEST_P(GivenUpArrays, AreAnErrorAndNoMessage) {
  OpenedWorld world;
  const std::vector<std::string> left = test::let_live(
      **find_transport("shm", false), 2, world, -1,
      [this](int rank, std::unique_ptr<Group> group) {
        const Deadline deadline = Deadline::after_ms(20'000);
        Channel& channel = **group->channel(1 - rank, deadline);
        return rank == 0 ? send(*group, channel, deadline) : receive(channel, deadline);
      },
      Deadline::after_ms(60'000));
  EXPECT_EQ(left[0], std::to_string(kBytes)) << "the first one alone was taken";
  EXPECT_THAT(left[1], StartsWith(to_string(ErrorCode::kPeerLost)));
  EXPECT_THAT(left[1],
              AnyOf(HasSubstr("gave the operation up"), HasSubstr("given the operation up")));
}

constexpr GivenUpRow kGivenUp[] = {
    {"read", MemoryReach::kRead, false},
    {"mapped", MemoryReach::kMap, false},
    {"mapped_and_gone", MemoryReach::kMap, true},
};
INSTANTIATE_TEST_SUITE_P(All, GivenUpArrays, testing::ValuesIn(kGivenUp),
                         testing::PrintToStringParamName());

// Who uses mapped bytes just now is waited for, and for so long only as a piece may take.
TEST(GivenUpArrays, AreWaitedForWhileTheyAreUsed) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const auto end_of = [&](int rank) {
    return make_shm_stream(make_tcp_stream(Fd(ends[rank]), "the other one"), rank, 1 - rank,
                           1 << 16, "here");
  };
  const std::unique_ptr<ByteStream> owner = end_of(0), user = end_of(1);
  const Deadline deadline = Deadline::after_ms(20'000);
  for (bool shared = false; !shared;) {
    ASSERT_FALSE(deadline.passed());
    const bool by_owner = owner->ready().value_or(false), by_user = user->ready().value_or(false);
    shared = by_owner && by_user;
  }
  const auto end_takes_ms = [](ByteStream& stream) {
    const int64_t began = monotonic_ns();
    stream.peer_memory()->end_transfers();
    return (monotonic_ns() - began) / kMillisecond;
  };
  ASSERT_TRUE(user->peer_memory()->begin_use());
  EXPECT_GE(end_takes_ms(*owner), 10) << "it did not wait";
  int64_t more_ms = 0;
  for (int i = 0; i < 100; ++i) more_ms += end_takes_ms(*owner);
  EXPECT_LT(more_ms, 1000) << "it waits more than once";
  const auto refused = [](const Status& status) {
    EXPECT_FALSE(status);
    EXPECT_EQ(status ? ErrorCode::kSystem : status.error().code, ErrorCode::kPeerLost);
    return status ? "" : status.error().message();
  };
  EXPECT_THAT(refused(user->peer_memory()->end_use()), HasSubstr("rank 0")) << "used too long";
  EXPECT_THAT(refused(user->peer_memory()->begin_use()), HasSubstr("given the operation up"));
  // The other direction has words of its own.
  EXPECT_TRUE(owner->peer_memory()->begin_use());
  EXPECT_TRUE(owner->peer_memory()->end_use());
}

}  // namespace
}  // namespace plumbline
