// What should be the same on all hosts and is not: versions and variables (probe `software`), files
// (probe `artifact`). Each is compared with what most hosts have, and judged once: for the probe
// that shows it, and for the rule that names the cause. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

struct EqualityVerdict {
  Check check;
  std::string cause = {};  // "config.version_mismatch", "artifact.differs"; empty = nothing wrong
  Severity severity = Severity::kWarn;
  Remedy remedy = {};
};

// In the order of the hosts. What has one value on all hosts is in the reason of its host's check;
// what differs has a check of its own, "software/mini1#mlx".
std::vector<EqualityVerdict> software_verdicts(const EvidenceSet& evidence);

// Of this path, as it was asked for; empty = of every path in the evidence. "artifact/mini1#PATH".
std::vector<EqualityVerdict> artifact_verdicts(const EvidenceSet& evidence,
                                               const std::string& path = {});
// Paths that were asked for, each once.
std::vector<std::string> artifact_paths(const EvidenceSet& evidence);

}  // namespace plumbline
