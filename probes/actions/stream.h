// Traffic of a pair probe to a listener of the peer's agent. Over one TCP connection: streams,
// round trips, and a transfer that is watched for stalls; a connection that got stuck is reset, so
// that nothing of it goes on. And how large a packet may be on the way: datagrams of different
// sizes that must not be fragmented, each confirmed by the listener with a small one, and then such
// a transfer, which is what a job would do (RFC 1191, RFC 8201, RFC 8899). All bounded in time.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "probes/actions/ends.h"
#include "probes/evidence.h"

namespace plumbline {

struct StreamSettings {
  std::string kind = "one_way";  // as in StreamEvidence
  int64_t duration_ms = 300;
  int64_t bytes = 0;         // then it ends, 0 = only by time; paced: size of one message
  int64_t rate_per_s = 500;  // messages; paced only
};
// What went wrong is in `error` of the evidence. `bytes` and `duration_ns` are the receiver's when
// it could tell them in time, else what was acknowledged while sending.
StreamEvidence run_stream(const PairEnds& ends, const StreamSettings& settings,
                          const AgentCall& call);

// Of `sent` segments, those that the receiver's stack saw: its own count of packets, but at least
// all that did not need to be sent again, once every byte came through. `resent_messages` were sent
// again, `duplicates` of them for nothing (D-SACK, RFC 2883). Cards that merge segments, and
// virtual ones that never cut them apart (virtio between machines of one host), hand several to
// the stack as one packet.
int64_t arrived_segments(int64_t sent, int64_t counted, int64_t resent_messages,
                         int64_t duplicates);

// Small messages there and back, one after the other. An Error only when none came back.
Expected<std::vector<int64_t>> measure_round_trips(const PairEnds& ends, int count,
                                                   const AgentCall& call);

struct TransferResult {
  int64_t acknowledged = 0;  // bytes
  int64_t stalled_ns = 0;    // longest time without any progress
  int packet_bytes = 0;      // of the IP packets that were being acknowledged; 0 = cannot be told
  std::string error;
};
// Until all bytes are acknowledged, nothing moved for `max_stall_ns`, or the time is over.
TransferResult transfer(const PairEnds& ends, int64_t bytes, int64_t max_stall_ns,
                        const AgentCall& call);

// ---- path MTU, mtu.cc ----

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
