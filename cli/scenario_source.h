// Scenario files as commands get them: read, checked against the program's tables, problems printed
// one per line.
#pragma once

#include <optional>
#include <string>

#include "cli/args.h"
#include "core/options/options.h"
#include "scenarios/plan.h"
#include "scenarios/scenario.h"

namespace plumbline {

// nullopt after printing "plumbline: WHERE: MESSAGE; HINT" for every problem.
std::optional<Scenario> read_scenario(const std::string& path, Context& context);
// The command's scenario on the hosts of --hosts, where that is given.
std::optional<Scenario> read_scenario(const Args& args, Context& context);
// From the clock, for orders that no one chose.
uint64_t fresh_seed();
// The plan with the command's --only, --skip and --seed; nullopt after printing what is wrong.
std::optional<Plan> plan_of(const Scenario& scenario, const OptionSet& options, const Args& args,
                            Context& context);
// The same with a given seed.
std::optional<Plan> plan_of(const Scenario& scenario, const OptionSet& options, const Args& args,
                            uint64_t seed, Context& context);
// For commands that only look at the hosts of FILE or --hosts: a scenario brings its options along,
// and programs of its own hosts need --allow-commands; a host file brings only hosts; without a
// file `local` ranks on this machine. nullopt after printing what is wrong.
std::optional<Scenario> read_scenario_or_hosts(const Args& args, int local, Context& context);
// The hosts of a scenario or host file; nullopt after printing what is wrong.
std::optional<std::vector<ScenarioHost>> read_hosts(const std::string& path, Context& context);

}  // namespace plumbline
