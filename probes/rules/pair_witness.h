// One attempt to connect with everything that both ends tell about it, and the verdict as it grows:
// what pair_lost.cc and pair_refused.cc work on. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/rules/pair_locate.h"

namespace plumbline {

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

}  // namespace plumbline
