// The tests, and the programs that they start:
//   tests_launch                    the tests
//   tests_launch agent [VERSION]    an agent on standard input and output
//   tests_launch coordinator        starts two agents, prints their pids, and waits to be killed
//   tests_launch listen TOKEN_FILE  an agent on any port of 127.0.0.1, which it prints

#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>

#include "core/json.h"
#include "launch/agent_link.h"
#include "launch/process.h"
#include "test_agent.h"

namespace plumbline {
namespace {

int be_agent(const std::string& version) {
  die_with_parent();
  std::cerr << "test agent starts\n";
  return serve_agent(STDIN_FILENO, STDOUT_FILENO, test_requests(), test_settings(version)) ? 0 : 1;
}

int be_coordinator() {
  const std::vector<std::string> agent = test_program({"agent"});
  // The second does not ask to die with its parent: it has to notice the end of its input.
  const auto starts = start_agents({{"a", agent}, {"b", {"/bin/sh", "-c", agent[0] + " agent; :"}}},
                                   {}, Deadline::after_ms(20'000));
  for (const AgentStart& start : starts) std::cout << start.hello.pid << std::endl;
  // In the middle of a request.
  starts[0].agent->ask("block", {{"ms", 60'000}}, Deadline::after_ms(60'000));
  starts[1].agent->ask("sleep", {{"ms", 60'000}}, Deadline::after_ms(60'000));
  pause();
  return 0;
}

int be_listener(const std::string& token_file) {
  constexpr int64_t kWaitMs = 20'000;
  const Expected<std::string> token = read_token(token_file);
  if (!token) return 1;
  const auto ready = [](int port) { std::cout << port << std::endl; };
  return serve_one_coordinator({"127.0.0.1"}, 0, *token, kWaitMs, test_requests(), test_settings(),
                               ready)
             ? 0
             : 1;
}

}  // namespace
}  // namespace plumbline

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "agent") return plumbline::be_agent(argc > 2 ? argv[2] : PLUMBLINE_VERSION);
  if (mode == "coordinator") return plumbline::be_coordinator();
  if (mode == "listen" && argc > 2) return plumbline::be_listener(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
