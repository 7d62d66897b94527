// Peers that say nothing, strangers that say too much, and a coordinator that ends the wait.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>

#include "core/log.h"
#include "tcp_world.h"
#include "transport/channel/raw.h"

namespace plumbline {
namespace {

using test::exchange;
using test::PlainClient;
using test::TcpWorld;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// Longer than anything that is promised here by far: what ends it is not what we want.
constexpr int64_t kFarMs = 120'000;

// A rank as a process of its own, that exchanges once and then stays until it is killed. To be made
// before any thread is.
class ForkedRank {
 public:
  ForkedRank(TcpWorld& world, int rank) : pid_(::fork()) {
    if (pid_ != 0) {
      world.listeners[static_cast<size_t>(rank)].reset();
      return;
    }
    for (int other = 0; other < world.size; ++other) {
      if (other != rank) world.listeners[static_cast<size_t>(other)].reset();
    }
    ::alarm(300);  // never left behind
    auto group = world.open(rank);
    if (!group || !exchange(**group, 1000, 1)) ::_exit(1);
    for (;;) ::pause();
  }
  ~ForkedRank() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ForkedRank(const ForkedRank&) = delete;
  ForkedRank& operator=(const ForkedRank&) = delete;
  // Back when it has stopped: until then it may still answer.
  void stop() const {
    int status = 0;
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, &status, WUNTRACED);
  }

 private:
  pid_t pid_;
};

const std::map<std::string, std::string> kQuickWatchdog = {{"heartbeat_interval_ms", "200"},
                                                           {"watchdog_timeout_ms", "3000"}};

// Nobody waits for it in an operation: the ranks are busy, idle, or in a roof of others.
TEST(Silence, AStoppedRankIsGivenUpByAllWhateverTheyDo) {
  TcpWorld world(3, kQuickWatchdog);
  const ForkedRank stopped(world, 1);
  std::latch exchanged(2);
  std::vector<std::thread> threads;
  for (const int rank : {0, 2}) {
    threads.emplace_back([&, rank] {
      auto group = world.open(rank);
      ASSERT_TRUE(group) << group.error().message();
      ASSERT_TRUE(exchange(**group, 1000, 1));
      exchanged.arrive_and_wait();
      if (rank == 0) stopped.stop();
      const Status status = (*group)->wait([] { return false; }, Deadline::after_ms(kFarMs));
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().cause, "rank.dead") << status.error().message();
      EXPECT_THAT(status.error().what, HasSubstr("rank 1 on host1 has said nothing for"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A roof moves raw bytes and knows no names.
TEST(Silence, ABareStreamEndsWithTheNameOfTheStoppedRank) {
  for (const int64_t roof_ms : {int64_t{500}, kFarMs}) {
    SCOPED_TRACE(roof_ms);
    TcpWorld world(2, kQuickWatchdog);
    const ForkedRank stopped(world, 1);
    auto group = world.open(0);
    ASSERT_TRUE(group) << group.error().message();
    ASSERT_TRUE(exchange(**group, 1000, 1));
    stopped.stop();
    ByteStream& stream = (*(*group)->channel(1, Deadline::after_ms(1000)))->stream();
    const Status raw = raw_pingpong(stream, true, 8, 1, (*group)->wait_options(),
                                    Deadline::after_ms(roof_ms), nullptr);
    ASSERT_FALSE(raw);
    EXPECT_EQ(raw.error().code, roof_ms == kFarMs ? ErrorCode::kAborted : ErrorCode::kTimeout);
    const Error named = (*group)->fail_stream(1, raw.error(), "bare-socket raw_pingpong");
    EXPECT_EQ(named.cause, "rank.dead") << named.message();
    EXPECT_THAT(named.what, AnyOf(HasSubstr("rank 1 does not answer"),
                                  HasSubstr("rank 1 on host1 has said nothing for")));
    EXPECT_TRUE((*group)->control().failed());
  }
}

// The third rank waits for one that is in a roof with the stopped one: that one is to blame.
TEST(Silence, ARankInARoofIsNotToBlameForTheOneItWaitsFor) {
  TcpWorld world(3, {{"heartbeat_interval_ms", "200"}});
  const ForkedRank stopped(world, 1);
  std::latch in_roof(2), blamed(2);
  std::thread roof([&] {
    auto group = world.open(0);
    ASSERT_TRUE(group) << group.error().message();
    ASSERT_TRUE(exchange(**group, 1000, 1));
    ControlPlane& control = (*group)->control();
    control.begin_operation(1, 7, "broadcast");
    control.end_operation(1);
    control.waiting(1, 0, monotonic_ns());
    in_roof.arrive_and_wait();
    blamed.arrive_and_wait();
  });
  auto group = world.open(2);
  ASSERT_TRUE(group) << group.error().message();
  ASSERT_TRUE(exchange(**group, 1000, 1));
  in_roof.arrive_and_wait();
  stopped.stop();
  const Error error = (*group)->blame(0, 2, 0, "allreduce");
  EXPECT_EQ(error.cause, "rank.dead") << error.message();
  EXPECT_THAT(error.what, AllOf(HasSubstr("rank 0 waits for rank 1 outside the collectives"),
                                HasSubstr("rank 1 does not answer")));
  blamed.arrive_and_wait();
  roof.join();
}

// Whoever is silent already is not waited for when somebody asks who is to blame.
TEST(Silence, AQuestionToASilentRankTakesNoTime) {
  TcpWorld world(2, {{"heartbeat_interval_ms", "200"}});
  const ForkedRank stopped(world, 1);
  auto group = world.open(0);
  ASSERT_TRUE(group) << group.error().message();
  ASSERT_TRUE(exchange(**group, 1000, 1));
  stopped.stop();
  const int64_t start = monotonic_ns();
  const RankStatus status = (*group)->control().query(1, Deadline::after_ms(kFarMs), nullptr);
  EXPECT_LT(monotonic_ns() - start, kFarMs * kMillisecond / 2);
  EXPECT_GT(status.age_ns, 400 * kMillisecond);
}

// This process itself was stopped: its peers have said enough meanwhile.
TEST(Silence, WhoeverWasStoppedHimselfBlamesNobody) {
  TcpWorld world(2, kQuickWatchdog);
  const pid_t pid = ::fork();
  if (pid == 0) {
    world.listeners[0].reset();
    ::alarm(300);
    auto group = world.open(1);
    if (!group || !exchange(**group, 1000, 1)) ::_exit(1);
    ::raise(SIGSTOP);
    // Awake again, with a peer that was stopped just as long and speaks a little later.
    const Status end = (*group)->wait([] { return false; }, Deadline::after_ms(1'000));
    ::usleep(3'000'000);  // the other one still looks
    ::_exit(end.error().code == ErrorCode::kTimeout ? 0 : 2);
  }
  ASSERT_GT(pid, 0);
  world.listeners[1].reset();
  const pid_t other = ::fork();
  if (other == 0) {
    ::alarm(300);
    auto group = world.open(0);
    if (!group || !exchange(**group, 1000, 1)) ::_exit(1);
    ::raise(SIGSTOP);
    const Status end = (*group)->wait([] { return false; }, Deadline::after_ms(1'000));
    ::usleep(3'000'000);  // the other one still looks
    ::_exit(end.error().code == ErrorCode::kTimeout ? 0 : 2);
  }
  world.listeners[0].reset();
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, WUNTRACED), pid);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  ASSERT_EQ(::waitpid(other, &status, WUNTRACED), other);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  ::usleep(4'000'000);  // beyond every patience
  ::kill(pid, SIGCONT);
  ::usleep(100'000);
  ::kill(other, SIGCONT);
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(GiveUp, EndsTheWaitForRanksThatNeverCome) {
  TcpWorld world(2, {{"connect_timeout_ms", std::to_string(kFarMs)}});
  GroupSpec spec = world.spec(0);
  std::thread coordinator;
  spec.started = [&](const std::shared_ptr<ControlPlane>& control) {
    coordinator = std::thread([control] {
      control->give_up({ErrorCode::kAborted, "rank 1 was killed", 0, "look there", "rank.dead"});
    });
  };
  const int64_t start = monotonic_ns();
  const auto group = world.open(spec);
  coordinator.join();
  EXPECT_LT(monotonic_ns() - start, kFarMs * kMillisecond / 2);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().what, "rank 1 was killed");
  EXPECT_EQ(group.error().code, ErrorCode::kAborted);
}

// ---- strangers ---------------------------------------------------------------------------------

TEST(Refused, AreCountedByAddressAndNotLogged) {
  TcpWorld world(1);
  RefusedTally tally;
  constexpr uint64_t kStrangers = 30;
  testing::internal::CaptureStderr();
  {
    const Logger log("rank 0", LogLevel::kWarn, log_lines());
    GroupSpec spec = world.spec(0);
    spec.refused = &tally;
    spec.log = &log;
    const auto group = world.open(spec);
    ASSERT_TRUE(group) << group.error().message();
    for (uint64_t i = 0; i < kStrangers; ++i) {
      PlainClient client(world.endpoints[0].port);
      client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      test::Bytes nothing;
      EXPECT_TRUE(client.read_to_end(&nothing, 20'000));
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const RefusedConnections refused = tally.take();
  EXPECT_EQ(refused.total, kStrangers);
  EXPECT_EQ(refused.by_address, (std::map<std::string, uint64_t>{{"127.0.0.1", kStrangers}}));
  EXPECT_EQ(tally.take().total, 0u);
}

TEST(Refused, EachAddressIsNamedOnceAndThereIsAnEnd) {
  RefusedConnections all;
  for (int round = 0; round < 3; ++round) {
    RefusedConnections rank;
    rank.add("10.0.0.7");
    rank.add("fd00::9", 20);
    all.add(rank);
  }
  EXPECT_EQ(all.text(),
            "63 connections that are not of this run were refused: fd00::9 (60), 10.0.0.7 (3)");
  for (int i = 0; i < 10'000; ++i) all.add("192.0.2." + std::to_string(i));
  EXPECT_EQ(all.total, 10'063u);
  EXPECT_EQ(all.by_address.size(), RefusedConnections::kMostAddresses);
  EXPECT_THAT(all.text(), HasSubstr(", other addresses (9986)"));
  RefusedConnections flood;
  flood.add("10.0.0.7", UINT64_MAX);
  flood.add(flood);
  EXPECT_EQ(flood.total, UINT64_MAX);
  RefusedConnections one;
  one.add("10.0.0.7");
  EXPECT_EQ(one.text(), "1 connection that is not of this run was refused: 10.0.0.7 (1)");
}

}  // namespace
}  // namespace plumbline
