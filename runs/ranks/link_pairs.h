// What the host file says about the pairs of a link matrix: which are not to be measured, and how
// fast their links should be. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/host/host.h"
#include "core/record/link.h"
#include "scenarios/scenario.h"

namespace plumbline {

// [from * ranks + to] = why that pair of ranks is not to be measured, empty = it is. `placement`
// names the host of each rank.
std::vector<std::string> pair_reasons(const std::vector<ScenarioHost>& hosts,
                                      const std::vector<size_t>& placement);

// Fills speed_bps with that of the slower end: what the host file states, else what the system says
// of the interface with the link's address (nothing for virtual ones). `facts` by host name. Of how
// many links the host file states both ends.
size_t add_link_speeds(const std::vector<ScenarioHost>& hosts,
                       const std::map<std::string, HostFacts>& facts,
                       std::vector<LinkResult>& links);

// The same for a cell: the slowest of the links that its ranks use
// ("0-1 10.0.0.1:4000>10.0.0.2:29601", Resolved::address_pairs). Nothing when one of them is
// unknown, or when no two ranks are on different hosts. `placement` names the host of each rank.
std::optional<double> slowest_link_bps(const std::vector<ScenarioHost>& hosts,
                                       const std::vector<size_t>& placement,
                                       const std::map<std::string, HostFacts>& facts,
                                       const std::vector<std::string>& address_pairs);

}  // namespace plumbline
