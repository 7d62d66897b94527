// From a plan to the job that the ladder tests: the addresses that its ranks would take become the
// data addresses, its listeners the ports. Of a range of which any port may be taken, some are
// tried for all: at least one of every part that some filter could treat in its own way. Pure,
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "probes/evidence.h"

namespace plumbline {

// The job of evidence.stack, for the hosts of evidence.job, about which `evidence` knows what they
// say about themselves.
Job job_of_stack(const EvidenceSet& evidence);

// Ports for first to last, each with the part that it stands for: cut where the rules of any of
// these hosts begin or end to speak of a port, the largest parts first, kMostSamples at most;
// ports that `host` uses already are avoided. Empty where the range is none.
inline constexpr size_t kMostSamples = 12;
std::vector<PortSample> sample_ports(const std::vector<HostEvidence>& hosts,
                                     const HostEvidence& host, int first, int last);

}  // namespace plumbline
