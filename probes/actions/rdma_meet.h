// Two hosts try RDMA with each other: a child process at each end makes a queue pair, both tell one
// another over a TCP connection what theirs is, and then 4 KiB of a pattern go there and back, some
// of them are timed, and a stream of them is counted. One end listens and the other one calls; who
// does not know the nonce is a stranger. As in rdma_climb.h, each step is said before it is taken,
// has a few seconds, and is taken once.
#pragma once

#include <string>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "probes/agent_requests.h"

namespace plumbline {

// In the agent, at the same time at both ends: starts the child (plumbline rdma-meet) and reads
// what it says.
Expected<RdmaClimb> meet_in_child(const AskRdmaMeet& asked, const AgentCall& call);

// In the child.
void meet_over_rdma(const AskRdmaMeet& asked);

}  // namespace plumbline
