// What the system tells of another process: its name, parent, user, arguments, and a variable of
// the environment that it was started with. Only what this user may read; a process that has ended
// meanwhile is told of in part or not at all. Platform code: process_facts_linux.cc,
// process_facts_macos.cc. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// All that a run starts inherits its id in this variable.
inline constexpr const char* kRunIdVariable = "PLUMBLINE_RUN_ID";
// May this be the id of a run? What others wrote into their environment may be anything.
bool is_run_id(std::string_view text);

struct ProcessFacts {
  int64_t pid = 0, parent = 0;         // the parent as it is now: of an orphan whoever adopted it
  int64_t user = -1;                   // the real one
  std::string name;                    // as the system cuts it: 15 characters
  std::vector<std::string> arguments;  // empty when they may not be read
};

// nullopt when there is no such process.
std::optional<ProcessFacts> read_process(int64_t pid);
// Empty when it is not set, or may not be read.
std::string process_variable(int64_t pid, const std::string& name);

}  // namespace plumbline
