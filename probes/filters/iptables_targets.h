// What the targets of iptables and ebtables do to a packet, by name: one table for the readers in
// this folder. iptables-extensions(8), ebtables(8). Pure functions, thread-safe.
#pragma once

#include <string>

#include "probes/filters/filter_rule.h"

namespace plumbline {

// Sets action and effects; a name that is in no table is taken for a chain of the user: "jump" with
// this target.
void apply_iptables_target(const std::string& name, FilterRule& rule);

}  // namespace plumbline
