// `run --for`: the loop of scenarios/soak.h with this program's ranks, agents and files. While the
// rounds run, a thread looks at all hosts through their agents; what changes goes to events.jsonl
// beside the records, and to standard error.
#pragma once

#include <optional>
#include <string>

#include "cli/args.h"
#include "cli/progress.h"
#include "probes/evidence.h"
#include "runs/hosts/agent_set.h"
#include "scenarios/soak.h"

namespace plumbline {

// The flags --for, --every and --idle; nothing without --for. An Error for one that does not make
// sense, alone or with others (--resume).
Expected<std::optional<SoakPlan>> soak_flags(const Args& args);
// What --dry-run says beside the plan.
std::string soak_outline(const SoakPlan& soak, const Plan& plan);

struct SoakRunSpec {
  SoakPlan plan;
  RunRequest run;
  const AgentSet* agents = nullptr;
  Job job;             // its hosts in the order of the agents
  std::string folder;  // of the records
  bool quiet = false;
  Progress* progress = nullptr;
  Context* context = nullptr;
};

Expected<SoakSummary> soak(const SoakRunSpec& spec, CellRunner& ranks);

}  // namespace plumbline
