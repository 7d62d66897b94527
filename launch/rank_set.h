// The rank processes of one world: started together (or by a launcher), asked together, ended
// together. A request is one line to every rank, the answer one line from each; a rank that dies or
// stays silent is named with what became of it. One thread at a time.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "launch/line_io.h"
#include "launch/process.h"

namespace plumbline {

enum class RanksAre {
  kProcesses,
  kThreads,  // of one process, the first place's; the others' argv only say the same
};

// One rank's answer, or what became of it.
using RankAnswer = Expected<std::string>;
using RankLines = std::function<void(const std::string& line)>;
// Nanoseconds that the others still get; nullopt = as usual.
using RankHeard = std::function<std::optional<int64_t>(size_t rank, const RankAnswer& answer)>;

class RankSet {
 public:
  // `alive` is the line that remote ranks are sent now and then (process.h); no answer is
  // expected. The same line from a rank says that it lives, and answers nothing. `say` gets what
  // the ranks write to standard error, line by line, in a thread of its own; without it they write
  // to ours.
  static Expected<std::unique_ptr<RankSet>> start(const std::vector<ServingCommand>& places,
                                                  const std::string& alive = {},
                                                  const RankLines& say = nullptr,
                                                  RanksAre ranks = RanksAre::kProcesses);
  // Ranks that run already, one wire each; `hosts` names theirs for messages.
  static std::unique_ptr<RankSet> adopt(const std::vector<std::string>& hosts,
                                        std::vector<std::unique_ptr<RankWire>> wires,
                                        const std::string& alive = {});
  ~RankSet();

  int size() const { return static_cast<int>(used_.size()); }
  // From now on rank r is the process members[r]; the others idle.
  void use(std::vector<size_t> members) { used_ = std::move(members); }
  pid_t pid(int rank) const { return ranks_[used_[static_cast<size_t>(rank)]]->pid(); }

  // From now on collect() gives up, by name, a rank whose process has been stopped for so long, and
  // one from elsewhere that has said nothing for so long; a slow one here is left its time. 0 = no
  // longer. Ranks that have answered are looked after as well.
  void watch(int64_t limit_ns);

  // Sends lines[r] to rank r (or the same line to all); those that can be told are, whatever
  // becomes of the others.
  Status send(const std::vector<std::string>& lines, Deadline deadline);
  Status send_all(const std::string& line, Deadline deadline) {
    return send(std::vector<std::string>(used_.size(), line), deadline);
  }
  // One line from each, in any order of arrival. Ranks work in step: once one has answered or died,
  // the others get `grace_ns` more, or as much as `heard` says, which is told of every answer as it
  // comes. `tick` is called at least every 200 ms; returning false gives up at once.
  std::vector<RankAnswer> collect(Deadline deadline, int64_t grace_ns,
                                  const std::function<bool()>& tick = nullptr,
                                  const RankHeard& heard = nullptr);
  // Ends all: input closed, then SIGTERM, then SIGKILL; returns within about `polite_ms` + 1 s with
  // every process reaped.
  void stop(int polite_ms);

 private:
  RankSet() = default;
  Status spawn(RanksAre ranks, bool catch_errors, std::vector<Fd>& errors);
  // What is seen of a process; times are monotonic_ns(), 0 = never.
  struct Life {
    bool spoke = false;   // what it says next is its own, not its login shell's
    int shell_lines = 0;  // that came before
    int64_t heard_ns = 0, stopped_ns = 0;
  };
  using Answers = std::vector<std::optional<RankAnswer>>;
  std::vector<bool> wait_for_lines(const Answers& answers, Deadline deadline) const;
  RankAnswer read_one(int rank);
  std::optional<RankAnswer> look_at(int rank, bool answered, bool readable);
  std::optional<Error> lost(int rank);
  void use_all();
  void keep_alive();
  std::vector<ServingCommand> places_;
  std::vector<std::unique_ptr<RankWire>> ranks_;
  std::vector<size_t> used_;  // each rank's process
  std::vector<Life> lives_;   // by process
  int64_t watch_ns_ = 0;      // 0 = nobody is watched
  int64_t watched_since_ns_ = 0, looked_ns_ = 0;
  // What keeps remote ranks alive while nobody asks them anything, and what ranks say meanwhile.
  std::string alive_;
  std::mutex writing_;  // one line at a time goes into the pipes
  std::condition_variable stopping_;
  bool stopped_ = false;
  std::thread keeper_;
  std::unique_ptr<ErrorLines> errors_;  // what they write to standard error; null = not ours
};

}  // namespace plumbline
