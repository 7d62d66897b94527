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

// What is started on a host on our behalf, and spoken to over its standard streams: an agent, a
// rank, a guard. And how two ends learn that the other has gone where a network that died tells
// nobody: whoever asks says something every kAliveEveryNs, and whoever serves ends when it has
// heard nothing for kLeaseS. Agents, ranks and guards behind ssh serve so.
struct ServingCommand {
  std::string host;               // its name, for messages
  std::vector<std::string> argv;  // "plumbline rank", "ip netns exec NAME plumbline agent", ssh ...
  bool remote = false;            // argv is an ssh command: it ends when it hears nothing
};

// How two ends learn that the other has gone, see above.
inline constexpr int64_t kAliveEveryNs = 2 * kSecond;
// Longer than ssh itself takes to notice a dead network (launch/ssh.cc), so that its words come
// first.
inline constexpr int kLeaseS = 10;

// The serving end. One thread.
class Lease {
 public:
  // 0 = it never ends.
  explicit Lease(int64_t ms) : ms_(ms) { heard(); }
  void heard() { end_ = ms_ > 0 ? Deadline::after_ms(ms_) : Deadline::never(); }
  bool over() const { return end_.passed(); }
  // For poll(2).
  int poll_timeout_ms(int cap_ms) const { return end_.poll_timeout_ms(cap_ms); }

 private:
  int64_t ms_;
  Deadline end_ = Deadline::never();
};

struct ProcessOptions {
  bool catch_errors = false;  // standard error goes to take_errors() instead of ours
};

class Process : public LineWire {
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
  void try_write_line(const std::string& line) const override;
  // Closes the child's standard input: the polite way to ask it to end.
  void close_input() override { to_.reset(); }
  bool is_stopped() const override;
  // For an owner that moves the bytes itself: the (non-blocking) ends of the pipes.
  Fd take_input() { return std::move(to_); }
  Fd take_output() { return std::move(from_); }
  Fd take_errors() { return std::move(errors_); }
  // Reaches the children that it started too, unless they lead groups of their own.
  void kill(int signal) override;
  // Waits for its end; false when it still runs at the deadline.
  bool wait(Deadline deadline) override;
  // "exited with status 3", "was killed by signal 9 (Killed)", "is running".
  std::string state() const;
  // Its exit status, or 128 + signal; -1 while it runs, as far as wait() has seen.
  int exit_status() const;

 private:
  Process(pid_t pid, Fd to, Fd from, Fd errors)
      : LineWire(std::move(to), std::move(from)), pid_(pid), errors_(std::move(errors)) {}
  ssize_t put(const char* bytes, size_t count) const override {
    return ::write(to_.get(), bytes, count);
  }
  std::string doing(const char* verb) const override;
  Error gone(int err) override;
  pid_t pid_;
  Fd errors_;
  bool reaped_ = false;
  int status_ = 0;
};

// The standard streams of a program that is started; -1 = it has ours.
struct StandardStreams {
  int in = -1, out = -1, errors = -1;
};
// Starts it, looked up in PATH when argv[0] has no slash; whose child it is waits for it, if
// anybody does. With a group of its own it begins with no signal blocked.
Expected<pid_t> start_program(const std::vector<std::string>& argv, const StandardStreams& streams,
                              bool own_group);

// The exit status, or 128 + signal, of what waitpid(2) says.
int exit_status_of(int status);

// Asks the kernel to send this process a signal when its parent dies, where the kernel can (Linux);
// elsewhere nothing, and the end of the standard input has to do.
void die_with_parent(int signal = SIGKILL);

// pipe(2) whose ends no child inherits by accident: ends[0] reads, ends[1] writes. false with
// errno.
bool open_pipe(int ends[2]);

}  // namespace plumbline
