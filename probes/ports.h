// The probe `ports`: is the plan of ports sound (window and master port apart, inside the port
// range, outside the ephemeral range), and is every port of it free, or else held by whom? The
// rules are pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "probes/probe.h"

namespace plumbline {

struct PortPlan {
  int base = 29600;  // rank r listens on base + r
  int ranks = 2;
  int master = 29500;
  std::vector<int> window() const;     // base ... base + ranks - 1, inside the port range
  std::vector<int> all_ports() const;  // the window and the master port, sorted
};
PortPlan plan_of(const ProbeContext& context);

// Judges the plan alone, before a socket is opened. `reserved` ports do not count as ephemeral.
ProbeResult judge_port_plan(const std::string& host, const PortPlan& plan,
                            std::pair<int, int> ephemeral, const std::vector<int>& reserved = {});

// What trying to listen on one port gave.
struct PortState {
  int port = 0;
  Error error;        // meaningful when not free
  bool free = false;  // nobody held it
  std::string owner;  // "PID 4711 (python3)", empty when unknown
};
// Listens on each port on all of these addresses and closes again.
std::vector<PortState> try_ports(const std::vector<NicAddress>& addresses,
                                 const std::vector<int>& ports);
// One check per port; one finding per owner. `suggestion` names free ports ("--port-base 29700").
ProbeResult judge_ports(const std::string& host, const std::vector<PortState>& states,
                        const std::string& suggestion);
// The findings alone, of checks that belong to the states one by one.
std::vector<Finding> held_port_findings(const std::vector<PortState>& states,
                                        const std::vector<Check>& checks,
                                        const std::string& suggestion);

// A window of free ports for `--port-base auto`: outside the ephemeral range and away from the
// master port. Where the search begins depends on the process, so that two runs that start at the
// same time rarely meet.
Expected<int> find_free_window(const std::vector<NicAddress>& addresses, int ranks, int master_port,
                               std::pair<int, int> ephemeral);
// "--port-base N" or "--port-base N --master-port M" with ports that are free now; empty when none
// were found.
std::string suggest_ports(const ProbeContext& context, const std::vector<NicAddress>& addresses,
                          bool master_too);

ProbeResult probe_ports(const ProbeContext& context);

}  // namespace plumbline
