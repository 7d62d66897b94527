// What the system tells of processes. Of another one: its name, parent, user, arguments, and a
// variable of the environment that it was started with; only what this user may read, and a process
// that has ended meanwhile is told of in part or not at all. Of this one: the memory that it holds
// and the cores that it may use. Platform code: process_facts_linux.cc, process_facts_macos.cc.
// Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

// All that a run starts inherits its id in this variable.
inline constexpr const char* kRunIdVariable = "PLUMBLINE_RUN_ID";
// May this be the id of a run? What others wrote into their environment may be anything.
inline bool is_run_id(std::string_view text) {
  constexpr size_t kLongest = 64;
  return !text.empty() && text.size() <= kLongest &&
         std::string_view("-_.").find(text[0]) == std::string_view::npos &&
         text.find_first_not_of("0123456789abcdefABCDEF-_.") == std::string_view::npos;
}

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
// All of them, NAME=VALUE, each ended by a zero; empty when they may not be read. They may hold
// secrets: whoever asks keeps what he needs and nothing else.
std::string process_environment(int64_t pid);

// ---- of this process ----

// Absolute path of the running program.
Expected<std::string> own_program_path();

// Resident bytes now; absent when the system does not tell.
std::optional<uint64_t> resident_bytes();

// How many cores it may use, with the hardware threads of one core counted once: what Open MPI
// takes for the slots of a host that names none.

int physical_cores();  // at least 1

}  // namespace plumbline
