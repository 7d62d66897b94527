// Where a command's data-path options come from: its flags, a scenario's config, the environment,
// the user's configuration file (user_options.h). One place, so that every command resolves them
// alike.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/args.h"
#include "core/options/options.h"

namespace plumbline {

tl::expected<OptionSet, std::vector<Error>> resolve_options(
    const Args& args, const std::map<std::string, std::string>& scenario_config = {});

}  // namespace plumbline
