// A plan of stack.h in lines for people: where ranks meet, what each takes and why, where it waits,
// and what every host will call at every other one. Pure, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "probes/evidence.h"

namespace plumbline {

// Empty where the evidence holds no plan.
std::vector<std::string> stack_lines(const EvidenceSet& evidence);
// "29500 (rendezvous)", "any of 32768-60999 (connections of peers)".
std::string shown_ports(const StackListener& listener);

}  // namespace plumbline
