// Lines both ways over descriptors that do not block, each with a deadline. What the other end is,
// and how its end shows, say those who derive from it. One thread at a time.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/fd.h"
#include "launch/rank_wire.h"

namespace plumbline {

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

}  // namespace plumbline
