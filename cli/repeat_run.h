// `run --repeat` and `run --interleave`: the loop of scenarios/repeat.h with this program's ranks
// and files; where two sides were measured in turns, their comparison, and a second series for the
// cells that looked slower in the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/comparing.h"
#include "cli/progress.h"
#include "scenarios/plan.h"
#include "scenarios/repeat.h"

namespace plumbline {

struct RepeatFlags {
  int launches = 1;  // of each side
  int again = 0;     // launches of the second series; 0 = none
  bool two_sides = false;
  CompareRule rule;
  bool strict = false;
};

// The flags --repeat, --interleave, --recheck and those of the comparison; nothing without the
// first two. An Error for one that does not make sense, alone or with others.
Expected<std::optional<RepeatFlags>> repeat_flags(const Args& args);
// What --dry-run says beside the plans.
std::string repeat_outline(const RepeatFlags& flags);
Error no_repeat_under_launcher();
// Where so few launches cannot decide anything about the cells of these plans, what could; else
// empty. Known before anything starts.
std::string too_few_launches(const RepeatFlags& flags, const std::vector<const Plan*>& plans);

class RepeatRun {
 public:
  RepeatRun(RepeatFlags flags, bool quiet, Progress& progress, Context& context)
      : flags_(std::move(flags)), quiet_(quiet), progress_(progress), context_(context) {}
  // The request's progress is set here.
  void add(RepeatSide side, std::string records_path);
  Expected<RepeatSummary> measure();
  // Prints the comparison of two sides and writes it beside their folders; its exit code. 0 when
  // there is one side.
  int compare();

 private:
  Expected<Comparison> compare_files(int64_t last_series = INT64_MAX) const;
  Expected<RepeatSummary> measure_again(const Comparison& first);

  const RepeatFlags flags_;
  const bool quiet_;
  Progress& progress_;
  Context& context_;
  std::string phase_;
  std::vector<RepeatSide> sides_;
  std::vector<std::string> records_;
};

}  // namespace plumbline
