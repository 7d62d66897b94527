// Does one condition of a rule hold for one packet? Three answers, because much of what a filter
// can ask (marks of other programs, rates, users, times) cannot be known from outside: no, maybe,
// yes. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "probes/filters/evaluate.h"

namespace plumbline {

enum class Tri { kNo, kMaybe, kYes };

Tri both(Tri a, Tri b);

// A packet at one place of its way.
struct PacketAt {
  const FilterPacket* packet = nullptr;
  std::string hook;                     // as in FilterRule
  std::vector<std::string> interfaces;  // names that it has there; an empty name = unknown
  Tri tracked = Tri::kNo;               // connection tracking has seen it
  Tri untracked = Tri::kNo;             // a rule took it out of connection tracking
  Tri marked = Tri::kNo;                // a rule gave it a mark (until then it is 0)
};

// "ip", "ip6" or "arp".
std::string family_of(const FilterPacket& packet);
// Is this a hook of packets that come in?
bool is_incoming_hook(const std::string& hook);

Tri holds(const FilterMatch& match, const PacketAt& at);
// All conditions of the rule.
Tri holds(const FilterRule& rule, const PacketAt& at);

}  // namespace plumbline
