// Agents that work, and agents that cannot be started or greeted.

#include "launch/agent_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "core/command.h"
#include "core/json.h"
#include "launch/agent_lines.h"
#include "test_agent.h"
#include "tests/support/agents.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(AgentLink, IsGreetedAndAnswers) {
  AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent) << start.error.message();
  EXPECT_EQ(start.hello.version, PLUMBLINE_VERSION);
  EXPECT_EQ(start.hello.build, "a test");
  EXPECT_EQ(start.hello.uid, static_cast<int64_t>(getuid()));
  EXPECT_EQ(start.hello.config.at("mesh"), "yes");
  EXPECT_TRUE(is_running(static_cast<int>(start.hello.pid)));
  EXPECT_EQ(start.agent->host(), "h1");
  const auto reply = call(*start.agent, "echo", {{"a", 1}}, soon());
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->at("a"), 1);
}

TEST(AgentLink, TheClockOfThisMachineIsRight) {
  const AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent);
  EXPECT_GT(start.hello.clock_uncertainty_ns, 0);
  EXPECT_LT(start.hello.clock_uncertainty_ns, kSecond);
  EXPECT_LE(std::abs(start.hello.clock_offset_ns), start.hello.clock_uncertainty_ns);
}

TEST(AgentLink, AForeignClockIsToldByItsOffset) {
  // An agent whose clock stands at 0.
  const AgentStart start = shell_agent(greeting() + "read x");
  ASSERT_TRUE(start.agent) << start.error.message();
  EXPECT_NEAR(static_cast<double>(start.hello.clock_offset_ns),
              -static_cast<double>(wall_clock_ns()), 60e9);
}

TEST(AgentLink, ErrorsOfHandlersComeThrough) {
  const AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent);
  const auto reply = call(*start.agent, "refuse", {}, soon());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().cause, "tcp.port_in_use");
  EXPECT_EQ(reply.error().sys_errno, EADDRINUSE);
}

TEST(AgentLink, SixtyFourRequestsFromManyThreads) {
  const AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&, i] {
      const int64_t ticket = start.agent->ask("sleep", {{"ms", 20}}, soon());
      const auto echo = call(*start.agent, "echo", {{"i", i}}, soon());
      if (echo && echo->at("i") == i && start.agent->reply(ticket)) ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 64);
}

TEST(AgentLink, LargeRequestsAndAnswers) {
  const AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent);
  // Larger than any pipe; a sanitizer reads JSON so slowly that the agent would pass for silent.
  const std::string text(test::kSanitized ? 200'000 : 2'000'000, 'x');
  const auto reply = call(*start.agent, "echo", {{"text", text}}, Deadline::after_ms(60'000));
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->at("text"), text);
}

TEST(AgentLink, ARequestThatOverrunsIsNoReasonToGiveTheAgentUp) {
  const AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent);
  const auto reply = call(*start.agent, "block", {{"ms", 1'000}}, Deadline::after_ms(300));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(reply.error().cause, "");
  EXPECT_TRUE(call(*start.agent, "echo", {}, soon()));
}

TEST(AgentLink, TicketsAreForOneReply) {
  const AgentStart start = start_one(test_program({"agent"}));
  ASSERT_TRUE(start.agent);
  const int64_t ticket = start.agent->ask("echo", {}, soon());
  EXPECT_TRUE(start.agent->reply(ticket));
  EXPECT_EQ(start.agent->reply(ticket).error().code, ErrorCode::kUsage);
  EXPECT_EQ(start.agent->reply(12345).error().code, ErrorCode::kUsage);
  EXPECT_EQ(call(*start.agent, "echo", {}, Deadline::after_ms(-1)).error().code,
            ErrorCode::kTimeout);
}

TEST(AgentStartFailure, AMissingProgram) {
  const AgentStart start = start_one({"/proc/nonexistent/plumbline", "agent"});
  EXPECT_FALSE(start.agent);
  EXPECT_EQ(start.cause, "ssh.no_binary");
  EXPECT_EQ(start.error.sys_errno, ENOENT);
  EXPECT_THAT(start.error.message(), HasSubstr("/proc/nonexistent/plumbline agent"));
}

TEST(AgentStartFailure, AFileThatMayNotBeExecuted) {
  const AgentStart start = start_one({"/etc/passwd"});
  EXPECT_EQ(start.cause, "ssh.no_binary");
  EXPECT_EQ(start.error.sys_errno, EACCES);
}

TEST(AgentStartFailure, NothingToStart) { EXPECT_EQ(start_one({}).cause, "ssh.no_binary"); }

TEST(AgentStartFailure, AShellThatDoesNotFindTheProgram) {
  // A folder of the user's own PATH that may not be entered would make it "permission denied".
  const AgentStart start =
      shell_agent("LC_ALL=C; PATH=/usr/bin:/bin; exec nonexistent-plumbline agent");
  EXPECT_EQ(start.cause, "ssh.no_binary");
  EXPECT_THAT(start.error.message(), HasSubstr("exited with status 127"));
  EXPECT_THAT(start.error.message(), HasSubstr("not found"));
}

TEST(AgentStartFailure, AProgramOfAnotherMachine) {
  const AgentStart start = shell_agent("echo 'plumbline: Exec format error' >&2; exit 126");
  EXPECT_EQ(start.cause, "ssh.wrong_binary");
}

TEST(AgentStartFailure, ANamespaceThatDoesNotExist) {
  if (find_program("ip").empty()) GTEST_SKIP() << "no ip (iproute2) here";
  const AgentStart start =
      start_one({"ip", "netns", "exec", "no-such-namespace-" + std::to_string(getpid()), "true"});
  EXPECT_EQ(start.cause, "ssh.unreachable") << start.error.message();
  EXPECT_THAT(start.error.message(), HasSubstr("no-such-namespace"));
}

TEST(AgentStartFailure, ANamespaceWithoutTheProgram) {
  const AgentStart start =
      shell_agent("echo 'exec of \"plumbline\" failed: No such file or directory' >&2; exit 255");
  EXPECT_EQ(start.cause, "ssh.no_binary");
}

TEST(AgentStartFailure, AnotherVersion) {
  const AgentStart start = start_one(test_program({"agent", "0.0.7"}));
  EXPECT_FALSE(start.agent);
  EXPECT_EQ(start.cause, "config.version_mismatch");
  EXPECT_EQ(start.error.cause, start.cause);
  EXPECT_THAT(start.error.message(), HasSubstr("0.0.7"));
  EXPECT_THAT(start.error.message(), HasSubstr(PLUMBLINE_VERSION));
}

TEST(AgentStartFailure, ItDiesAtOnceWithLastWords) {
  const AgentStart start = shell_agent("echo first >&2; echo 'no licence' >&2; exit 3");
  EXPECT_EQ(start.cause, "rank.agent_lost");
  EXPECT_THAT(start.error.message(), HasSubstr("exited with status 3"));
  EXPECT_THAT(start.error.message(), HasSubstr("first | no licence"));
}

TEST(AgentStartFailure, ItIsKilledAtOnce) {
  const AgentStart start = shell_agent("kill -9 $$");
  EXPECT_EQ(start.cause, "rank.agent_lost");
  EXPECT_THAT(start.error.message(), HasSubstr("killed by signal 9"));
}

TEST(AgentStartFailure, ItSaysNothing) {
  const int64_t begin = monotonic_ns();
  const AgentStart start = shell_agent("echo 'password?' >&2; trap '' TERM; sleep 60", 3'000);
  EXPECT_EQ(start.cause, "rank.agent_lost");
  EXPECT_EQ(start.error.code, ErrorCode::kTimeout);
  EXPECT_THAT(start.error.message(), HasSubstr("password?"));
  EXPECT_LT(monotonic_ns() - begin, 20 * kSecond);
}

TEST(AgentStartFailure, ItLeavesItsOutputToAChild) {
  const AgentStart start = shell_agent("sleep 5 & exit 4");
  EXPECT_EQ(start.cause, "rank.agent_lost");
  EXPECT_THAT(start.error.message(), HasSubstr("exited with status 4"));
}

class Nonsense : public testing::TestWithParam<const char*> {};

TEST_P(Nonsense, InsteadOfAGreeting) {
  const int64_t begin = monotonic_ns();
  const AgentStart start = shell_agent(GetParam());
  EXPECT_FALSE(start.agent);
  EXPECT_EQ(start.cause, "rank.agent_lost") << GetParam();
  EXPECT_EQ(start.error.code, ErrorCode::kProtocol) << start.error.message();
  EXPECT_LT(monotonic_ns() - begin, 10 * kSecond);
}

INSTANTIATE_TEST_SUITE_P(
    All, Nonsense,
    testing::Values("cat", "echo 'Last login: Tue'; cat >/dev/null", "yes", "yes ''",
                    "cat /dev/zero", "read x; echo '{}'; sleep 60",
                    "read x; echo '{\"id\": 2, \"reply\": {}}'; sleep 60",
                    "read x; echo '{\"id\": 1, \"reply\": {}}'; sleep 60",
                    "read x; echo '{\"id\": 1, \"reply\": {\"version\": 1}}'; sleep 60",
                    "read x; echo '{\"id\": 1, \"reply\": [[[1]]]}'; sleep 60",
                    "read x; echo '{\"id\": 1, \"error\": 7}'; sleep 60",
                    "echo '{\"id\": 1, \"reply\": {}}'; sleep 60"));

TEST(AgentStartFailure, OneBadAgentDoesNotHarmTheOthers) {
  std::vector<ServingCommand> places = {{"good1", test_program({"agent"})},
                                        {"silent", {"/bin/sh", "-c", "sleep 60"}},
                                        {"flood", {"/bin/sh", "-c", "cat /dev/zero"}},
                                        {"loud", {"/bin/sh", "-c", "cat /dev/zero >&2"}},
                                        {"missing", {"/proc/nonexistent"}},
                                        {"good2", test_program({"agent"})}};
  constexpr int64_t kLimitMs = test::kSanitized ? 15'000 : 5'000;  // the silent one costs all of it
  const int64_t begin = monotonic_ns();
  auto starts = start_agents(places, {}, Deadline::after_ms(kLimitMs));
  EXPECT_LT(monotonic_ns() - begin, kLimitMs * kMillisecond + 10 * kSecond);
  ASSERT_EQ(starts.size(), 6u);
  for (const size_t good : {0, 5}) {
    ASSERT_TRUE(starts[good].agent) << starts[good].error.message();
    EXPECT_TRUE(call(*starts[good].agent, "echo", {}, soon()));
    EXPECT_LT(starts[good].hello.clock_uncertainty_ns, 3 * kSecond);
  }
  for (const size_t bad : {1, 2, 3, 4}) EXPECT_FALSE(starts[bad].agent) << places[bad].host;
  EXPECT_EQ(starts[1].cause, "rank.agent_lost");
  EXPECT_EQ(starts[2].cause, "rank.agent_lost");
  EXPECT_EQ(starts[3].cause, "rank.agent_lost");
  EXPECT_EQ(starts[4].cause, "ssh.no_binary");
}

}  // namespace
}  // namespace plumbline
