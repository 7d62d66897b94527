// What a scenario and its host file have started on hosts, shown: whoever is about to run one that
// somebody else wrote sees it here first.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

#include "cli/args.h"
#include "runs/scenario_programs.h"

namespace plumbline {

// The flag without which no command of a scenario is run, as its key in Args.
inline constexpr const char* kAllowCommands = "allow-commands";

// All of it with the flag. Hosts that --hosts brings are the user's own, and so are their programs.
Permitted permitted_by(const Args& args);

// Lines such as "command on mini1, mini2: uname -r (only with --allow-commands)".
void print_programs(const Scenario& scenario, const Permitted& permitted, std::ostream& out);
// {"commands": [{"argv", "hosts", "permitted"}], "binaries": [{"host", "binary", "permitted"}]}
nlohmann::json programs_json(const Scenario& scenario, const Permitted& permitted);

}  // namespace plumbline
