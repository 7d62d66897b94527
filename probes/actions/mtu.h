// How large a packet may be on the way from here to the peer: datagrams of different sizes that
// must not be fragmented, each confirmed by the peer's listener with a small one, and then a
// transfer over TCP, which is what a job would do. RFC 1191, RFC 8201, RFC 8899. Thread-safe.
#pragma once

#include <cstdint>

#include "core/diagnosis/host_agent.h"
#include "probes/actions/ends.h"
#include "probes/evidence.h"

namespace plumbline {

struct MtuSettings {
  int interface_mtu = 0;  // of the egress; 0 = as the system says for the path
  int64_t transfer_bytes = 1 << 20;
  int64_t timeout_ms = 2000;  // for the datagrams, and again for the transfer
  // No answer to even the smallest datagrams for this long: sizes are not searched for. 0, and at
  // most: 1500.
  int64_t silence_ms = 0;
};
MtuEvidence probe_mtu(const PairEnds& ends, const MtuSettings& settings, const AgentCall& call);

}  // namespace plumbline
