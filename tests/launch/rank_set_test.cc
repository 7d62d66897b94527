#include "launch/rank_set.h"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

ServingCommand place(const std::string& script) { return {"host", {"/bin/sh", "-c", script}}; }

// Echoes every line with its number in front.
std::string echo(int rank) {
  return "while read -r line; do echo " + std::to_string(rank) + " \"$line\"; done";
}

std::unique_ptr<RankSet> started(const std::vector<ServingCommand>& places) {
  auto set = RankSet::start(places);
  EXPECT_TRUE(set) << set.error().message();
  return set ? std::move(*set) : nullptr;
}

TEST(RankSet, AsksAllAndCollectsInRankOrder) {
  const auto set = started({place(echo(0)), place("sleep 0.2; " + echo(1)), place(echo(2))});
  ASSERT_TRUE(set->send_all("hello", Deadline::after_ms(2000)));
  const auto answers = set->collect(Deadline::after_ms(10'000), 10 * kSecond);
  ASSERT_EQ(answers.size(), 3u);
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(answers[rank].value(), std::to_string(rank) + " hello");
  }
}

// A greeting in .bashrc comes before everything that a rank behind ssh says.
TEST(RankSet, WhatALoginShellSaysFirstIsNoAnswer) {
  const std::string script =
      "echo Welcome; echo; echo 'a [good] {day}'; read line; echo '{\"first\": 1}'; read line; "
      "echo 2";
  ServingCommand remote = place(script);
  remote.remote = true;
  const auto set = started({remote, place("echo Welcome; " + echo(1))});
  ASSERT_TRUE(set->send_all("go", Deadline::after_ms(2000)));
  auto answers = set->collect(Deadline::after_ms(10'000), 10 * kSecond);
  EXPECT_EQ(answers[0].value(), "{\"first\": 1}");
  EXPECT_EQ(answers[1].value(), "Welcome");  // one of our own has no login shell
  ASSERT_TRUE(set->send_all("go", Deadline::after_ms(2000)));
  answers = set->collect(Deadline::after_ms(10'000), 10 * kSecond);
  EXPECT_EQ(answers[0].value(), "2");
}

constexpr const char* kAlive = "{\"alive\": 1}";

std::unique_ptr<RankSet> watched(const std::vector<ServingCommand>& places, int64_t limit_ms) {
  auto set = RankSet::start(places, kAlive);
  EXPECT_TRUE(set) << set.error().message();
  if (!set) return nullptr;
  (*set)->watch(limit_ms * kMillisecond);
  return std::move(*set);
}

std::string beating(const std::string& then) {
  return std::string("echo '") + kAlive + "'; echo '" + kAlive + "'; read line; echo '" + kAlive +
         "'; " + then;
}

ServingCommand elsewhere(const std::string& script) {
  ServingCommand there = place(script);
  there.remote = true;
  return there;
}

TEST(RankSet, SignsOfLifeAreNoAnswers) {
  const auto set = watched(
      {place(beating("echo a; read line")), elsewhere(beating("echo '{}'; read line"))}, 60'000);
  ASSERT_TRUE(set->send_all("go", Deadline::after_ms(2000)));
  const auto answers = set->collect(Deadline::after_ms(10'000), 10 * kSecond);
  EXPECT_EQ(answers[0].value(), "a");
  EXPECT_EQ(answers[1].value(), "{}");
}

TEST(RankSet, AStoppedRankIsNamedWhileItStarts) {
  const auto set = watched(
      {place("echo 0; exec sleep 100"), place("kill -STOP $$; echo 1"), place("exec sleep 100")},
      2'000);
  const int64_t start = monotonic_ns();
  const auto answers = set->collect(Deadline::after_ms(60'000), 60 * kSecond, nullptr,
                                    [](size_t, const RankAnswer& answer) {
                                      return answer ? std::nullopt : std::optional<int64_t>(0);
                                    });
  EXPECT_LT(monotonic_ns() - start, 30 * kSecond);
  EXPECT_EQ(answers[0].value(), "0");
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().cause, "rank.dead");
  EXPECT_EQ(answers[1].error().code, ErrorCode::kPeerLost);
  EXPECT_NE(answers[1].error().what.find("rank 1 on host has been stopped for"), std::string::npos)
      << answers[1].error().what;
  EXPECT_EQ(answers[2].error().cause, "rank.late");
}

// Its part is done, but without it there will be no group.
TEST(RankSet, ARankThatIsStoppedAfterItsAnswerIsNamedToo) {
  const auto set = watched({place("echo 0; kill -STOP $$"), place("exec sleep 100")}, 500);
  const auto answers = set->collect(Deadline::after_ms(60'000), 60 * kSecond, nullptr,
                                    [](size_t, const RankAnswer& answer) {
                                      return answer ? std::nullopt : std::optional<int64_t>(0);
                                    });
  ASSERT_FALSE(answers[0]);
  EXPECT_NE(answers[0].error().what.find("rank 0 on host has been stopped"), std::string::npos);
}

TEST(RankSet, ARankElsewhereThatFallsSilentIsNamedWhileItStarts) {
  const auto set = watched({elsewhere(beating("exec sleep 100"))}, 500);
  ASSERT_TRUE(set->send_all("go", Deadline::after_ms(2000)));
  const int64_t start = monotonic_ns();
  const auto answers = set->collect(Deadline::after_ms(60'000), kSecond);
  EXPECT_LT(monotonic_ns() - start, 30 * kSecond);
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().cause, "rank.dead");
  EXPECT_NE(answers[0].error().what.find("rank 0 on host has said nothing for"), std::string::npos)
      << answers[0].error().what;
}

// A busy machine, a slow disk, a slow login: none of these is stopped.
TEST(RankSet, ASlowStartIsNotTakenForAStoppedRank) {
  // More than once: one CONT alone may come before the STOP that it shall end.
  const std::string woken = "(for i in 1 2 3 4 5; do sleep 0.2; kill -CONT $$; done) & ";
  const auto set =
      watched({place("sleep 1.5; echo 0; read line"), elsewhere("sleep 1.5; echo '{}'; read line"),
               place(woken + "kill -STOP $$; sleep 1.5; echo 2; read line")},
              1000);
  const auto answers = set->collect(Deadline::after_ms(60'000), 60 * kSecond);
  for (const RankAnswer& answer : answers) EXPECT_TRUE(answer) << answer.error().what;
}

// Whatever one says without end, the others are heard and the deadline holds.
TEST(RankSet, EndlessSignsOfLifeDoNotKeepTheCoordinator) {
  const auto set = watched(
      {place(std::string("while :; do echo '") + kAlive + "'; done"), place("echo 1; read line")},
      60'000);
  const auto answers = set->collect(Deadline::after_ms(5'000), kSecond);
  EXPECT_EQ(answers[0].error().cause, "rank.late");
  EXPECT_EQ(answers[1].value(), "1");
}

TEST(RankSet, DeadRankIsNamedAndOthersGetTheirGrace) {
  const auto set =
      started({place(echo(0)), place("read line; kill -9 $$"), place("exec sleep 100")});
  ASSERT_TRUE(set->send_all("go", Deadline::after_ms(2000)));
  const int64_t start = monotonic_ns();
  // From the first news on, an answer or a death: the other one must come within it.
  const auto answers = set->collect(Deadline::after_ms(60'000), 4 * kSecond);
  EXPECT_LT(monotonic_ns() - start, 30 * kSecond);
  EXPECT_EQ(answers[0].value(), "0 go");
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().cause, "rank.dead");
  EXPECT_NE(answers[1].error().what.find("rank 1 on host"), std::string::npos);
  EXPECT_NE(answers[1].error().what.find("signal 9"), std::string::npos);
  ASSERT_FALSE(answers[2]);
  EXPECT_EQ(answers[2].error().cause, "rank.late");
}

TEST(RankSet, HalfALineIsNotAnAnswer) {
  const auto set = started({place("printf half; exec sleep 100")});
  const auto answers = set->collect(Deadline::after_ms(200), kSecond);
  ASSERT_FALSE(answers[0]);
  EXPECT_EQ(answers[0].error().code, ErrorCode::kTimeout);
}

TEST(RankSet, TickCanGiveUp) {
  const auto set = started({place("exec sleep 100")});
  int ticks = 0;
  const auto answers =
      set->collect(Deadline::after_ms(60'000), kSecond, [&] { return ++ticks < 3; });
  EXPECT_EQ(ticks, 3);
  EXPECT_FALSE(answers[0]);
}

TEST(RankSet, StopEndsEvenTheStubborn) {
  const auto set = started({place(echo(0)), place("trap '' TERM; exec sleep 100")});
  const pid_t stubborn = set->pid(1);
  set->stop(50);
  EXPECT_EQ(kill(stubborn, 0), -1);
}

TEST(RankSet, UnstartableRankIsNamed) {
  const auto set = RankSet::start({place("exit 0"), {"elsewhere", {"/proc/nonexistent/program"}}});
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().what.find("rank 1 on elsewhere"), std::string::npos);
}

}  // namespace
}  // namespace plumbline
