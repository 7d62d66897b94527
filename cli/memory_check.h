// Will the cells of a run fit into the memory of the hosts, with what is free now? Asked before
// anything starts of the hosts that are this machine, and of every host when its ranks have said
// what they see, before a rank allocates anything. A system that promises more memory than it has
// (overcommit) is not relied on. Pure but for this machine's facts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/cell.h"
#include "core/host.h"
#include "core/options.h"
#include "scenarios/plan.h"

namespace plumbline {

// Which host each rank of a cell is on, and what is known of each host, by name; a host without
// facts is not judged.
struct MemoryPlace {
  const std::vector<ScenarioHost>* hosts = nullptr;
  std::vector<size_t> placement;
  const std::map<std::string, HostFacts>* facts = nullptr;
};
// Why this cell does not fit: cell, need, what is there, which flag to change.
Status fits_memory(const Cell& cell, bool verified, const OptionSet& options,
                   const MemoryPlace& place);

// Of those hosts that are this machine. `more` cells that do not fit are counted in the last error.
Status fits_here(const std::vector<Cell>& cells, bool verified, const OptionSet& options,
                 const std::vector<ScenarioHost>& hosts);
// The cells of a plan that will be measured.
Status fits_here(const Plan& plan, const OptionSet& options,
                 const std::vector<ScenarioHost>& hosts);

}  // namespace plumbline
