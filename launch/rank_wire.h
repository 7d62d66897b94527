// The way from the coordinator to one rank: a child process's pipes, or the connection of a rank
// that a launcher started elsewhere. Lines go there, lines come back. One thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace plumbline {

class RankWire {
 public:
  virtual ~RankWire() = default;
  // On its host; 0 = not known.
  virtual pid_t pid() const = 0;
  // Sends one line (the newline is added).
  virtual Status write_line(const std::string& line, Deadline deadline) = 0;
  // The same for a short line (less than PIPE_BUF) that may as well get lost: at once or not at
  // all.
  virtual void try_write_line(const std::string& /*line*/) const {}
  // Next line without its newline; kPeerLost with what became of the rank, kTimeout.
  virtual Expected<std::string> read_line(Deadline deadline) = 0;
  // For poll(2) over several; a complete line may already be buffered, see has_line().
  virtual int read_fd() const = 0;
  virtual bool has_line() const = 0;
  // The polite way to ask it to end.
  virtual void close_input() = 0;
  // Its process is stopped (SIGSTOP, a debugger) just now, as far as that can be seen from here.
  virtual bool is_stopped() const { return false; }
  virtual void kill(int signal) = 0;
  // Waits for its end, as far as that can be seen from here; false = it still runs.
  virtual bool wait(Deadline deadline) = 0;
};

// Ends all that are behind these: input closed, then SIGTERM after `polite_ms`, then SIGKILL after
// `term_ms` more; within a second of that every process is reaped.
void end_wires(const std::vector<RankWire*>& wires, int polite_ms, int term_ms);

}  // namespace plumbline
