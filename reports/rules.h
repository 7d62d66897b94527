// Evaluates rules of `expect` from finished records: a live run and last month's file take the same
// path. A rule holds when every cell that it covers has a result, that result is valid, and all its
// bounds hold; a rule for which there is nothing does not hold. The results of a soak are those of
// its last round, which the tables show. docs/rules.md tells it to users. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/record/expect.h"
#include "core/record/rule.h"
#include "reports/report.h"
#include "reports/view.h"

namespace plumbline {

// The numbers of another run that rules are relative to: by cell id and metric; the median where
// that run measured a cell several times. Only valid results count.
struct RuleBaseline {
  std::string path;  // for messages
  std::map<std::string, std::map<std::string, double>> values;
};
RuleBaseline make_baseline(const std::string& path, const View& view);

struct RuleRequest {
  std::vector<Rule> rules;
  // By Rule::baseline. A rule whose baseline is not here is not judged, and does not hold.
  std::map<std::string, RuleBaseline> baselines;
  // Cells that were to be measured: those without a record are missing. Empty = not known, then
  // what is there is all there is.
  std::vector<Cell> planned;
};

// One verdict per rule, in their order.
std::vector<RuleVerdict> judge_rules(const RuleRequest& request, const View& view);
bool all_hold(const std::vector<RuleVerdict>& verdicts);
// The same rules as a file that load_rules() (scenarios/read_expect.h) reads.
std::string rules_file_text(const std::vector<Rule>& rules);

}  // namespace plumbline
