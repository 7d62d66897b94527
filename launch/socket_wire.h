// A rank that was not started by us and came over a connection of its own. Ending it means closing
// that connection: a rank whose coordinator has gone ends by itself. One thread at a time.
#pragma once

#include <string>

#include "launch/line_wire.h"

namespace plumbline {

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

}  // namespace plumbline
