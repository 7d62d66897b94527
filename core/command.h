// Runs another program to its end and returns what it said: never longer than the deadline, never
// more output than asked for, never with a shell in between. For the small tools that systems have
// to tell about themselves (ip, nft, ifconfig ...). The child gets /dev/null as standard input (or
// `input`), the C locale, and dies when the deadline passes or this process ends. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace plumbline {

struct CommandResult {
  int status = 0;  // exit status, or 128 + signal
  std::string out, err;
  bool truncated = false;  // output beyond `max_bytes` was thrown away
};

struct CommandOptions {
  std::string input;           // given on standard input
  size_t max_bytes = 8 << 20;  // of standard output and of standard error each
  // Asked every few ms: 0 = go on; 1 = end the command in order (SIGTERM to it and its children,
  // SIGKILL where that does not help within 2 s); 2 = end it at once.
  std::function<int()> stop;
};

// kUnsupported when the program does not exist, kTimeout when it was killed at the deadline,
// kInterrupted when `stop` ended it. A
// program that ends with a status other than 0 is no Error. PATH is searched, and then /usr/sbin
// and /sbin, which a user's PATH often lacks.
Expected<CommandResult> run_command(const std::vector<std::string>& argv, Deadline deadline,
                                    const CommandOptions& options = {});

// Absolute path of a program, looked up as run_command does; empty when there is none.
std::string find_program(const std::string& name);

}  // namespace plumbline
