// Ranks that are threads of one process on this machine, so that transports which cannot leave a
// process are usable: where that can be. Pure.
#pragma once

#include <optional>
#include <vector>

#include "core/error.h"
#include "launch/launcher_env.h"
#include "scenarios/scenario.h"

namespace plumbline {

// The flag that asks for it, without its dashes.
inline constexpr const char* kRanksInProcess = "ranks-in-process";

// kUsage where it is asked for and somebody else has started the ranks.
Status check_ranks_in_process(bool asked, const std::optional<LauncherPlace>& place);
// kUsage where it is asked for and one of the hosts is not this machine's own network stack, user
// and program.
Status check_ranks_in_process(bool asked, const std::vector<ScenarioHost>& hosts);

}  // namespace plumbline
