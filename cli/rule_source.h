// Rules as commands get them: the scenario's own or those kept beside a run's records, and the
// files of --rules, with the baselines that they need. What is wrong is printed, one line each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "reports/rules.h"
#include "scenarios/plan.h"

namespace plumbline {

inline constexpr const char* kRulesFile = "rules.json";  // beside records.jsonl

// These rules and those of --rules; --baseline holds for rules that name none. nullopt after
// printing why: a file cannot be read, a rule is wrong, a baseline is missing.
std::optional<RuleRequest> read_rules(std::vector<Rule> own, const Args& args, Context& context);

// The rules kept beside these record files, each once. What cannot be used is a note.
std::vector<Rule> kept_rules(const std::vector<std::string>& record_paths,
                             std::vector<std::string>& notes);
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

// Judges them into `input.rules`, and says on standard error which are broken. True when all hold.
bool apply_rules(const RuleRequest& request, ReportInput& input, Context& context);

}  // namespace plumbline
