// From a sound JSON tree (see shape.h) to the plain values of a Scenario. What depends on one value
// alone is checked here (an address, a range); what depends on several in check.h. Pure.
#pragma once

#include <vector>

#include "scenarios/json_text.h"
#include "scenarios/problems.h"

namespace plumbline {

Scenario read_scenario(const Json& root, Problems& problems);
// The value of the key `hosts`; `ranks_per_host` for those that do not say it, 0 = nor does anybody
// else.
std::vector<ScenarioHost> read_hosts(const Json& hosts, int ranks_per_host, Problems& problems);
// The interfaces behind the devices of the host's row of the device matrix, each once.
std::vector<std::string> matrix_interfaces(const ScenarioHost& host);

}  // namespace plumbline
