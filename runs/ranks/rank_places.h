// Where the ranks of a world are: on hosts as a cell wants them, of ranks that a launcher started
// those that take part, or all as threads of one process on this machine, so that transports which
// cannot leave a process are usable. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/error.h"
#include "launch/launcher_env.h"
#include "runs/ranks/launched.h"
#include "scenarios/scenario.h"

namespace plumbline {

struct RankPlaces {
  std::vector<size_t> hosts;    // of each rank
  std::vector<size_t> members;  // each rank's place in Launched::ranks
};
// `launched`: null = we start them ourselves. An Error: its ranks are too few, or broken.
Expected<RankPlaces> places_in_world(const std::vector<ScenarioHost>& hosts,
                                     const Launched* launched, const WorldShape& shape);

// The flag that asks for it, without its dashes.
inline constexpr const char* kRanksInProcess = "ranks-in-process";

// kUsage where it is asked for and somebody else has started the ranks.
Status check_ranks_in_process(bool asked, const std::optional<LauncherPlace>& place);
// kUsage where it is asked for and one of the hosts is not this machine's own network stack, user
// and program.
Status check_ranks_in_process(bool asked, const std::vector<ScenarioHost>& hosts);

}  // namespace plumbline
