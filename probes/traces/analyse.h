// The trace analyser: a capture file (pcap in micro- or nanoseconds and either byte order, pcapng)
// in, a TraceSummary out. Works offline on any machine's captures and needs no library. A hostile,
// truncated or foreign file gives a summary with its problems, or an Error when there is nothing in
// it to read; never a crash, and memory bounded by the number of flows and segments in flight.
// How the events are told apart follows RFC 9293 (TCP), RFC 5681 and 6675 (fast retransmission),
// RFC 6298 (time-outs), RFC 2883 (duplicate SACK). Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnosis/trace_summary.h"
#include "core/error.h"

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
// Only packets count whose arrival the receiver's capture covers.
struct TraceLoss {
  bool seen_at_both = false;
  int64_t left = 0;     // distinct segments that passed the sender's wire
  int64_t arrived = 0;  // of these, seen at the receiver's wire, or acknowledged by the receiver
  // Bytes that left, repetitions included, and what arrived of them: more left than arrived means
  // loss on the way, even when everything arrived in the end.
  int64_t bytes_left = 0, bytes_arrived = 0;
  // Packets on the sender's wire, acknowledgements included: within the time that is compared, and
  // outside of it.
  int64_t compared = 0, left_out = 0;
  // "nowhere", "before the sender's wire" (the sender was asked again and again and sent nothing,
  // or bytes are missing on its own wire until it sends them again), "between the hosts", "behind
  // the receiver's wire" (they arrived and were sent again because the receiver did not have them,
  // or never answered), "unknown" (no packet of the direction lies in the time that both files
  // cover, or nothing tells which file is whose).
  std::string where = "nowhere";
};
struct TracePairFlow {
  TraceFlow here, there;  // the same connection in both traces; empty where it was not seen
  bool here_is_a = true;  // the first trace was taken at the end of `a`
  // How that was found out: "addresses" (given), "direction" (the files tell what was sent and what
  // was received), "flows" (one address is in all of a file's flows, or another flow of the same
  // hosts told), "hops" (a packet has the higher TTL in the file of its sender), "times" (what one
  // host sends is in its file first, and so is what the other sends in the other's, whatever their
  // clocks say), "presence" (the packets of one host are in one file only), "undecided".
  std::string told_by = "undecided";
  TraceLoss a_to_b, b_to_a;
};

// What a file holds before and behind the time that both cover.
struct TraceLeftOut {
  int64_t before_ns = 0, before_packets = 0;
  int64_t after_ns = 0, after_packets = 0;
};
// The time that both captures cover: from the later of their first packets to the earlier of their
// last ones, by one clock.
struct TraceOverlap {
  std::string not_compared;    // why the files were not compared; empty when they were
  int64_t common_packets = 0;  // found in both files, which is what ties their clocks together
  // What the second file's clock shows more than the first one's, and how far that may be off:
  // half the shortest way there and back. No offset without common packets, no error where these go
  // one way only.
  std::optional<int64_t> clock_offset_ns, clock_error_ns;
  std::string begin;  // by the first file's clock, RFC 3339 UTC; empty when nothing is common
  int64_t duration_ns = 0;
  TraceLeftOut first, second;
};
struct TraceComparison {
  TraceOverlap overlap;
  std::vector<TracePairFlow> flows;  // between the two hosts that captured
  // TCP and UDP flows with other hosts: a second capture of them was not given, so that nothing can
  // be said about where their packets vanish.
  int64_t other_flows = 0;
};
// Matches the flows of two traces, which need not begin or end together, nor by clocks that agree:
// `first` taken at the host that has the addresses `first_ips`, or found out by directions,
// addresses, TTLs and times when empty; kUsage when one of them is in neither trace. A flow between
// the two hosts that only one trace has is part of the result. Files that cannot be compared give a
// result that says why (TraceOverlap::not_compared) and no flows.
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

void to_json(nlohmann::json& json, const TraceOverlap& overlap);

void to_json(nlohmann::json& json, const TracePairFlow& flow);

}  // namespace plumbline
