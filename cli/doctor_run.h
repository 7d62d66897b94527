// Probing for commands: turns a scenario's hosts and options into a ProbeContext and runs the
// probes it names.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "core/options.h"
#include "probes/probe.h"
#include "scenarios/scenario.h"

namespace plumbline {

// "10.10.0.1/24" as an address; without a slash the prefix is 0 (unknown).
NicAddress data_address(const std::string& text);
std::vector<std::string> host_names(const Scenario& scenario);
ProbeContext probe_context(const Scenario& scenario, const OptionSet& options, int ranks);
// The scenario's own list of probes, each with its parameters, in ladder order.
ProbeResult run_scenario_probes(const Scenario& scenario, const OptionSet& options, int ranks);
// Findings (and how many checks passed) as a few lines.
void print_findings(const std::vector<Check>& checks, const std::vector<Finding>& findings,
                    std::ostream& out);

}  // namespace plumbline
