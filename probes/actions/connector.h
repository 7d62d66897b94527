// The connecting end of pair probes: many ports at once, each attempt told apart by how it ended
// and by who answered; a burst of attempts to one port, with what this host's counters say about
// them; a connection that is left alone for a while. Nothing is written beyond one line for each
// connection (idle: and a small message), and nothing that a stranger says is believed or kept
// beyond its first bytes. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "probes/actions/ends.h"
#include "probes/actions/host_state.h"
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

// ---- many attempts to one port at the same moment ----

// Where no capture is possible, the difference of the counters shows how far the packets came.
// Bounded in number and time; nothing is sent over the connections.
constexpr int kMaxBurst = 256;

struct BurstResult {
  int attempts = 0;  // SYNs that the stack produced, as far as the sockets tell
  Counters counters;
};
// kUnsupported when the counters cannot be read.
Expected<BurstResult> connect_burst(const PairEnds& ends, int attempts, int64_t timeout_ms,
                                    const AgentCall& call);

// ---- a connection that is used, left alone for a while, and used again ----

// A filter with state on the way may have forgotten it in the meantime, and then lets it die
// without a word.
constexpr int64_t kMaxIdleMs = 3'600'000;  // both ends hold a connection no longer than that

struct IdleSettings {
  int64_t idle_ms = 60'000;    // without a packet of ours
  int64_t timeout_ms = 5'000;  // for the message behind the pause to come back
};
// `ends` has the port of a listener of ours. "connected" with the answer "ours": it still worked
// behind the pause. "not_tried": it never did, `error` says why. Otherwise what the use behind the
// pause gave: "timeout", "reset" (during the pause as well), "closed", "unreachable" ...
PortTry try_after_idle(const PairEnds& ends, const IdleSettings& settings, const AgentCall& call);

}  // namespace plumbline
