// A soak: a plan's cells measured again and again for hours, in rounds whose starts lie on a fixed
// grid, with stretches of idle time in turn, behind which the first operations are measured apart
// from the warm ones. Records go to the file as they come; what is kept are counts, so that memory
// does not grow with the number of rounds. Nothing is printed here. Tests pass a fake CellRunner
// and a clock of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/record/event.h"
#include "scenarios/runner.h"

namespace plumbline {

struct SoakPlan {
  int64_t for_ns = 0;            // no round starts later than this
  int64_t every_ns = 0;          // grid of the rounds' starts
  std::vector<int64_t> idle_ns;  // in turn, one after each round; may be empty
};

// "8h", "5m", "1m,5m,25m" as written behind --for, --every and --idle (empty = not given: --every
// 5m, no idle time). An Error names the flag and what it takes.
Expected<SoakPlan> parse_soak(const std::string& whole, const std::string& every,
                              const std::string& idle);
// "1 h 5 min", "90 s", "1.5 s".
std::string soak_time_text(int64_t ns);

// Time as the loop sees it.
class SoakClock {
 public:
  virtual ~SoakClock() = default;
  virtual int64_t now_ns() = 0;  // monotonic
  // Until then, or until `stop` says so; false = stopped.
  virtual bool sleep_until(int64_t ns, const std::function<bool()>& stop) = 0;
};
std::unique_ptr<SoakClock> make_soak_clock();

struct SoakRequest {
  PlanRequest
      run;  // its plan's cells are measured in every round; finished_ids and mark are unused
  SoakPlan plan;
  SoakClock* clock = nullptr;
  // Told when a round begins (cells) and when the idle time before a cell does.
  std::function<void(int64_t round)> round_begins;
  // A late round, a cell that ended in error, ranks that do not start; may be empty. Host, run id
  // and wall time are the caller's to fill in.
  std::function<void(SoakEvent)> tell;
  // "round 3, 10 min of 8 h", for progress; may be empty.
  std::function<void(const std::string&)> phase;
};

struct SoakSummary {
  RunSummary counts;      // over all rounds; `records` stays empty
  int64_t rounds = 0;     // that were begun
  int64_t late = 0;       // starts on the grid that were passed over
  int64_t idle_done = 0;  // stretches of idle time that were followed by a measurement
};

// An Error: the request is not usable (no clock, --idle without a cell that can be measured so).
Expected<SoakSummary> run_soak(const SoakRequest& request, CellRunner& ranks);

// An Error where the plan has no cell that can follow the idle time that is asked for.
Status check_soak(const SoakPlan& soak, const Plan& plan);

// Can the first operations of this cell be told apart? All but link cells, checks and roofs.
bool can_follow_idle(const Cell& cell);

}  // namespace plumbline
