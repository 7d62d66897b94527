// Everything that a run needs before anything starts: scenario, options, plan, rules, ports, and
// the folder with what an earlier part left there. What is wrong is said here, so that a run either
// begins or fails at once.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/rule_source.h"
#include "core/options/options.h"
#include "reports/report.h"
#include "runs/folder_lock.h"
#include "runs/hosts/port_claims.h"
#include "runs/ranks/launched.h"
#include "scenarios/plan.h"
#include "scenarios/soak.h"

namespace plumbline {

// "plumbline-out/NAME-TIME".
std::string default_folder(const std::string& name);

struct PreparedRun {
  Scenario scenario;
  OptionSet options;
  Plan plan;
  std::string folder;
  std::string records_path;
  std::set<std::string> finished;      // cells that --resume found done
  std::vector<Record> earlier;         // their records
  std::unique_ptr<Launched> launched;  // the ranks that a launcher started, if one did
  std::optional<SoakPlan> soak;        // --for
  RuleRequest rules;                   // of the scenario and of --rules
  RuleCheck rule_check;
  FileLock lock;             // of the folder
  bool made_folder = false;  // it was not there before
  bool made_parent = false;  // nor the folder that it lies in
};

// nullopt after printing why, with the exit code in `code`.
std::optional<PreparedRun> prepare_run(const std::optional<LauncherPlace>& place,
                                       const std::optional<SoakPlan>& soak_plan, const Args& args,
                                       Context& context, int& code);

// Makes the output folder and looks at what it holds, keeps there what later reports need beside
// the records (scenario, checklist, rules), and sees whether the ports are free, or takes others
// where it may. False after printing why not.
bool open_folder(PreparedRun& run, const Args& args, PortClaims& claims, Context& context);

// The largest number of ranks of its cells.
int largest_world(const Plan& plan);
std::vector<ChecklistItem> checklist_of(const PreparedRun& run);

}  // namespace plumbline
