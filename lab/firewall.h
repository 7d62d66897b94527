// Firewalls of healthy hosts: what a careful administrator has in place, with the right rule for
// the job's ports. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "lab/lab.h"

namespace plumbline {

// Commands that set up the topology's firewall and its answer to pings on one host; empty without.
std::vector<std::string> healthy_firewall_commands(const Lab& lab, size_t host);

}  // namespace plumbline
