// The two halves of a comparison (compare.cc): which flows of two traces are the same connection
// and which trace was taken at whose end; then, direction by direction, what became of the packets
// that left the sender's wire. Pure but for reading the files.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "probes/traces/analysis.h"
#include "probes/traces/capture_place.h"
#include "probes/traces/common_packets.h"
#include "probes/traces/flow_memory.h"

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

// Which flow and side it is in either capture; nullptr where a capture has no such flow.
struct Direction {
  const FlowState* sender = nullptr;
  const FlowState* receiver = nullptr;
  int sender_side = 0, receiver_side = 0;  // the side that sends, in either capture
  int64_t shift = 0;                       // from the sender's unwrapped numbers to the receiver's
  Covered covered;
  int64_t receiver_until = 0;  // end of what both captures cover, by the receiver's clock

  const SideState* at_sender() const;
  const SideState* at_receiver() const;
};

// One direction of one connection in two captures: which of the packets that left the sender's wire
// came to the receiver's, and where the others vanished. Fed while both files are read again: first
// with what the receiver's capture has, then with the sender's. Belongs to one comparison.
class DirectionCheck {
 public:
  explicit DirectionCheck(const Direction& direction);

  // First reading. What the sender sends, in the receiver's capture; and what the receiver answers.
  void arrival(const FlowState& flow, const Packet& packet, const SegmentEvent& event);
  void answer(const FlowState& flow);
  // And in the sender's capture: what of it was sent again, what was left out.
  void departure_ahead(const FlowState& flow, const SegmentEvent& event);
  // Second reading, when all arrivals are known.
  void departure(const FlowState& flow, const Packet& packet, const SegmentEvent& event);

  // Did packets arrive again and again, or with time to spare, and the receiver never say a word?
  bool silence() const;
  TraceLoss result() const;

 private:
  void datagram(const Packet& packet);
  void compare_bytes(int64_t begin, int64_t end);
  bool acknowledged(int64_t begin, int64_t end) const;
  bool came_in_time(const Packet& packet, int64_t begin, int64_t end) const;

  Direction direction_;
  TraceLoss loss_;
  bool lost_ = false;

  // At the receiver.
  ByteLayers arrived_;
  Intervals arrived_ever_;  // in all of the file
  int64_t first_arrival_ = 0, arrivals_ = 0;
  int64_t repeated_ = 0;  // arrivals of bytes that had arrived before
  int64_t ignored_ = 0;   // of these, while the receiver still asked for just them
  int64_t needless_ = 0;  // retransmissions that turned out not to be necessary, as last seen
  std::unordered_map<uint64_t, int64_t> datagrams_;  // arrived, by what tells them apart
  int64_t datagrams_left_out_ = 0;                   // more than memory allows

  // At the sender.
  ByteLayers sent_;       // in the time that is compared
  ByteLayers sent_ever_;  // of all of the file
  Intervals skipped_;     // bytes that its own wire did not see though those around them passed
  int64_t highest_ = 0, run_ = 0;
  bool began_ = false;
  int64_t filled_ = 0;               // of the skipped, sent later on
  int64_t acked_ = INT64_MIN;        // by the receiver, in either capture
  int64_t acked_there_ = INT64_MIN;  // in the receiver's
};

}  // namespace plumbline
