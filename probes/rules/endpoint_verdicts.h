// What the hosts' requests to a server of language models say about it: each judged once, for the
// probe that shows it and for the rule that names the cause. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

struct EndpointVerdict {
  Check check;
  std::string cause = {};  // "endpoint.stalled"; empty when nothing is wrong
  std::string url = {};
};

// In the order of the hosts and of what was asked; `url` empty = of every server in the evidence.
std::vector<EndpointVerdict> endpoint_verdicts(const EvidenceSet& evidence,
                                               const std::string& url = {});

}  // namespace plumbline
