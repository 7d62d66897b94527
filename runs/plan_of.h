// A scenario as this machine would run it: its plan, and what it and its host file have started on
// hosts (commands of the probe `command` and each host's own plumbline), with what of that the user
// permits.
#pragma once

#include <cstdint>
#include <vector>

#include "core/error.h"
#include "core/options/options.h"
#include "probes/probe.h"
#include "runs/caller.h"
#include "scenarios/plan.h"
#include "scenarios/scenario.h"

namespace plumbline {

// From the clock, for orders that no one chose.
uint64_t fresh_seed();

// Says which cells are left out for want of cores; `caller` may be null.
Expected<Plan> plan_of(const Scenario& scenario, const OptionSet& options,
                       const Vocabulary& vocabulary, const PlanFilter& filter, uint64_t seed,
                       Caller* caller);

// The largest number of ranks of its cells.
int largest_world(const Plan& plan);

struct Permitted {
  bool commands = false, binaries = false;
};
// An error where hosts of a stranger's choice name a program of theirs (`binary`).
Status check_binaries(const std::vector<ScenarioHost>& hosts, const Permitted& permitted);

// The keys of servers that a scenario's probes and cells ask, out of this process's environment,
// which the scenario names variables of. They are handed to agents and ranks with the request that
// needs them, and stand nowhere else.
//
// Empty where no variable is named, or it is not set.
std::string endpoint_key(const std::string& variable);
// kConfig, by its name, where one of them is not set.
Status check_keys(const Scenario& scenario);

// The scenario's calls, for the probes; `permitted`: whether its commands may run.
ProbeCallSpec probe_call(const ProbeCall& call, bool permitted);

}  // namespace plumbline
