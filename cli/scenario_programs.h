// What a scenario and its host file have started on hosts: commands of the probe `command`, and
// each host's own plumbline. Whoever is about to run a scenario that somebody else wrote sees it
// here first.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/args.h"
#include "core/error.h"
#include "probes/probe.h"
#include "scenarios/scenario.h"

namespace plumbline {

// The flag without which no command of a scenario is run, as its key in Args.
inline constexpr const char* kAllowCommands = "allow-commands";

// What of it this user permits: all of it with the flag. Hosts that --hosts brings are the user's
// own, and so are their programs.
struct Permitted {
  bool commands = false, binaries = false;
};
Permitted permitted_by(const Args& args);
// An error where hosts of a stranger's choice name a program of theirs (`binary`).
Status check_binaries(const std::vector<ScenarioHost>& hosts, const Permitted& permitted);

// The scenario's calls, for the probes; `permitted`: whether the flag was given.
ProbeCallSpec probe_call(const ProbeCall& call, bool permitted);

// Lines such as "command on mini1, mini2: uname -r (only with --allow-commands)".
void print_programs(const Scenario& scenario, const Permitted& permitted, std::ostream& out);
// {"commands": [{"argv", "hosts", "permitted"}], "binaries": [{"host", "binary", "permitted"}]}
nlohmann::json programs_json(const Scenario& scenario, const Permitted& permitted);

}  // namespace plumbline
