// Will the cells of a run fit into the memory of the hosts, with what is free now? Asked before
// anything starts of the hosts that are this machine, before ranks start of those that have agents,
// and of every host when its ranks have said what they see, before a rank allocates anything. A
// system that promises more memory than it has (overcommit) is not relied on. Pure but for
// memory_here().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/host/host.h"
#include "core/options/options.h"
#include "core/record/cell.h"
#include "scenarios/plan.h"

namespace plumbline {

// What is known of each host, by name; a host without facts is not judged.
using HostMemory = std::map<std::string, HostFacts>;

// Which host each rank of a cell is on.
struct MemoryPlace {
  const std::vector<ScenarioHost>* hosts = nullptr;
  std::vector<size_t> placement;
  const HostMemory* facts = nullptr;
};
// Why this cell does not fit: cell, need, what is there, which flag to change.
Status fits_memory(const PlanCell& planned, const OptionSet& options, const MemoryPlace& place);

// Of a list of cells those that need most memory: the largest of each type, in the list's order.
std::vector<const PlanCell*> largest_cells(const Plan& plan);
// Of the cells of a plan that will be measured the first of the smallest that do not fit, placed as
// our own ranks are; how many more there are is counted in the error. Of a list the first of the
// largest.
Status fits_memory(const Plan& plan, const OptionSet& options,
                   const std::vector<ScenarioHost>& hosts, const HostMemory& facts);

// Of those hosts that are this machine.
HostMemory memory_here(const std::vector<ScenarioHost>& hosts);

}  // namespace plumbline
