// Agents in network namespaces of their own, which need root (TEST_LABS=1).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/command.h"
#include "core/json.h"
#include "launch/agent_link.h"
#include "test_agent.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

class NamespaceAgent : public testing::Test {
 protected:
  void SetUp() override {
    if (getenv("TEST_LABS") == nullptr) GTEST_SKIP() << "makes namespaces: TEST_LABS=1 asks for it";
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    const auto added = run_command({"ip", "netns", "add", name_}, soon());
    ASSERT_TRUE(added && added->status == 0) << (added ? added->err : added.error().message());
    made_ = true;
  }
  void TearDown() override {
    if (made_) run_command({"ip", "netns", "delete", name_}, soon());
  }
  AgentStart start(const std::vector<std::string>& program) const {
    std::vector<std::string> argv = {"ip", "netns", "exec", name_};
    argv.insert(argv.end(), program.begin(), program.end());
    return std::move(start_agents({{"ns", argv}}, {}, soon()).front());
  }
  static std::string namespace_of(const std::string& pid) {
    return std::filesystem::read_symlink("/proc/" + pid + "/ns/net");
  }

  const std::string name_ = "launchtest" + std::to_string(getpid());
  bool made_ = false;
};

TEST_F(NamespaceAgent, RunsInItAndDiesAtOnce) {
  int pid = 0;
  {
    const AgentStart agent = start(test_program({"agent"}));
    ASSERT_TRUE(agent.agent) << agent.error.message();
    pid = static_cast<int>(agent.hello.pid);
    EXPECT_NE(namespace_of(std::to_string(pid)), namespace_of("self"));
    EXPECT_TRUE(call(*agent.agent, "echo", {}, soon()));
  }
  EXPECT_FALSE(is_running(pid));
}

TEST_F(NamespaceAgent, WithoutTheProgramItHasNoBinary) {
  const AgentStart agent = start({"/proc/nonexistent/plumbline", "agent"});
  EXPECT_EQ(agent.cause, "ssh.no_binary") << agent.error.message();
  EXPECT_THAT(agent.error.message(), HasSubstr("/proc/nonexistent/plumbline"));
}

TEST_F(NamespaceAgent, WhoMayNotEnterItCannotReachIt) {
  if (find_program("setpriv").empty()) GTEST_SKIP() << "no setpriv (util-linux) here";
  const auto starts = start_agents({{"ns",
                                     {"setpriv", "--reuid", "nobody", "--clear-groups",
                                      "--inh-caps=-all", "ip", "netns", "exec", name_, "true"}}},
                                   {}, soon());
  EXPECT_EQ(starts[0].cause, "ssh.unreachable") << starts[0].error.message();
}

}  // namespace
}  // namespace plumbline
