// Rules as commands get them: the scenario's own and the files of --rules, with the baselines that
// they need. What is wrong is printed, one line each. Those kept beside records: kept_rules.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "reports/rules.h"
#include "scenarios/plan.h"

namespace plumbline {

// These rules and those of --rules; --baseline holds for rules that name none. nullopt after
// printing why: a file cannot be read, a rule is wrong, a baseline is missing.
std::optional<RuleRequest> read_rules(std::vector<Rule> own, const Args& args, Context& context);

// Names the baseline of --baseline in a rule that needs one and names none, and reads what it names
// into `baselines`, once. An error says what cannot be had.
Status ready_baseline(Rule& rule, const Args& args, std::map<std::string, RuleBaseline>& baselines);
// One line on standard error when --baseline was given and no rule of these compares with it.
void note_unused_baseline(const std::vector<const RuleRequest*>& requests, const Args& args,
                          Context& context);

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
// The same for a command: `whole` is made where it is needed, problems and notes are printed. False
// when there was a problem.
bool check_rules(RuleRequest& request, const Scenario& scenario, const OptionSet& options,
                 const Plan& plan, const Args& args, Context& context, RuleCheck& check);

// Judges them on all records and adds the verdicts.
bool apply_rules(const RuleRequest& request, ReportInput& input, Context& context);
// Adds them to `input.rules`, and says on standard error which are broken. Of rules that read alike
// and stand in the same place the later ones get a number. True when all these hold.
bool add_verdicts(std::vector<RuleVerdict> verdicts, ReportInput& input, Context& context);

}  // namespace plumbline
