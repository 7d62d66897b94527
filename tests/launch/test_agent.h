// The agent of these tests: the test binary itself, started again as `tests_launch agent`, with a
// few requests that misbehave as asked. See main.cc for its modes.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "launch/agent_link.h"
#include "launch/agent_loop.h"

namespace plumbline {

// echo (answers its parameters), sleep (`ms`, returns early when the agent ends), block (`ms`, does
// not), die, bytes (`count`), broken_text, throws, refuse.
std::vector<AgentRequest> test_requests();
AgentLoopSettings test_settings(const std::string& version = PLUMBLINE_VERSION);

// How to start this very binary in one of the modes of main.cc.
std::vector<std::string> test_program(const std::vector<std::string>& arguments);

// Long enough for anything that works.
inline Deadline soon() { return Deadline::after_ms(20'000); }

// One agent on host "h1"; of a shell script, for bad agents.
AgentStart start_one(const std::vector<std::string>& argv, int64_t limit_ms = 20'000);
AgentStart shell_agent(const std::string& script, int64_t limit_ms = 20'000);
// The beginning of a script that is taken for an agent: answers hello (request 1) and five `time`,
// so that the next request is number 7.
std::string greeting();

// Polls until it holds, at most `limit_ms`.
template <typename Condition>
bool eventually(int64_t limit_ms, Condition condition) {
  const Deadline deadline = Deadline::after_ms(limit_ms);
  while (!condition()) {
    if (deadline.passed()) return false;
    usleep(5'000);
  }
  return true;
}

// A process with this pid runs (and is no zombie).
bool is_running(int pid);

}  // namespace plumbline
