// Which programs started a process, outwards to the system's first one, from what ps(1) prints; and
// who of them is the one that macOS asks about: since macOS 15 a program may use the local network
// when the application that it was started from may (Apple's technote TN3179), whatever the program
// itself is called. Of a program its name is told and no more: no arguments, no folders, nothing
// that is no plain name. Pure functions of text that is not trusted, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

constexpr size_t kMostParents = 16;  // of a chain, the process itself included

struct ProcessRow {
  int64_t parent = 0;
  std::string command;  // as it stands there: a path, blanks and all
};
using ProcessTable = std::map<int64_t, ProcessRow>;  // by PID

// Of `ps -o pid=,ppid=,comm=`, or the same without the last column. Lines that make no sense are
// left out; of several about one process the first counts.
ProcessTable parse_processes(std::string_view text);
// The process, its parent, and so on: to the last one that is in the table. A circle ends where it
// closes.
std::vector<int64_t> parents_of(const ProcessTable& table, int64_t pid);

// What may be told of a program: of a path with an application in it "iTerm.app", else the last
// part, without the dash of a login shell and the words that a daemon adds ("sshd: me@ttys001").
// "?" where that is no plain name.
std::string program_name(std::string_view command);
// Letters, digits, "._+-" and blanks, 64 at most, or "?".
bool is_program_name(std::string_view name);

// Whom macOS asks about, by the names of such a chain.
struct Starter {
  std::string program;    // "tmux"; empty: not known
  bool over_ssh = false;  // the chain ends in the daemon of ssh: nobody is asked about that
  bool whole = false;     // it was followed to the system's first process
};
Starter starter_of(const std::vector<std::string>& started_by);

}  // namespace plumbline
