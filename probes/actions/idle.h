// A connection that is used, left alone for a while, and used again: a filter with state on the way
// may have forgotten it in the meantime, and then lets it die without a word. Thread-safe.
#pragma once

#include "core/diagnosis/host_agent.h"
#include "probes/actions/ends.h"
#include "probes/evidence.h"

namespace plumbline {

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
