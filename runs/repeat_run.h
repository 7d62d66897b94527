// `run --repeat` and `run --interleave`: the loop of scenarios/runner.h with this program's ranks
// and files; where two sides were measured in turns, their comparison, and a second series for the
// cells that looked slower in the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runs/comparing.h"
#include "runs/run_request.h"
#include "scenarios/plan.h"
#include "scenarios/runner.h"

namespace plumbline {

// What --dry-run says beside the plans.
std::string repeat_outline(const Repeats& flags);
// Where so few launches cannot decide anything about the cells of these plans, what could; else
// empty. Known before anything starts.
std::string too_few_launches(const Repeats& flags, const std::vector<const Plan*>& plans);

struct SidesCompared {
  int code = 0;
  std::optional<Comparison> comparison;  // nothing where there is one side
  std::vector<std::string> files;
};

class RepeatRun {
 public:
  RepeatRun(Repeats flags, bool quiet, Caller& caller)
      : flags_(std::move(flags)), quiet_(quiet), caller_(caller) {}
  // The request's progress is set here.
  void add(RepeatSide side, std::string records_path);
  Expected<RepeatSummary> measure();
  // Compares two sides and writes that beside their folders; says it when they cannot be compared.
  SidesCompared compare();

 private:
  Expected<Comparison> compare_files(int64_t last_series = INT64_MAX) const;
  Expected<RepeatSummary> measure_again(const Comparison& first);

  const Repeats flags_;
  const bool quiet_;
  Caller& caller_;
  std::string phase_;
  std::vector<RepeatSide> sides_;
  std::vector<std::string> records_;
};

}  // namespace plumbline
