// Runs the plumbline binary (or any program) as a user would, with its output caught in files, so
// that tests can interrupt and kill it and look at what it leaves. Linux only (finds children in
// /proc).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace plumbline {

// A folder that disappears with its owner.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  std::string path(const std::string& name = "") const;
  // Writes a file into it and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path);
// How many lines of a records.jsonl are records: others hold an environment.
size_t record_count(const std::string& path);

class Program {
 public:
  // Starts it; `environment` entries "NAME=value" are added to ours.
  explicit Program(const std::vector<std::string>& argv,
                   const std::vector<std::string>& environment = {});
  ~Program();  // kills what still runs

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // Exit status, or 128 + signal; fails the test and kills the program after `timeout_ms`.
  int wait(int timeout_ms = 60'000);
  bool running();
  std::string out() const;
  std::string err() const;
  // Pids of its living direct children, ascending.
  std::vector<pid_t> children() const;
  // Waits until it has `count` children, each of them a program of its own by then (true), or ends
  // or the time is over (false).
  bool wait_for_children(size_t count, int timeout_ms = 20'000);

 private:
  ScratchFolder folder_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

struct Finished {
  int status = 0;
  std::string out, err;
};
// Runs to the end.
Finished run_program(const std::vector<std::string>& argv,
                     const std::vector<std::string>& environment = {}, int timeout_ms = 120'000);
// The plumbline binary of this build with these arguments.
std::vector<std::string> plumbline_argv(const std::vector<std::string>& arguments);

// Waits until none of these processes exists any more.
bool all_gone(const std::vector<pid_t>& pids, int timeout_ms);

}  // namespace plumbline
