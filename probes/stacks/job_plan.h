// What the library that a running job has loaded would have chosen on these hosts, with the
// variables that its processes really have. It explains a job that does not get on, and leaves no
// trace of why.
#pragma once

#include <optional>

#include "probes/evidence.h"
#include "probes/probe.h"

namespace plumbline {

// By the MPI that its ranks have loaded, if that is one and the same, and where a rank talks to
// none of another host. Of evidence with snapshots of the hosts. Pure.
std::optional<StackPlan> plan_of_job(const EvidenceSet& evidence);

}  // namespace plumbline
