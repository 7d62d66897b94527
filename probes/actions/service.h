// The answering end of streams, round trips and transfers: what a listener does with a connection
// after its first line (docs/agent_protocol.md). Each call serves one connection to its end, in the
// caller's thread. Every service is bounded in time, also towards a peer that never ends.
#pragma once

#include <atomic>
#include <string>

#include "core/fd.h"
#include "probes/actions/probe_line.h"

namespace plumbline {

// "sink", "source", "both", "echo" or "paced".
bool known_service(const std::string& mode);
// Closes the connection at the end; soon after `ending` becomes true. `early` is what the peer sent
// behind its first line already.
void serve_connection(Fd connection, const ProbeLine& line, std::string early,
                      const std::atomic<bool>& ending);

}  // namespace plumbline
