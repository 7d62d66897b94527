// Everything that a run needs before anything starts: hosts, plan, rules, ports, and the folder
// with what an earlier part left there. What is wrong is found here, so that a run either begins or
// fails at once.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/options/options.h"
#include "reports/report.h"
#include "runs/caller.h"
#include "runs/hosts/port_window.h"
#include "runs/run_folder.h"
#include "runs/run_request.h"

namespace plumbline {

// "plumbline-out/NAME-TIME".
std::string default_folder(const std::string& name);

struct PreparedRun {
  RunRequest asked;   // less what follows
  Scenario scenario;  // on the hosts that will take part
  OptionSet options;
  Plan plan;
  std::string folder;  // empty = nothing is kept, and there is no records_path
  std::string records_path;
  std::set<std::string> finished;      // cells that `resume` found done
  std::vector<Record> earlier;         // their records
  std::unique_ptr<Launched> launched;  // the ranks that a launcher started, if one did
  RuleRequest rules;                   // of the scenario and of the request
  RuleCheck rule_check;
  FileLock lock;             // of the folder
  bool made_folder = false;  // it was not there before
  bool made_parent = false;  // nor the folder that it lies in

  bool two_sides() const { return asked.repeats && asked.repeats->two_sides; }
  bool keeps() const { return asked.keep == Keep::kFolder; }
};

// Why a run does not begin, and the exit code that says so.
struct Refusal {
  std::vector<Error> errors;
  int code = 1;
};

tl::expected<PreparedRun, Refusal> prepare_run(RunRequest request, Caller& caller);

// Makes the output folder and looks at what it holds, keeps there what later reports need beside
// the records (scenario, checklist, rules), and sees whether the ports are free, or takes others
// where it may.
Status open_folder(PreparedRun& run, PortClaims& claims, Caller& caller);

std::vector<ChecklistItem> checklist_of(const PreparedRun& run);

// How much the coordinator and its ranks say of what they do.
inline LogLevel log_level(const OptionSet& options) {
  LogLevel level = LogLevel::kWarn;
  log_level_from(options.text("log_level"), level);
  return level;
}

}  // namespace plumbline
