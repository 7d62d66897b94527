// Where on its way a connection that fails is stopped: evidence of both ends (captures, half-open
// sockets, ICMP errors, the listener's word, filter rules, counters) narrows the place down for
// every blocked port of a pair. One attempt is judged with everything that both ends tell about it,
// its verdict as it grows (pair_lost.cc, pair_refused.cc). Local Network privacy of macOS 15 and
// later stands apart: there the system refuses a process, not the network. Pure functions,
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/rules/pair_facts.h"
#include "probes/rules/pair_filters.h"

namespace plumbline {

// One port of one pair that cannot be used, and where its packets are stopped.
struct Block {
  const PairView* view = nullptr;  // not owned; of the pair whose `to` the port belongs to
  int port = 0;
  How how = How::kDrop;
  bool request = true;                   // the connecting host's packets suffer; false: the answers
  std::vector<StopPlace> places;         // that are left, never empty; one = known
  std::optional<RuleHit> hit;            // the rule that does it
  std::string device;                    // address of a device on the way that refuses
  const HostEvidence* router = nullptr;  // the same, where it is a host of ours
  bool latent = false;        // only read from the filters: no packet of ours came so far
  bool by_rule_only = false;  // latent, or nothing but a rule speaks for it: the link is broken
  bool proven = false;        // seen, not concluded from silence
  int packets = 1;            // requests that were sent in vain
  double confidence = 0.5;
  std::vector<Evidence> evidence;  // `check` is filled in later

  const std::string& sender() const { return request ? view->pair->from : view->pair->to; }
  const std::string& receiver() const { return request ? view->pair->to : view->pair->from; }
  bool known() const { return places.size() == 1; }
  bool at(StopPlace place) const { return places.size() == 1 && places[0] == place; }
};

// All blocked ports of this pair. The view must outlive the result.
std::vector<Block> locate_blocks(const PairView& view);

// How sure a verdict is by the evidence that decided it.
constexpr double kByCaptures = 0.95, kByOneCapture = 0.85, kByRule = 0.85, kByCounters = 0.75,
                 kByElimination = 0.55, kBySilence = 0.45;

// What the captures say about one leg of the connection; nullopt = not captured.
struct Leg {
  const char* packet;  // "the SYN"
  std::optional<bool> left, arrived;
};

struct PortWitness {
  PortWitness(const PairView& of, const PortTry& what);

  std::optional<bool> seen(bool captured, const TraceDirection* direction,
                           int64_t TraceDirection::*kind) const;
  // The request or the answer; `data`: behind the handshake.
  Leg leg(bool request, bool data) const;
  // The host at this place of the way of requests, or of answers.
  const HostEvidence* host(bool request, StopPlace place) const;
  void say(const std::string& where, std::string text);

  const PairView& view;
  const PairEvidence& pair;
  const PortTry& attempt;
  std::vector<RuleHit> hits;
  // On the wire: sent by the connecting end (or the other), seen here (or there); may be null.
  const TraceDirection *from_here = nullptr, *from_there = nullptr, *to_here = nullptr,
                       *to_there = nullptr;
  Block block;
};

// Each fills the block and returns true when it has found something to say.
bool locate_lost(PortWitness& witness);         // no answer, or no reply behind the handshake
bool locate_rejected(PortWitness& witness);     // an ICMP error
bool locate_reset(PortWitness& witness);        // RST
bool locate_unreachable(PortWitness& witness);  // an errno that names no sender
bool locate_denied(PortWitness& witness);       // the own system's refusal

// Does everything say that the connecting process may not use the local network? True when its
// attempts end with EHOSTUNREACH at once and without a packet, while the system's own tools reach
// the same address.
bool refused_by_privacy(const PairView& view);
// What the system's own tool said, for the evidence; empty when none reached the peer.
std::string tool_that_reached(const PairView& view);

}  // namespace plumbline
