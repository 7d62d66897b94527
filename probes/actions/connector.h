// The connecting end of pair probes: many ports at once, each attempt told apart by how it ended
// and by who answered. Nothing is written beyond one line for each connection, and nothing that a
// stranger says is believed or kept beyond its first bytes. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "probes/actions/ends.h"
#include "probes/evidence.h"

namespace plumbline {

struct ConnectAttempt {
  PortTry attempt;  // result, error, took_ns, icmp, answer, stranger_bytes are filled in
  int source_port = 0;
};
// One entry for each port, in their order. Connecting may take `timeout_ms`, and then the answer as
// long again; ports beyond a few hundred are tried in batches. What the request's time did not
// suffice for is "not_tried".
std::vector<ConnectAttempt> connect_ports(const PairEnds& ends, const std::vector<int>& ports,
                                          int64_t timeout_ms, const std::string& nonce,
                                          const AgentCall& call);

// "refused", "timeout", "unreachable", "reset", "denied" or "error" for the errno of a failed
// connection attempt; `icmp`: an ICMP error ended it.
std::string connect_result(int err, bool icmp);

}  // namespace plumbline
