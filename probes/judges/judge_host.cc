// Judges whether a host is ready: socket buffers, cores, load, clock, connection table, limits.
#include "probes/judges/judges.h"
#include "probes/rules/host_readiness.h"

namespace plumbline {

std::vector<Check> judge_host(const EvidenceSet& evidence, const ProbeParams& /*params*/) {
  std::vector<Check> checks;
  for (const Readiness& row : readiness_of(evidence)) checks.push_back(row.check);
  return checks;
}

}  // namespace plumbline
