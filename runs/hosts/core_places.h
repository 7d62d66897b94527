// Places for ranks that a host file leaves to the machines: "as many as it has cores".
#pragma once

#include <string>
#include <vector>

#include "core/options/options.h"
#include "runs/caller.h"
#include "scenarios/scenario.h"

namespace plumbline {

// Asks the hosts that are meant, side by side; the others stay as they are. An Error: one could not
// be asked, or pushing failed.
Status count_core_places(std::vector<ScenarioHost>& hosts, const OptionSet& options,
                         Caller& caller);

// For whoever asks nobody: says which hosts are planned with one rank.
void tell_uncounted_places(const std::vector<ScenarioHost>& hosts, Caller& caller);

}  // namespace plumbline
