// What child processes write, as lines. A last line without its newline is handed on too.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/fd.h"

namespace plumbline {

// One pipe of a child, which does not block. One thread.
class LineSource {
 public:
  // A line of more than `longest` bytes is handed on in parts.
  LineSource(Fd pipe, size_t longest, std::function<void(const std::string& line)> say)
      : pipe_(std::move(pipe)), longest_(longest), say_(std::move(say)) {}
  // For poll(2); -1 = it has ended.
  int fd() const { return pipe_.get(); }
  // Hands on what has come, up to a share that leaves others their turn.
  void read();
  // Hands on what is there of a line that has not ended.
  void end();

 private:
  bool read_some();

  Fd pipe_;
  size_t longest_;
  std::function<void(const std::string& line)> say_;
  std::string text_;  // of a line that has not ended yet
};

// What they write to standard error, handed on by a thread that only waits for it, so that a child
// never blocks on a full pipe and its words come at once.
class ErrorLines {
 public:
  // `say` is called from the thread.
  ErrorLines(std::vector<Fd> pipes, const std::function<void(const std::string& line)>& say);
  // Hands on what has come until now. (A pipe may stay open for longer: ssh's shared connection
  // holds that of the command which opened it.)
  ~ErrorLines();
  ErrorLines(const ErrorLines&) = delete;
  ErrorLines& operator=(const ErrorLines&) = delete;

 private:
  void run();

  std::vector<LineSource> sources_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace plumbline
