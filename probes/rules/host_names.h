// What the names that a host resolved say: usable, loopback, of another network, nothing. Judged
// once here, for the checks and for the rule alike. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

struct NameVerdict {
  Check check;
  std::string cause;  // "name.loopback"; empty when nothing is wrong
  Remedy remedy;      // for the host of the check
};

// One verdict for every name that this host was asked for; at least one.
std::vector<NameVerdict> judge_names(const EvidenceSet& evidence, const JobHost& job,
                                     const HostEvidence& host);

}  // namespace plumbline
