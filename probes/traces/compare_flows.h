// Which flows of two traces are the same connection, and which trace was taken at whose end: the
// first half of a comparison (compare.cc). Pure but for reading the files.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/traces/analysis.h"
#include "probes/traces/capture_place.h"
#include "probes/traces/common_packets.h"
#include "probes/traces/place_votes.h"

namespace plumbline {

// One of the two traces.
struct ComparedTrace {
  TraceSource source;
  AnalysedFile read;
  PacketIndex index;

  Status load();
  const std::deque<FlowState>& flows() const { return read.analysis->flows(); }
};

// Does the segment carry bytes that count: neither a reset nor a probe?
bool carries_bytes(const SegmentEvent& event);

// The same connection in both traces; nullptr where it was not seen.
struct FlowPair {
  const FlowState* here = nullptr;
  const FlowState* there = nullptr;
  bool swapped = false;  // the second trace calls a what the first calls b
  bool here_is_a = true;
  const char* told_by = "undecided";
  std::array<TraceLoss, 2> loss;  // of a's packets, of b's; a as in the first trace that has it

  bool decided() const { return told_by != std::string_view("undecided"); }
  const FlowState& any() const { return here != nullptr ? *here : *there; }
  // The side number that the second trace gives to this side of the first.
  int there_side(int side) const { return here != nullptr && swapped ? 1 - side : side; }
};

// Every connection of either trace that runs between the two places; the `others` are counted.
std::vector<FlowPair> match_flows(const ComparedTrace& first, const ComparedTrace& second,
                                  const CapturePlaces& places, int64_t& others);
// Sets here_is_a and told_by: by the places where these are decided, else by what packets that are
// in both traces say about two hosts, which holds for the other flows of either, too.
void tell_places(std::vector<FlowPair>& pairs, const CapturePlaces& places,
                 const PlaceVotes& votes);

}  // namespace plumbline
