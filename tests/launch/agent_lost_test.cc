// Agents that die, hang or talk nonsense after they were greeted, and how agents end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "core/json.h"
#include "launch/agent_link.h"
#include "launch/process.h"
#include "test_agent.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

void expect_lost(HostAgent& agent, const Expected<json>& reply, ErrorCode code,
                 const std::string& words) {
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, code) << reply.error().message();
  EXPECT_EQ(reply.error().cause, "rank.agent_lost");
  EXPECT_THAT(reply.error().message(), HasSubstr(words));
  // And so do all later ones, at once.
  const int64_t begin = monotonic_ns();
  const auto again = call(agent, "echo", {}, soon());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message(), reply.error().message());
  EXPECT_LT(monotonic_ns() - begin, 10 * kSecond) << "its deadline, 20 s, was waited for";
}

TEST(LostAgent, DiesInTheMiddleOfARequest) {
  const AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent);
  const int64_t other = start.agent->ask("sleep", {{"ms", 60'000}}, soon());
  const int64_t begin = monotonic_ns();
  expect_lost(*start.agent, call(*start.agent, "die", {}, soon()), ErrorCode::kPeerLost,
              "killed by signal 9");
  EXPECT_EQ(start.agent->reply(other).error().code, ErrorCode::kPeerLost);
  EXPECT_LT(monotonic_ns() - begin, 5 * kSecond);
}

TEST(LostAgent, ItsLastWordsAreKept) {
  const AgentStart start =
      shell_agent(greeting() + "read x; echo 'out of memory' >&2; echo 'giving up' >&2; exit 7");
  ASSERT_TRUE(start.agent) << start.error.message();
  const auto reply = call(*start.agent, "echo", {}, soon());
  expect_lost(*start.agent, reply, ErrorCode::kPeerLost, "exited with status 7");
  EXPECT_THAT(reply.error().message(), HasSubstr("out of memory | giving up"));
}

TEST(LostAgent, IsStoppedAndSoHangs) {
  const AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent);
  ASSERT_EQ(kill(static_cast<pid_t>(start.hello.pid), SIGSTOP), 0);
  const int64_t begin = monotonic_ns();
  const auto reply = call(*start.agent, "echo", {}, Deadline::after_ms(60'000));
  // Long before the request's own limit.
  EXPECT_LT(monotonic_ns() - begin, 15 * kSecond);
  expect_lost(*start.agent, reply, ErrorCode::kTimeout, "hangs");
  EXPECT_TRUE(eventually(20'000, [&] { return !is_running(static_cast<int>(start.hello.pid)); }));
}

TEST(LostAgent, IsBusyButAnswersStill) {
  const AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent);
  const auto reply = call(*start.agent, "sleep", {{"ms", 5'000}}, Deadline::after_ms(60'000));
  EXPECT_TRUE(reply) << "taken for hung: " << reply.error().message();
}

TEST(LostAgent, DoesNotReadItsRequests) {
  const AgentStart start = shell_agent(greeting() + "sleep 60");
  ASSERT_TRUE(start.agent) << start.error.message();
  const std::string text(1 << 20, 'x');
  const int64_t begin = monotonic_ns();
  for (int i = 0; i < 10; ++i) start.agent->ask("echo", {{"text", text}}, soon());
  EXPECT_LT(monotonic_ns() - begin, 15 * kSecond) << "asking must not wait for its deadline, 20 s";
  expect_lost(*start.agent, call(*start.agent, "echo", {}, soon()), ErrorCode::kTimeout, "hangs");
}

TEST(LostAgent, ClosesItsInputAndOutput) {
  const AgentStart start = shell_agent(greeting() + "exec <&- >&-; exec sleep 60");
  ASSERT_TRUE(start.agent) << start.error.message();
  expect_lost(*start.agent, call(*start.agent, "echo", {}, soon()), ErrorCode::kPeerLost, "closed");
}

class NonsenseLater : public testing::TestWithParam<const char*> {};

TEST_P(NonsenseLater, InsteadOfAnAnswer) {
  const AgentStart start = shell_agent(greeting() + GetParam());
  ASSERT_TRUE(start.agent) << start.error.message();
  expect_lost(*start.agent, call(*start.agent, "echo", {}, soon()), ErrorCode::kProtocol,
              "nonsense");
}

INSTANTIATE_TEST_SUITE_P(All, NonsenseLater,
                         testing::Values("read x; echo hello; sleep 60",
                                         "read x; echo '{\"id\":7,\"reply\":'; sleep 60",
                                         "read x; echo '{\"id\":99,\"reply\":1}'; sleep 60",
                                         "read x; echo '{\"id\":3,\"reply\":1}'; sleep 60",
                                         "read x; echo '{\"id\":\"7\",\"reply\":1}'; sleep 60",
                                         "read x; echo '{\"id\":7,\"error\":[]}'; sleep 60",
                                         "read x; exec cat /dev/zero", "read x; exec yes"));

// Seen: one that flooded a crowded machine was called silent before its line was too long.
TEST(LostAgent, WhoeverSendsALongAnswerIsNotSilent) {
  const AgentStart start = shell_agent(
      greeting() +
      "read x; printf '{\"id\":7,\"reply\":\"'; "
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf x; sleep 0.5; done; echo '\"}'; sleep 60");
  ASSERT_TRUE(start.agent) << start.error.message();
  const auto reply = call(*start.agent, "echo", {}, Deadline::after_ms(60'000));
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(*reply, "xxxxxxxxxxxx");
}

TEST(LostAgent, AnswersOnceMoreThanAsked) {
  const AgentStart start = shell_agent(
      greeting() + "read x; for i in 1 2; do echo '{\"id\":7,\"reply\":1}'; done; sleep 60");
  ASSERT_TRUE(start.agent) << start.error.message();
  EXPECT_TRUE(call(*start.agent, "echo", {}, soon()));
  EXPECT_TRUE(eventually(5'000, [&] {
    const auto reply = call(*start.agent, "echo", {}, Deadline::after_ms(50));
    return !reply && reply.error().code == ErrorCode::kProtocol;
  }));
}

TEST(LostAgent, ALateAnswerIsDropped) {
  const AgentStart start = shell_agent(greeting() +
                                       "read x; read y; echo '{\"id\":7,\"reply\":1}'; "
                                       "echo '{\"id\":8,\"reply\":2}'; sleep 60");
  ASSERT_TRUE(start.agent) << start.error.message();
  const auto first = call(*start.agent, "echo", {}, Deadline::after_ms(50));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::kTimeout);
  const auto second = call(*start.agent, "echo", {}, soon());
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(*second, 2);
}

TEST(EndingAgents, AllWithinASecondWhateverTheyDo) {
  std::vector<ServingCommand> places;
  for (int i = 0; i < 4; ++i) places.push_back({"good", test_program({"agent"})});
  // Each of these takes 0.8 s: one after the other they would take more than 6 s.
  for (int i = 0; i < 8; ++i) {
    places.push_back({"deaf", {"/bin/sh", "-c", greeting() + "trap '' TERM; sleep 60; sleep 60"}});
  }
  auto starts = start_agents(places, {}, soon());
  for (const AgentStart& start : starts) ASSERT_TRUE(start.agent) << start.error.message();
  starts[0].agent->ask("block", {{"ms", 60'000}}, Deadline::after_ms(60'000));
  const int64_t begin = monotonic_ns();
  end_agents(starts);
  EXPECT_LT(monotonic_ns() - begin, 5 * kSecond);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(is_running(static_cast<int>(starts[static_cast<size_t>(i)].hello.pid)));
  }
}

TEST(EndingAgents, TheyDieWithTheirCoordinator) {
  auto coordinator = Process::spawn(test_program({"coordinator"}));
  ASSERT_TRUE(coordinator);
  std::vector<int> pids;
  for (int i = 0; i < 2; ++i) {
    const auto line = (*coordinator)->read_line(soon());
    ASSERT_TRUE(line) << line.error().message();
    pids.push_back(std::stoi(*line));
    EXPECT_TRUE(is_running(pids.back()));
  }
  (*coordinator)->kill(SIGKILL);
  for (const int pid : pids) {
    EXPECT_TRUE(eventually(20'000, [&] { return !is_running(pid); })) << pid;
  }
}

}  // namespace
}  // namespace plumbline
