// The commands that make a lab, as text. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "lab/lab.h"

namespace plumbline {

struct CreationStep {
  std::string what;    // "host node1"
  std::string script;  // for sh -e, in the root namespace
};

std::vector<CreationStep> creation_steps(const Lab& lab);
// All namespaces of a lab.
std::vector<std::string> lab_namespaces(const Lab& lab);

// Commands that make (again) one data link of a host with its addresses, shaping and routes; the
// namespaces and bridges are there. Used by creation and by faults that pull a cable.
std::vector<std::string> make_link_commands(const Lab& lab, const LabHost& host,
                                            const LabLink& link);
// Commands that configure the host's end: address, up, routes (not the shaping).
std::vector<std::string> configure_commands(const Lab& lab, const LabHost& host,
                                            const LabLink& link);
// "ip -n NS address replace ADDRESS dev IF" as the lab does it.
std::string address_command(const LabHost& host, const LabLink& link);
// Routes of a host beyond the connected ones (routed labs).
std::vector<std::string> route_commands(const Lab& lab, const LabHost& host, const LabLink& link);
// Shapes one end of a link; "tc -n NS qdisc replace dev IF root tbf ...".
std::string shape_command(const std::string& netns, const std::string& interface,
                          const std::string& rate);
// Waits until no interface of the namespace that is up misses its carrier, 3 s at most.
std::string settle_command(const std::string& netns);
// Bits per second of "1Gbit".
double rate_bps(const std::string& rate);

}  // namespace plumbline
