// Scenario files as commands get them: read, checked against the program's tables, problems printed
// one per line; and what a scenario and its host file have started on hosts, shown: whoever is
// about to run one that somebody else wrote sees it here first.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/args.h"
#include "runs/plan_of.h"
#include "scenarios/host_files/host_file.h"
#include "scenarios/scenario.h"

namespace plumbline {

// The scenario at `path` on the hosts of --hosts, where that is given, with as many rounds as
// --rounds allows; nullopt after printing "plumbline: WHERE: MESSAGE; HINT" for every problem.
std::optional<Scenario> read_scenario(const std::string& path, const Args& args, Context& context);
// --seed; nothing when it was not given.
Expected<std::optional<uint64_t>> seed_flag(const Args& args);
// For commands that only look at the hosts of FILE or --hosts: a scenario brings its options along,
// and programs of its own hosts need --allow-commands; a host file brings only hosts; without a
// file `local` ranks on this machine. nullopt after printing what is wrong.
std::optional<Scenario> read_scenario_or_hosts(const Args& args, int local, Context& context);
// All that a host file says; nullopt after printing what is wrong.
std::optional<HostFile> read_host_file(const std::string& path, Context& context);
// The hosts of a scenario or host file; nullopt after printing what is wrong.
std::optional<std::vector<ScenarioHost>> read_hosts(const std::string& path, Context& context);

// --model: more paths for the probe `artifact`, which is asked for where the scenario does not.
Status add_models(const Args& args, Scenario& scenario);

// The flag without which no command of a scenario is run, as its key in Args.
inline constexpr const char* kAllowCommands = "allow-commands";

// All of it with the flag. Hosts that --hosts brings are the user's own, and so are their programs.
Permitted permitted_by(const Args& args);

// Lines such as "command on mini1, mini2: uname -r (only with --allow-commands)".
void print_programs(const Scenario& scenario, const Permitted& permitted, std::ostream& out);
// {"commands": [{"argv", "hosts", "permitted"}], "binaries": [{"host", "binary", "permitted"}]}
nlohmann::json programs_json(const Scenario& scenario, const Permitted& permitted);

}  // namespace plumbline
