// The rank processes of one world: started together, asked together, ended together. A request is
// one line to every rank, the answer one line from each; a rank that dies or stays silent is named
// with what became of it. One thread at a time.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/process.h"

namespace plumbline {

// Where one rank runs: the command that starts it (for a namespace: `ip netns exec NAME PROGRAM
// rank`) and a name for messages.
struct RankPlace {
  std::string host;
  std::vector<std::string> argv;
};

// One rank's answer, or what became of it.
using RankAnswer = Expected<std::string>;

class RankSet {
 public:
  static Expected<std::unique_ptr<RankSet>> start(const std::vector<RankPlace>& places);
  ~RankSet();

  int size() const { return static_cast<int>(ranks_.size()); }
  pid_t pid(int rank) const { return ranks_[static_cast<size_t>(rank)]->pid(); }

  // Sends lines[r] to rank r (or the same line to all).
  Status send(const std::vector<std::string>& lines, Deadline deadline);
  Status send_all(const std::string& line, Deadline deadline);
  // One line from each, in any order of arrival. Ranks work in step: once one has answered or died,
  // the others get `grace_ns` more. `tick` is called at least every 200 ms; returning false gives
  // up at once.
  std::vector<RankAnswer> collect(Deadline deadline, int64_t grace_ns,
                                  const std::function<bool()>& tick = nullptr);
  // Ends all: input closed, then SIGTERM, then SIGKILL; returns within about `polite_ms` + 1 s with
  // every process reaped.
  void stop(int polite_ms);

 private:
  RankSet() = default;
  RankAnswer read_one(int rank, Deadline deadline);
  std::vector<RankPlace> places_;
  std::vector<std::unique_ptr<Process>> ranks_;
};

}  // namespace plumbline
