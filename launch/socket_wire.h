// A rank that was not started by us and came over a connection of its own. Ending it means closing
// that connection: a rank whose coordinator has gone ends by itself. One thread at a time.
#pragma once

#include <string>

#include "core/fd.h"
#include "launch/rank_wire.h"

namespace plumbline {

class SocketWire : public RankWire {
 public:
  // `fd` is connected and non-blocking; `who` stands in errors: "the connection to node2
  // (10.0.0.2)".
  SocketWire(Fd fd, std::string who, pid_t pid = 0)
      : fd_(std::move(fd)), who_(std::move(who)), pid_(pid) {}

  pid_t pid() const override { return pid_; }
  Status write_line(const std::string& line, Deadline deadline) override;
  Expected<std::string> read_line(Deadline deadline) override;
  int read_fd() const override { return fd_.get(); }
  bool has_line() const override { return buffer_.find('\n') != std::string::npos; }
  void close_input() override { fd_.reset(); }
  void kill(int) override { fd_.reset(); }
  // What is closed counts as ended: there is nothing more to see from here.
  bool wait(Deadline) override { return !fd_.valid(); }
  // For an owner that goes on with the bytes itself; nothing may be buffered.
  Fd take() { return std::move(fd_); }

 private:
  Status ready(short events, Deadline deadline) const;
  Fd fd_;
  std::string who_;
  pid_t pid_;
  std::string buffer_;
};

}  // namespace plumbline
