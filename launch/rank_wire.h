// The way from the coordinator to one rank: a child process's pipes (process.h), a share of such
// pipes, or the connection of a rank that a launcher started elsewhere. Lines go
// there, lines come back, each with a deadline. One thread at a time.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

class Process;

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

// Lines both ways over descriptors that do not block, each with a deadline. What the other end is,
// and how its end shows, say those who derive from it.
class LineWire : public RankWire {
 public:
  Status write_line(const std::string& line, Deadline deadline) override;
  Expected<std::string> read_line(Deadline deadline) override;
  int read_fd() const override { return from_.get(); }
  bool has_line() const override { return buffer_.find('\n') != std::string::npos; }

 protected:
  LineWire(Fd to, Fd from) : to_(std::move(to)), from_(std::move(from)) {}
  // Where lines are written; -1 = nowhere any more.
  virtual int write_fd() const { return to_.get(); }
  // write(2) or what stands for it.
  virtual ssize_t put(const char* bytes, size_t count) const = 0;
  // What is being waited for, in errors: "write to process 7".
  virtual std::string doing(const char* verb) const = 0;
  // What has become of the other end; errno, or 0 when its output ended.
  virtual Error gone(int err) = 0;

  Fd to_, from_;

 private:
  Status ready(int fd, short events, const char* verb, Deadline deadline) const;
  std::string buffer_;
};

// A rank that was not started by us and came over a connection of its own. Ending it means closing
// that connection: a rank whose coordinator has gone ends by itself.
class SocketWire : public LineWire {
 public:
  // `fd` is connected and non-blocking; `who` stands in errors: "the connection to node2
  // (10.0.0.2)".
  SocketWire(Fd fd, std::string who, pid_t pid = 0)
      : LineWire(Fd(), std::move(fd)), who_(std::move(who)), pid_(pid) {}

  pid_t pid() const override { return pid_; }
  void close_input() override { from_.reset(); }
  void kill(int) override { from_.reset(); }
  // What is closed counts as ended: there is nothing more to see from here.
  bool wait(Deadline) override { return !from_.valid(); }
  // For an owner that goes on with the bytes itself; nothing may be buffered.
  Fd take() { return std::move(from_); }

 private:
  int write_fd() const override { return from_.get(); }
  ssize_t put(const char* bytes, size_t count) const override;
  std::string doing(const char*) const override { return who_; }
  Error gone(int err) override;
  std::string who_;
  pid_t pid_;
};

// Ranks that are threads of one process, over that process's one pair of pipes: in both directions
// every line begins with the rank's number and a blank ("3 {...}"). The coordinator holds one wire
// per rank; in the process each rank holds a descriptor of its own, as if it were alone.
//
// The wires of ranks 0 .. count-1, which share the process; used by one thread.
std::vector<std::unique_ptr<RankWire>> share_process(std::unique_ptr<Process> process, int count);

// The process's side: one descriptor per rank for both directions, which its rank reads until it
// ends, and then leaves.
class SharedEnd {
 public:
  // Between the pipes `from`, `to` and `count` ranks.
  static Expected<std::unique_ptr<SharedEnd>> open(int from, int to, int count);
  int rank_fd(int rank) const { return ranks_[static_cast<size_t>(rank)].get(); }
  // Of a rank that reads and says nothing more; from its thread.
  void leave(int rank) const;
  // Carries lines both ways until `from` ends or says what is not a line for one of the ranks; then
  // the ranks' lines end, and what they still say is carried until all have left.
  void carry() const;

 private:
  SharedEnd(int from, int to) : from_(from), to_(to) {}
  void carry_requests() const;
  void carry_answers() const;
  void hang_up(int how) const;
  const int from_, to_;
  std::vector<Fd> ranks_, ours_;  // the two ends of each rank's connection
};

}  // namespace plumbline
