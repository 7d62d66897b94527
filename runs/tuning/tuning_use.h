// Which tuning a world of ranks goes by (the option `tuning`), and what the algorithm `auto`
// becomes with it. Only the coordinator reads the file: it tells the ranks the algorithm of each
// cell by name, so that all of them take the same.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/options/options.h"
#include "core/record/cell.h"
#include "runs/tuning/tuning_file.h"
#include "scenarios/plan.h"

namespace plumbline {

// The words of TuningPlace::hosts; `places`: the host of each rank.
std::vector<std::string> tuned_hosts(const std::vector<ScenarioHost>& hosts,
                                     const std::vector<size_t>& places);

// Where a tuning of such a place lies if nobody says otherwise: in the folder `tuning` of the state
// folder (history.h), by a name that tells transport, ranks and hosts.
Expected<std::string> usual_tuning_path(const TuningPlace& place);

struct TuningInUse {
  std::string path;
  Tuning tuning;
};
struct FoundTuning {
  std::optional<TuningInUse> use;
  std::string note;  // why there is none although a file is there; else empty
};
// By the option: the file that it names, else the one in its usual place. An Error: the named one
// is damaged or is of other machines.
Expected<FoundTuning> find_tuning(const OptionSet& options, const TuningPlace& place);

// Before anything starts: a tuning that the option names must be whole, and of use to one of the
// cells that leave the choice to `auto`. `machine`: of all hosts (machine_text) where these are
// this machine; empty = not known yet.
Status check_tuning(const Plan& plan, const OptionSet& options,
                    const std::vector<ScenarioHost>& hosts, bool ranks_in_process,
                    const std::string& machine);

// What the ranks are to take for the algorithm that the cell names, by its full name: `auto`
// becomes what the tuning says. Anything else, and cells that have no algorithm of ours, stays.
std::string algorithm_with(const Tuning& tuning, const Cell& cell, const OptionSet& options,
                           const RankPairs& apart = {}, bool own_cables = false);

}  // namespace plumbline
