// A host file out of what the hosts tell of their cables: which backend fits, the order of the
// ranks, the addresses of each cable, the device matrix with its rails paired by cable. Addresses
// that a cable lacks are planned, a /30 each, as MLX's distributed_config numbers them but clear of
// every network that a host has already; the commands that set them are for people to read, and
// nothing here runs any. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/remedy.h"
#include "probes/cables.h"
#include "scenarios/host_files/host_file.h"

namespace plumbline {

// What is to be done on one host before the file is true, and how to take it back.
struct HostSetup {
  std::string host;
  Remedy steps, undo;
};

struct DiscoveredFile {
  HostFile file;                   // in our own form
  std::vector<size_t> order;       // of the ranks: hosts of the graph
  std::string why;                 // why this backend, or why none
  std::vector<HostSetup> setup;    // hosts with something to do
  std::vector<std::string> notes;  // what the file leaves out, and why
};

// `hosts` are how they are reached, in the order of the graph. `backend`: MLX's name of one, or
// empty for the one that fits. An Error: that backend cannot be had with these cables, or there is
// no network left for a plan.
Expected<DiscoveredFile> discovered_file(const EvidenceSet& evidence, const CableGraph& graph,
                                         const std::vector<ScenarioHost>& hosts,
                                         const std::string& backend);

}  // namespace plumbline
