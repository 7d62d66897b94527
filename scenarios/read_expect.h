// Rules of `expect`, from a scenario or from a rule file of their own:
//   {"plumbline_rules": 1, "expect": [{"where": {"op": "allreduce", "bytes": ">=16Mi"},
//                                      "busbw_of_roof": ">=0.7"}]}
// Everything that can be wrong with one is found here, before anything starts; what a rule means is
// in core/record/expect.h and docs/rules.md. Pure but for reading the file.
#pragma once

#include <string>
#include <vector>

#include "core/record/expect.h"
#include "scenarios/json_text.h"
#include "scenarios/plan.h"

namespace plumbline {

// The value of the key `expect`, which has the right shape (check_shape()). `file` is where it
// stands; `prefix` comes before the paths of problems.
std::vector<Rule> read_expect(const Json& list, const std::string& file, const std::string& prefix,
                              const Vocabulary& vocabulary, Problems& problems);
// Makes the paths of `expect[].baseline` relative to the folder of the file in which they stand.
void find_baselines_from(Json& root, const std::string& file);

// All problems at once, as load_scenario().
OrProblems<std::vector<Rule>> load_rules(const std::string& path, const Vocabulary& vocabulary);

// How a rule meets a plan, before anything is measured.
struct RuleCover {
  size_t cells = 0;    // that it is about
  size_t skipped = 0;  // of those, the ones that will be skipped
  bool asked = false;  // a metric of its bounds means something for one of them
};
// Does this metric mean something for that cell? Handed in, as the table of metrics is reports'.
using MetricApplies = bool (*)(const std::string& metric, const Cell& cell);
RuleCover cover_of(const Rule& rule, const Plan& plan, MetricApplies applies);

}  // namespace plumbline
