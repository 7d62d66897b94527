// What was started and still runs on this machine: what a run left behind, found by the run's id in
// the processes' environment (PLUMBLINE_RUN_ID, which all that a run starts inherits), never by a
// program's name, and only of the calling user; and what came of one process that this one started.
// Platform code: leftovers_linux.cc, leftovers_macos.cc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/clock.h"
#include "core/host/process_facts.h"

namespace plumbline {

struct Leftover {
  pid_t pid = 0;
  std::string run_id;
  std::string command;  // its command line, on one line, shortened
};

// Processes of this user that have this variable in their environment, with its value as run_id;
// not this process itself.
std::vector<Leftover> find_marked(const std::string& variable);

// Those of one run, or of every run when `run_id` is empty.
std::vector<Leftover> find_leftovers(const std::string& run_id);

// Their coordinators, where these live: what of `plumbline run` and `coll` of this user started one
// of them. They do not have the id in their own environment, and would start what is ended anew.
std::vector<Leftover> find_coordinators(const std::vector<Leftover>& processes);
// SIGTERM, with which a coordinator ends its run in order; once more, with which it ends at once,
// for those that are still there after `gentle_ms`; and SIGKILL after as long again. What is left
// then.
std::vector<Leftover> end_coordinators(const std::vector<Leftover>& coordinators,
                                       int64_t gentle_ms);

// SIGTERM, and SIGKILL for those that are still there after `gentle_ms`; what is left then.
std::vector<Leftover> end_leftovers(const std::string& run_id, int64_t gentle_ms);

// What a process started and what came of that, also where it went into a session of its own or
// lost its parent (a daemon). Linux: this process becomes the parent of its descendants' orphans,
// so that all of them stay below it, whatever they do. macOS has no such thing: there it is what
// carries a variable of ours in its environment, which a program can take out.
class Offspring {
 public:
  // Before anything is started. One per process.
  Offspring();
  // Those that live now, but for this process itself; the ended ones that wait to be reaped are
  // none.
  std::vector<pid_t> find() const;

 private:
  std::string mark_;  // macOS: the variable's value
};

}  // namespace plumbline
