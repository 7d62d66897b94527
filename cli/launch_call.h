// A command line as the ranks of a launched world compare it: who this process is among them, and
// what all of them must have been given alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "launch/launcher_env.h"
#include "runs/ranks/launched.h"

namespace plumbline {

// The place of this process in a launched world, with the flag --launcher; nothing when it runs
// alone.
Expected<std::optional<LauncherPlace>> own_launch(const Args& args);

// `scenario`: its file, or empty. What cannot be read here is not compared.
LaunchCall launch_call(const Args& args, const OptionSet& options, const Context& context,
                       Caller& caller, const std::string& command, const std::string& scenario);

// usage_failure() as the rank at `place` says it: rank 0 like a program that runs alone, the others
// with their number.
int rank_failure(const std::optional<LauncherPlace>& place, Context& context,
                 const std::vector<Error>& errors);

}  // namespace plumbline
