// A child process with pipes on its standard input and output, spoken to in lines; its standard
// error goes where ours goes, or to a pipe of its own. The child dies with its parent: it sees
// end-of-file on its input (and on Linux asks the kernel for SIGKILL, see die_with_parent()).
// Destroying a Process kills and reaps it, so that nothing is left behind. One thread at a time.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/fd.h"
#include "launch/rank_wire.h"

namespace plumbline {

struct ProcessOptions {
  bool catch_errors = false;  // standard error goes to take_errors() instead of ours
};

class Process : public RankWire {
 public:
  // argv[0] is looked up in PATH when it has no slash. The child leads its own process group, so
  // that Ctrl-C at the terminal reaches the coordinator only, which then ends the run in order.
  // Linux kills children that asked for it (die_with_parent) when the *thread* that spawned them
  // ends.
  static Expected<std::unique_ptr<Process>> spawn(const std::vector<std::string>& argv,
                                                  const ProcessOptions& options = {});
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const override { return pid_; }
  // Sends one line (the newline is added).
  Status write_line(const std::string& line, Deadline deadline) override;
  void try_write_line(const std::string& line) const override;
  // Next line without its newline. kPeerLost with the exit status in words when the child's output
  // ends.
  Expected<std::string> read_line(Deadline deadline) override;
  // For poll(2) over several children; a complete line may already be buffered, see has_line().
  int read_fd() const override { return output_.get(); }
  bool has_line() const override { return buffer_.find('\n') != std::string::npos; }
  // Closes the child's standard input: the polite way to ask it to end.
  void close_input() override { input_.reset(); }
  bool is_stopped() const override;
  // For an owner that moves the bytes itself: the (non-blocking) ends of the pipes.
  Fd take_input() { return std::move(input_); }
  Fd take_output() { return std::move(output_); }
  Fd take_errors() { return std::move(errors_); }
  void kill(int signal) override;
  // Reaches the children that it started too, unless they lead groups of their own.
  void kill_group(int signal);
  // Waits for its end; false when it still runs at the deadline.
  bool wait(Deadline deadline) override;
  // "exited with status 3", "was killed by signal 9 (Killed)", "is running".
  std::string state() const;
  // Its exit status, or 128 + signal; -1 while it runs, as far as wait() has seen.
  int exit_status() const;

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  Fd input_, output_, errors_;
  std::string buffer_;
  bool reaped_ = false;
  int status_ = 0;
};

// Starts a program whose standard input and output are this connection; it is nobody's to wait for.
Status spawn_on(int connection, const std::vector<std::string>& argv);

// Asks the kernel to send this process a signal when its parent dies, where the kernel can (Linux);
// elsewhere nothing, and the end of the standard input has to do.
void die_with_parent(int signal = SIGKILL);

// pipe(2) whose ends no child inherits by accident: ends[0] reads, ends[1] writes. false with
// errno.
bool open_pipe(int ends[2]);

// Absolute path of the running program.
Expected<std::string> own_program_path();

}  // namespace plumbline
