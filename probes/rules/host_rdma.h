// The first rungs of RDMA on a host: verbs library, hardware, device, port, GID, locked memory. The
// first one that fails is the verdict. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

struct RdmaVerdict {
  Check check;
  std::string cause;  // "rdma.no_gid"; empty when nothing is wrong
  Remedy remedy;
};

// One for every host. Where the job does not ask for RDMA and a host has no device, there is
// nothing to judge.
std::vector<RdmaVerdict> rdma_verdicts(const EvidenceSet& evidence);

}  // namespace plumbline
