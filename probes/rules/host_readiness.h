// Is a host ready to run ranks and to be measured? Judged once here, for the checks and for the
// rules alike: socket buffers, cores, load, clock, connection table, limits. Pure functions,
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

struct Readiness {
  Check check;
  std::string cause;  // "host.overloaded"; empty when nothing is wrong
  Severity severity = Severity::kWarn;
  Remedy remedy;
};

// Everything about every host, in the order of the host file.
std::vector<Readiness> readiness_of(const EvidenceSet& evidence);

// Ranks that the job places on this host: block-wise over the hosts, and on one machine together.
int ranks_on(const EvidenceSet& evidence, const std::string& host);

}  // namespace plumbline
