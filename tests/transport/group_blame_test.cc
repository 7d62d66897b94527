#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "transport/control/blame.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A world whose ranks answer as the test wrote it down.
class FakeControl : public ControlPlane {
 public:
  struct Rank {
    RankStatus status;
    std::vector<FlightEntry> entries;
  };
  bool failed() const override { return false; }
  Error failure() const override { return {}; }
  void abort(const Error&) override {}
  void begin_operation(uint32_t, uint32_t, const std::string&) override {}
  void end_operation(uint32_t) override {}
  void waiting(int, uint32_t, int64_t) override {}
  RankStatus query(int peer, Deadline deadline, std::vector<FlightEntry>* recorder) override {
    ++queries;
    EXPECT_LE(deadline.remaining_ns(), kSecond);
    if (recorder != nullptr) *recorder = ranks[peer].entries;
    return ranks[peer].status;
  }
  std::vector<FlightEntry> recorder() const override { return mine; }
  int wake_fd() const override { return -1; }

  // `rank` is in op 91 and waits for `peer`.
  void waits(int rank, int peer) {
    ranks[rank].entries = {{90, 5, "barrier", true}, {91, 7, kText, false}};
    ranks[rank].status = {rank, 91, 7, kText, true, peer, 4, 2 * kSecond, 0};
  }

  static constexpr const char* kText = "allreduce f32 sum 64 KiB ring";
  std::map<int, Rank> ranks;
  std::vector<FlightEntry> mine{{90, 5, "barrier", true}, {91, 7, kText, false}};
  int queries = 0;
};

BlameQuestion question() {
  BlameQuestion q;
  q.self = 2;
  q.peer = 1;
  q.sequence = 91;
  q.step = 7;
  q.operation = FakeControl::kText;
  q.since_progress_ns = 3100 * kMillisecond;
  return q;
}

// A leaf of a star may wait for another leaf, through the rank between them.
TEST(Blame, ARankThatCannotBeAskedIsNotCalledDead) {
  FakeControl control;
  control.waits(1, 0);
  control.ranks[0].status.reachable = false;
  control.ranks[0].status.age_ns = std::numeric_limits<int64_t>::max();
  const Error error = find_blame(control, question());
  EXPECT_EQ(error.cause, "collective.stalled");
  EXPECT_THAT(error.what, HasSubstr("rank 0 has no connection with rank 2"));
}

TEST(Blame, SaysWhatItWaitsForWithTheStreamsNumbers) {
  FakeControl control;
  control.ranks[1].status.rank = 1;
  BlameQuestion q = question();
  q.stream.emplace();
  q.stream->unacked_bytes = 64 * 1024;
  q.stream->peer_window = 0;
  const Error error = find_blame(control, q);
  EXPECT_THAT(error.what, HasSubstr("op 91 allreduce f32 sum 64 KiB ring step 7: rank 2 waits for "
                                    "rank 1, last progress 3.1 s ago, 64 KiB unacknowledged, "
                                    "receive window 0"));
}

TEST(Blame, AStoppedPeer) {
  FakeControl control;
  control.waits(1, 0);
  control.ranks[1].status.age_ns = 5 * kSecond;
  const Error error = find_blame(control, question());
  EXPECT_EQ(error.code, ErrorCode::kPeerLost);
  EXPECT_EQ(error.cause, "rank.dead");
  EXPECT_THAT(error.what,
              AllOf(HasSubstr("rank 1 does not answer (stopped or dead)"), HasSubstr("5 s ago")));
  EXPECT_EQ(control.queries, 1);
  control.ranks[1].status.age_ns = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(find_blame(control, question()).what, HasSubstr("never heard of"));
}

TEST(Blame, AStoppedRankBehindAWaitingOne) {
  FakeControl control;
  control.waits(1, 3);
  control.waits(3, 0);
  control.ranks[3].status.age_ns = 5 * kSecond;
  const Error error = find_blame(control, question());
  EXPECT_EQ(error.cause, "rank.dead");
  EXPECT_THAT(error.what, AllOf(HasSubstr("rank 1 waits for rank 3 in op 91"),
                                HasSubstr("rank 3 does not answer")));
  EXPECT_EQ(error.ranks, (std::vector<int>{3, 1, 2})) << "the one at fault first";
}

TEST(Blame, APeerThatIsIdle) {
  FakeControl control;
  control.ranks[1].status = {1, 90, 5, "barrier", false, -1, 0, 9 * kSecond, 0};
  control.ranks[1].entries = {{89, 1, "allgather", true}, {90, 5, "barrier", true}};
  const Error error = find_blame(control, question());
  EXPECT_EQ(error.code, ErrorCode::kTimeout);
  EXPECT_EQ(error.cause, "collective.stalled");
  EXPECT_THAT(error.what, HasSubstr("rank 1 is not in any operation (last finished: op 90 "
                                    "barrier)"));
}

TEST(Blame, APeerThatNeverBegan) {
  FakeControl control;
  control.ranks[1].status.rank = 1;
  const Error error = find_blame(control, question());
  EXPECT_THAT(error.what, HasSubstr("rank 1 is not in any operation (it has finished none)"));
}

TEST(Blame, APeerThatHasFinishedAlready) {
  FakeControl control;
  control.ranks[1].status = {1, 92, 8, "barrier", false, -1, 0, kSecond, 0};
  control.ranks[1].entries = {{91, 7, FakeControl::kText, true}, {92, 8, "barrier", true}};
  const Error error = find_blame(control, question());
  EXPECT_EQ(error.cause, "collective.stalled");
  EXPECT_THAT(error.what, HasSubstr("rank 1 has finished op 91 already (last finished: op 92"));
}

TEST(Blame, APeerInAnotherOperationUnderTheSameNumber) {
  for (const bool finished : {false, true}) {
    FakeControl control;
    control.waits(1, 2);
    control.ranks[1].entries[1] = {91, 8, "broadcast i32 4 KiB root 0", finished};
    const Error error = find_blame(control, question());
    EXPECT_EQ(error.code, ErrorCode::kMismatch);
    EXPECT_EQ(error.cause, "collective.mismatch");
    EXPECT_THAT(error.what, HasSubstr("rank 1 called op 91 broadcast i32 4 KiB root 0 while rank 2 "
                                      "called op 91 allreduce f32 sum 64 KiB ring"));
  }
}

TEST(Blame, AMismatchFurtherAlongTheChain) {
  FakeControl control;
  control.waits(1, 0);
  control.waits(0, 1);
  control.ranks[0].entries[1] = {91, 8, "barrier", false};
  const Error error = find_blame(control, question());
  EXPECT_EQ(error.cause, "collective.mismatch");
  EXPECT_THAT(error.what, HasSubstr("rank 0 called op 91 barrier while rank 2"));
}

TEST(Blame, APeerThatIsBusyInTheOperation) {
  FakeControl control;
  control.waits(1, -1);
  const Error error = find_blame(control, question());
  EXPECT_EQ(error.cause, "collective.stalled");
  EXPECT_THAT(error.what, HasSubstr("rank 1 is in op 91 allreduce f32 sum 64 KiB ring and waits "
                                    "for nobody"));
}

TEST(Blame, ACircle) {
  FakeControl control;
  control.waits(1, 0);
  control.waits(0, 3);
  control.waits(3, 1);
  const Error error = find_blame(control, question());
  EXPECT_EQ(error.cause, "collective.stalled");
  EXPECT_THAT(error.what, HasSubstr("in a circle (1 -> 0 -> 3 -> 1)"));
  EXPECT_EQ(error.ranks, (std::vector<int>{3, 0, 1, 2}));
}

TEST(Blame, TwoRanksThatWaitForOneAnother) {
  FakeControl control;
  control.waits(1, 2);
  EXPECT_THAT(find_blame(control, question()).what, HasSubstr("in a circle (2 -> 1 -> 2)"));
}

// Seen: 4 GiB on a crowded machine were not through after 120 s, and the link was called down.
TEST(Blame, AnOperationThatIsOnlySlowIsNotStuck) {
  FakeControl control;
  control.waits(1, 2);
  control.ranks[1].status.since_progress_ns = 157 * kMillisecond;
  BlameQuestion q = question();
  q.since_progress_ns = 0;
  const Error error = find_blame(control, q);
  EXPECT_THAT(error.what, AllOf(HasSubstr("bytes were still moving between them (2 -> 1 -> 2)"),
                                Not(HasSubstr("circle"))));
  EXPECT_THAT(error.hint, HasSubstr("slow, and not stuck"));
  q.since_progress_ns.reset();  // not known
  EXPECT_THAT(find_blame(control, q).what, HasSubstr("in a circle"));
}

TEST(Blame, AHeldFrameIsMentioned) {
  FakeControl control;
  control.waits(1, 2);
  BlameQuestion q = question();
  q.obstacle = "an unexpected frame of op 92 stands before the awaited bytes";
  EXPECT_THAT(find_blame(control, q).what, HasSubstr(q.obstacle));
}

TEST(Blame, MismatchNeedsBothRecorders) {
  FakeControl control;
  EXPECT_FALSE(mismatch_in_words(control, 2, 1, 91));
  control.ranks[1].entries = {{91, 8, "barrier", false}};
  EXPECT_TRUE(mismatch_in_words(control, 2, 1, 91));
  EXPECT_FALSE(mismatch_in_words(control, 2, 1, 90));
}

}  // namespace
}  // namespace plumbline
