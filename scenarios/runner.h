// Runs a plan: for each cell asks the ranks (through the CellRunner seam), makes a Record, appends
// it durably, tells the observers. Nothing is printed here. After an error cell the ranks are
// restarted as a new group; an interrupt ends after the running cell's agreement and leaves valid
// records: a cell that was cut short is not recorded, so --resume measures it again. Also the same
// cells again and again, each time by fresh processes and connections: how long an operation takes
// differs more from launch to launch than within one (Hunold and Carpen-Amarie, IEEE TPDS 2016), so
// a number that is to be compared needs several launches. With two sides (`run --interleave`) the
// launches take turns, in an order drawn anew for each pair, so that whatever else happens on the
// machines meanwhile meets both alike. Tests pass a fake CellRunner.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "scenarios/plan.h"

namespace plumbline {

// The ranks as the runner sees them: start a world of n, run a cell on all, stop. Implemented by
// runs over launch.
class CellRunner {
 public:
  virtual ~CellRunner() = default;
  // Ready the ranks of such a world (starting processes when none fits, restarting after a
  // failure); its `params` may be those of another cell until run(). kAborted: there can be none
  // any more, and the run ends.
  virtual Status ensure_world(const WorldShape& world) = 0;
  // Measurement of one cell; an Error = the group broke (cause inside) and must be restarted.
  virtual Expected<Measurement> run(const PlanCell& cell) = 0;
  virtual Environment environment() = 0;
  virtual bool interrupted() const = 0;
};

// Where a rank of the running world is.
struct RankSeat {
  std::string host, interface, address;
  int64_t pid = 0;
  std::string transport = {};  // of its world (Resolved::transport); empty = not known yet
};

// Where a run stands. Told before each cell (`current`) and after it (`last`).
struct RunProgress {
  size_t done = 0, total = 0;  // cells; those done by an earlier run count
  double elapsed_s = 0;
  double eta_s = 0;  // what is left, scaled by how long the cells so far took
  const PlanCell* current = nullptr;
  const Record* last = nullptr;
  std::string phase = {};    // of a soak: "round 3, 10 min of 8 h"
  std::string probing = {};  // what is looked at before anything is measured; nothing else counts
  bool over = false;         // nothing more is measured for now; nothing else counts
  // Of a list of cells, before the first: the ranks are there; nothing else counts.
  const std::vector<RankSeat>* ranks = nullptr;
};

struct PlanRequest {
  const Scenario* scenario = nullptr;
  const Plan* plan = nullptr;
  std::string run_id;
  std::vector<std::string> command;
  std::set<std::string> finished_ids;  // cells that --resume found done
  RecordFile* file = nullptr;          // nullptr: records are returned only
  int rounds = 1;                      // of all cells
  bool gather = true;                  // false: the last record is returned, `progress` hears all
  std::function<void(const RunProgress&)> progress;
  // Told of what the run does on its own account: ranks that are started again, and why; may be
  // empty.
  std::function<void(const std::string&)> notice;
  // Adds to each record, before it is written, what only the caller knows; may be empty.
  std::function<void(Record&)> mark;
};

struct RunSummary {
  size_t passed = 0, failed = 0, skipped = 0, errors = 0, resumed = 0;
  uint64_t wrong = 0;  // elements
  size_t spoiled = 0;  // cells whose data a checksum of the transport rejected
  bool interrupted = false;
  std::vector<Record> records;  // of this run, in the order they were written
  std::string stopped;          // why the run ended early, empty = it did not
  // The same where the reason is that ranks could not be started, which may change; else empty.
  std::string start_failure;
};

// An Error means that the request itself is not usable; whatever happens later is in the summary.
Expected<RunSummary> run_plan(const PlanRequest& request, CellRunner& ranks);
// Counts one more outcome; for records of an earlier run that this one resumes.
void count(RunSummary& summary, const Record& record);
// Adds one summary's counts to those of several; no records, and not why it stopped.
void add(RunSummary& all, const RunSummary& one);
// Exit code of a finished run: 130, 3, 2, 0 in that order.
int exit_code(const RunSummary& summary);

// Which cells of an earlier record file count as done for this plan: all but those that ended in
// an error. An Error says why the file does not fit (plan hash, version) and names both values.
Expected<std::set<std::string>> finished_cells(const std::vector<Record>& records, const Plan& plan,
                                               const std::string& suite_version);

inline constexpr int kMostLaunches = 1000;

struct RepeatSide {
  std::string name;  // "" when it is the only one, else "a" or "b"
  PlanRequest run;   // `mark` and `finished_ids` are unused
  CellRunner* ranks = nullptr;
  std::function<void()> end;  // ends the ranks, so that the next launch gets fresh ones
  // What an earlier part of this run has done: records in its file (--resume); may be empty.
  std::vector<Record> earlier;
};

struct RepeatRequest {
  std::vector<RepeatSide> sides;  // one or two
  int launches = 1;               // of each side, 1 to kMostLaunches
  int64_t series = 1;             // as in LaunchMark
  uint64_t seed = 0;              // of the order within each pair
  // "launch 3/10 of b", for progress; may be empty.
  std::function<void(const std::string&)> phase;
};

struct RepeatSummary {
  RunSummary counts;  // over all launches of all sides; `records` stays empty
  int launches = 0;   // that were finished, over all sides
};

// An Error: the request is not usable. A launch that ends early (ranks that do not start, an
// interrupt) ends the run; a cell that fails does not.
Expected<RepeatSummary> run_repeated(const RepeatRequest& request);

// Which side goes first in each pair of launches.
std::vector<bool> second_side_first(int launches, uint64_t seed);

// Records of this launch (number and series).
std::vector<Record> of_launch(const std::vector<Record>& records, int64_t number, int64_t series);

}  // namespace plumbline
