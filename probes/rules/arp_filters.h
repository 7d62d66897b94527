// Rules of packet filters that stop address resolution. Pure functions, thread-safe.
#pragma once

#include <string>

#include "core/diagnosis/remedy.h"
#include "probes/filters/filter_rule.h"

namespace plumbline {

// A filter that stops ARP itself; one that stops every frame is the firewall rules' matter.
bool stops_arp(const FilterRule& rule);
// The command that takes the rule out, or a sentence where none can be written.
Remedy remedy_without_arp_rule(const FilterRule& rule);

}  // namespace plumbline
