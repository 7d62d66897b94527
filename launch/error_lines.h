// What child processes write to standard error, handed on line by line by a thread that only waits
// for it, so that a child never blocks on a full pipe and its words come at once. A last line
// without its newline is handed on too.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/fd.h"

namespace plumbline {

class ErrorLines {
 public:
  // `say` is called from the thread.
  ErrorLines(std::vector<Fd> pipes, std::function<void(const std::string& line)> say);
  // Hands on what has come until now. (A pipe may stay open for longer: ssh's shared connection
  // holds that of the command which opened it.)
  ~ErrorLines();
  ErrorLines(const ErrorLines&) = delete;
  ErrorLines& operator=(const ErrorLines&) = delete;

 private:
  struct Source {
    Fd pipe;
    std::string text;  // of a line that has not ended yet
  };
  void run();
  bool read(Source& source);
  void end(Source& source);

  std::vector<Source> sources_;
  std::function<void(const std::string& line)> say_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace plumbline
