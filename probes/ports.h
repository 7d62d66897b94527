// The plan of ports: rank r listens on base + r, rank 0 also on the master port. Is the plan sound,
// which other ports would be free, what holds a port of this machine, and how do people write lists
// of them ("29600-29603,65432")? Judging the plan and reading lists is pure; try_ports and
// find_free_window open listeners for a moment. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/host/host.h"
#include "probes/evidence.h"

namespace plumbline {

struct PortPlan {
  int base = 29600;  // rank r listens on base + r
  int ranks = 2;
  int master = 29500;
  std::vector<int> window() const;     // base ... base + ranks - 1, inside the port range
  std::vector<int> all_ports() const;  // the window and the master port, sorted
};
PortPlan plan_of(const Job& job);

// What is wrong with the plan itself, before a socket is opened, and what to type instead; `wrong`
// is empty when nothing is.
struct PlanFault {
  std::string wrong, remedy;
};
PlanFault plan_fault(const PortPlan& plan);
// Of the evidence's job; a stack's ports are judged by its own model.
PlanFault plan_fault(const EvidenceSet& evidence);

// The ports of "A-B", or of "A" alone, with this mark between the two; nothing where it is none.
std::optional<std::pair<int, int>> port_span(const std::string& text, char mark);

// {first, last} of the ports that the host takes for outgoing connections, {0, 0} unknown; and
// those of them that it was told to leave alone.
std::pair<int, int> ephemeral_range(const HostEvidence& host);
std::vector<int> kept_ports(const HostEvidence& host);

// "--port-base N" (with " --master-port M" when that must move too) with ports that no socket of
// any host in the evidence uses and that lie outside all ephemeral ranges; empty when there are
// none.
std::string suggest_ports(const EvidenceSet& evidence, bool master_too);

// What trying to listen on one port of this machine gave.
struct LocalPort {
  int port = 0;
  Error error;        // meaningful when not free
  bool free = false;  // nobody held it
  std::string owner;  // "PID 4711 (python3)", empty when unknown
};
// Listens on each port on all of these addresses and closes again.
std::vector<LocalPort> try_ports(const std::vector<NicAddress>& addresses,
                                 const std::vector<int>& ports);

// A window of free ports for `--port-base auto`: outside the ephemeral range and away from the
// master port. Where the search begins depends on the process, so that two runs that start at the
// same time rarely meet. `usable` has the last word on a window that is free; empty = it is.
Expected<int> find_free_window(const std::vector<NicAddress>& addresses, int ranks, int master_port,
                               std::pair<int, int> ephemeral,
                               const std::function<bool(int base)>& usable = nullptr);

// Sorted, each port once. Brackets, spaces and an empty text are fine; anything else is an error
// that names the part.
Expected<std::vector<int>> parse_port_list(std::string_view text);
// The shortest spelling: {1, 2, 3, 7} -> "1-3,7".
std::string format_port_list(std::vector<int> ports);

}  // namespace plumbline
