// What a program needs of an RDMA device, tried step by step (probes/rdma_rungs.h) and given back:
// library, device, port, GID, protection domain, completion queue, queue pair of the type that the
// provider's profile names, a registered region, and the queue pair's first state. Vendors'
// libraries crash, and calls that hang cannot be interrupted: a child process climbs, says each
// step before it takes it, and has a few seconds for each. No step is tried twice. Nothing is sent.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "probes/agent_requests.h"

namespace plumbline {

// In the agent: starts the child (plumbline rdma-climb) and reads what it says; how it ended is the
// error of the step that it was at.
Expected<RdmaClimb> climb_in_child(const AskRdma& asked, const AgentCall& call);

// In the child: a line for each step on standard output. Ends the process with SIGALRM where a step
// takes too long.
void climb_rdma(const AskRdma& asked);

// What both children of this kind share. In the child: says a step before it is taken and what came
// of it, on standard output; ends the process with SIGALRM where it takes longer. `take` returns
// what is wrong, or puts what it found into its argument. false = something was wrong.
bool take_rung(const char* name, unsigned seconds,
               const std::function<std::string(std::string& found)>& take);
// In the agent: runs such a child and reads what it says.
Expected<RdmaClimb> run_rungs(const AskRdma& about, const std::vector<std::string>& words,
                              const std::string& input, const AgentCall& call);

// Of the child, by its exit status (128 + signal); empty = in order.
std::string ending_of_climb(int status);
// What the child's lines say, and `ended` (empty = it came to its end): pure.
RdmaClimb read_climb(const AskRdma& asked, const std::string& said, const std::string& ended);

}  // namespace plumbline
