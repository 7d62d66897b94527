// What gathering needs to know of one ordered pair while it tries it, and the parts that work
// through all of them. Used by gather_pairs.cc and its siblings alone.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "probes/agent_requests.h"
#include "probes/probe.h"

namespace plumbline {

struct PairTask {
  PairEvidence* pair = nullptr;
  size_t from = 0, to = 0;
  AskedWay way = {};
  std::string nonce;
  std::map<int, int> source_ports;  // by port
};

// Where no capture saw both ends, counters around many connection attempts tell on which side
// packets are lost. One pair after the other, so that the differences belong to it.
void burst_silent_pairs(ProbeContext& context, std::vector<PairTask>& tasks);

}  // namespace plumbline
