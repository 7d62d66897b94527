// The rules of a run: the scenario's own and those of further files, with the baselines that they
// need, how they meet a plan, and their verdicts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/rules.h"
#include "runs/caller.h"
#include "scenarios/plan.h"

namespace plumbline {

// What a user adds to the rules of a scenario (--rules, --baseline).
struct RuleWords {
  std::vector<std::string> files;
  std::string baseline;  // for rules that name none; empty = none
};

// These rules and those of the files. Errors: a file cannot be read, a rule is wrong, a baseline is
// missing.
tl::expected<RuleRequest, std::vector<Error>> read_rules(std::vector<Rule> own,
                                                         const RuleWords& words,
                                                         const Vocabulary& vocabulary);

// Names `baseline` in a rule that needs one and names none, and reads what it names into
// `baselines`, once. An error says what cannot be had.
Status ready_baseline(Rule& rule, const std::string& baseline,
                      std::map<std::string, RuleBaseline>& baselines);
// Says so when a baseline was given and no rule of these compares with it.
void note_unused_baseline(const std::vector<const RuleRequest*>& requests,
                          const std::string& baseline, Caller& caller);

// Writes them beside the records of `folder`; with none, an older file goes away.
Status keep_rules(const std::string& folder, const std::vector<Rule>& rules);

// How the rules meet a plan. `whole` is the plan without --only and --skip, or nullptr when these
// were not given: a rule whose cells they leave out is dropped, with a note.
struct RuleCheck {
  std::vector<std::string> lines;     // for people, one per rule: what it covers
  std::vector<std::string> problems;  // rules that cannot hold, whatever is measured
  std::vector<std::string> notes;     // rules that were dropped
};
RuleCheck check_rules(std::vector<Rule>& rules, const Plan& plan, const Plan* whole);
// The same of a request, with the cells that are planned: `whole` is made where `filter` needs it.
RuleCheck check_rules(RuleRequest& request, const Scenario& scenario, const OptionSet& options,
                      const Vocabulary& vocabulary, const PlanFilter& filter, const Plan& plan);

// Judges them on all records and adds the verdicts.
bool apply_rules(const RuleRequest& request, ReportInput& input, Caller& caller);
// Adds them to `input.rules`, and says which are broken. Of rules that read alike and stand in the
// same place the later ones get a number. True when all these hold.
bool add_verdicts(std::vector<RuleVerdict> verdicts, ReportInput& input, Caller& caller);

}  // namespace plumbline
