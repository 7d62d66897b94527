// The trace analyser: a capture file (pcap in micro- or nanoseconds and either byte order, pcapng)
// in, a TraceSummary out. Works offline on any machine's captures and needs no library. A hostile,
// truncated or foreign file gives a summary with its problems, or an Error when there is nothing in
// it to read; never a crash, and memory bounded by the number of flows and segments in flight.
// How the events are told apart follows RFC 9293 (TCP), RFC 5681 and 6675 (fast retransmission),
// RFC 6298 (time-outs), RFC 2883 (duplicate SACK). Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/trace_points.h"
#include "core/trace_summary.h"

namespace plumbline {

struct TraceLimits {
  int64_t max_packets = 50'000'000;
  int64_t max_flows = 10'000;
};

Expected<TraceSummary> analyse_trace_file(const std::string& path, const TraceLimits& limits = {});
// The same for bytes in memory; `name` for messages.
Expected<TraceSummary> analyse_trace(const std::string& bytes, const std::string& name,
                                     const TraceLimits& limits = {});

// The points of a time-sequence plot of the flow with this index in TraceSummary::flows; kUsage
// when there is no such flow, or when it is not TCP.
Expected<TracePoints> trace_points(const std::string& path, int64_t flow,
                                   const TraceLimits& limits = {});

// Where the packets of one flow vanish, from captures at both of its ends. Counted are SYNs and
// data by their sequence numbers, in whatever pieces either end saw them.
struct TraceLoss {
  bool seen_at_both = false;
  int64_t left = 0;     // distinct segments that passed the sender's wire
  int64_t arrived = 0;  // of these, seen at the receiver's wire, or acknowledged by the receiver
  // Bytes on both wires, repetitions included: more left than arrived means loss on the way, even
  // when everything arrived in the end.
  int64_t bytes_left = 0, bytes_arrived = 0;
  // "nowhere", "before the sender's wire" (the flow is unknown there or shows no such packet,
  // though the sender was asked to send), "between the hosts", "behind the receiver's wire" (they
  // arrived and were sent again and again, or never answered).
  std::string where = "nowhere";
};
struct TracePairFlow {
  TraceFlow here, there;  // the same connection in both traces; empty where it was not seen
  bool here_is_a = true;  // the first trace was taken at the end of `a`
  // How that was found out: "addresses" (given), "direction" (the files tell what was sent and what
  // was received), "flows" (one address is in all of a file's flows, or another flow of the same
  // hosts told), "hops" (TTLs), "times" (of answers), "guess".
  std::string told_by = "guess";
  TraceLoss a_to_b, b_to_a;
};
struct TraceComparison {
  std::vector<TracePairFlow> flows;  // between the two hosts that captured
  // TCP and UDP flows with other hosts: a second capture of them was not given, so that nothing can
  // be said about where their packets vanish.
  int64_t other_flows = 0;
};
// Matches the flows of two traces of the same time: `first` taken at the host that has the
// addresses `first_ips`, or found out by directions, addresses, TTLs and times when empty; kUsage
// when one of them is in neither trace. A flow between the two hosts that only one trace has is
// part of the result.
Expected<TraceComparison> compare_trace_files(const std::string& first, const std::string& second,
                                              const std::vector<std::string>& first_ips = {});
// The same for the bytes of two captures.
Expected<TraceComparison> compare_traces(const std::string& first, const std::string& second,
                                         const std::vector<std::string>& first_ips = {});

// What `plumbline trace` prints for people: flows with problems first. `width` columns, 0 = lines
// are not wrapped. At most `max_flows` flows are shown, and the others counted.
std::string trace_text(const TraceSummary& summary, int width, int64_t max_flows = 50);
std::string compare_text(const TraceComparison& comparison, int width);

// What `plumbline trace --json` prints, described in docs/json_output.md: one object, indented,
// with a newline at the end.
std::string trace_json(const std::vector<TraceSummary>& traces, const TraceComparison& comparison);

void to_json(nlohmann::json& json, const TracePairFlow& flow);

}  // namespace plumbline
