// `run --for`: the loop of scenarios/soak.h with this program's ranks, agents and files. While the
// rounds run, a thread looks at all hosts through their agents; what changes goes to events.jsonl
// beside the records, and is said.
#pragma once

#include <string>

#include "probes/evidence.h"
#include "runs/caller.h"
#include "runs/hosts/agent_set.h"
#include "runs/run_files.h"
#include "scenarios/soak.h"

namespace plumbline {

// What --dry-run says beside the plan.
std::string soak_outline(const SoakPlan& soak, const Plan& plan);

struct SoakRunSpec {
  SoakPlan plan;
  PlanRequest run;
  const AgentSet* agents = nullptr;
  Job job;  // its hosts in the order of the agents
  RunNotices* events = nullptr;
  bool quiet = false;
  Caller* caller = nullptr;
};

Expected<SoakSummary> soak(const SoakRunSpec& spec, CellRunner& ranks);

}  // namespace plumbline
