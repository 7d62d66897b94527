// `plumbline agent`, started as the coordinator does and by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "cli/agent_command.h"
#include "core/json.h"
#include "launch/agent_link.h"
#include "launch/process.h"
#include "tests/support/agents.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Deadline soon() { return Deadline::after_ms(20'000); }

Nic nic(const std::string& kind, const std::vector<std::string>& ips) {
  Nic result;
  result.kind = kind;
  result.up = true;
  for (const std::string& ip : ips) {
    NicAddress address;
    address.ip = ip;
    address.loopback = kind == "loopback";
    address.link_local = ip.rfind("fe80", 0) == 0;
    result.addresses.push_back(address);
  }
  return result;
}

TEST(AgentCommand, ListensWhereOthersCanReachIt) {
  const Nic lo = nic("loopback", {"127.0.0.1", "::1"});
  const Nic docker = nic("bridge", {"172.17.0.1"});
  const Nic card = nic("ethernet", {"2001:db8::1", "fe80::1", "10.0.0.1"});
  Nic down = nic("ethernet", {"10.9.0.1"});
  down.up = false;
  EXPECT_THAT(listening_addresses({lo, docker, down, card}),
              ElementsAre("10.0.0.1", "2001:db8::1", "172.17.0.1"));
  EXPECT_THAT(listening_addresses({lo}), ElementsAre("127.0.0.1"));
}

TEST(AgentCommand, TheLineToPasteHandsTheTokenOverInAPipe) {
  EXPECT_EQ(paste_line("10.0.0.2", 29499, "abc", ""),
            "echo abc | PLUMBLINE_TOKEN_FILE=/dev/stdin plumbline doctor --peer 10.0.0.2:29499");
  EXPECT_EQ(paste_line("2001:db8::1", 1, "abc", "/run/token"),
            "PLUMBLINE_TOKEN_FILE=/run/token plumbline doctor --peer [2001:db8::1]:1");
}

TEST(AgentCommand, IsGreetedByItsCoordinator) {
  auto starts = start_agents({{"h", {test::program_path(), "agent"}}}, {}, soon());
  ASSERT_TRUE(starts[0].agent) << starts[0].error.message();
  EXPECT_EQ(starts[0].hello.version, PLUMBLINE_VERSION);
  // "0.1.0-94c2e3b40a12", or the version alone where the sources are no checkout.
  EXPECT_THAT(starts[0].hello.build, testing::MatchesRegex(PLUMBLINE_VERSION "(-[0-9a-f]+)?"));
  const auto reply = call(*starts[0].agent, "no such request", {}, soon());
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kUnsupported);
}

TEST(AgentCommand, ListensForTheOneWhoKnowsTheToken) {
  auto agent = Process::spawn({test::program_path(), "agent", "--listen", "--address", "127.0.0.1",
                               "--port", "0", "--minutes", "1"});
  ASSERT_TRUE(agent);
  const std::string line = (*agent)->read_line(soon()).value();
  std::istringstream words(line);
  std::string echo, token, peer;
  words >> echo >> token;
  while (words >> peer) {
  }
  ASSERT_EQ(echo, "echo") << line;
  ASSERT_EQ(token.size(), 64u) << line;
  ASSERT_EQ(peer.rfind("127.0.0.1:", 0), 0u) << line;
  std::ifstream file("/proc/" + std::to_string((*agent)->pid()) + "/cmdline");
  std::stringstream shown;
  shown << file.rdbuf();
  EXPECT_EQ(shown.str().find(token), std::string::npos);
  {
    const int port = std::stoi(peer.substr(peer.rfind(':') + 1));
    const AgentStart start = attach_agent("h", "127.0.0.1", port, token, soon());
    ASSERT_TRUE(start.agent) << start.error.message();
    EXPECT_EQ(start.hello.pid, (*agent)->pid());
  }
  EXPECT_TRUE((*agent)->wait(Deadline::after_ms(5'000)));
  EXPECT_EQ((*agent)->exit_status(), 0);
}

TEST(AgentCommand, WrongFlagsAreSaid) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"agent", "--listen", "--port", "65536"}, "--port '65536'"},
      {{"agent", "--listen", "--port", "x"}, "--port 'x'"},
      {{"agent", "--listen", "--minutes", "0"}, "--minutes '0'"},
      {{"agent", "--listen", "--minutes", "1.5"}, "--minutes '1.5'"},
      {{"agent", "--listen", "--address", "nowhere"}, "nowhere"},
      {{"agent", "--port", "1"}, "--port goes with --listen"},
  };
  for (const auto& [arguments, words] : cases) {
    const Finished result = run_program(plumbline_argv(arguments));
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr(words));
  }
}

}  // namespace
}  // namespace plumbline
