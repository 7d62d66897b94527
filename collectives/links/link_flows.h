// What runs over the connections of one pair: round trips on the control connection, streams on the
// data connections (one thread each, so that several can use several cores), both at once for the
// round trip under load, and datagrams. Every function has a sender's and a receiver's side that
// belong together; both end by their own deadlines whatever the other one does. All times in ns.
#pragma once

#include <cstdint>

#include "collectives/links/link_session.h"
#include "core/record/link.h"

namespace plumbline {

struct FlowSettings {
  int64_t time_ns = 500'000'000;   // how long a stream or the datagrams last
  size_t message_bytes = 64;       // of a round trip
  size_t datagram_bytes = 1200;    // payload
  uint64_t rate_bps = 50'000'000;  // of datagrams, payload
  bool loaded = false;             // round trips beside the streams
  Patience wait;                   // whose deadline is not heeded
};

// Length of the intervals in a stream's series: 100 ms, or a fifth of a short measurement.
int64_t series_interval_ns(int64_t time_ns);

// Fill the result; an Error says why the pair could not be measured.
Status latency_from(LinkSession& session, const FlowSettings& settings, LinkResult& result);
Status latency_to(LinkSession& session, const FlowSettings& settings);
Status streams_from(LinkSession& session, const FlowSettings& settings, LinkResult& result);
Status streams_to(LinkSession& session, const FlowSettings& settings);
Status udp_from(LinkSession& session, const FlowSettings& settings, LinkResult& result);
Status udp_to(LinkSession& session, const FlowSettings& settings);

// The longest that any of these may take.
int64_t flow_limit_ms(int64_t time_ns);

}  // namespace plumbline
