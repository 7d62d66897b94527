// An agent as a client of a server of language models: is it well, which models has it, and the
// same small question to one of these by each way of asking (chat and completions, whole and
// streamed). One after the other, because such servers answer one at a time; a question that meets
// silence is the last one. Thread-safe.
#pragma once

#include "core/diagnosis/host_agent.h"
#include "probes/agent_requests.h"

namespace plumbline {

// A URL that is none is an Error; what the server does is evidence. The key is in neither.
Expected<EndpointEvidence> try_endpoint(const AskEndpoint& asked, const AgentCall& call);

}  // namespace plumbline
