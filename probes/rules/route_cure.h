// What decides the way of a pair's packets on their sender, and what has to be done there so that
// they leave as they should. Pure functions, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/rules/host_common.h"

namespace plumbline {

// A route type or the action of a policy rule that sends nothing: "blackhole", "prohibit" ...
bool refuses_packets(const std::string& type);
std::string describe_route(const RouteEvidence& route);

// The policy rule that decides before the main table, and that is to blame; nullptr when none is.
const PolicyRule* guilty_rule(const HostEvidence& host, const PairEvidence& pair);

// How a host in the same subnet as `from` gets there; nullptr when none does through a gateway that
// `from` reaches as well. `all`: the data addresses of all hosts.
const RouteEvidence* way_of_neighbour(const std::vector<DataAddress>& all, const DataAddress& from,
                                      const std::string& to_ip);

struct RouteCure {
  std::string text;  // why
  Remedy remedy;
  double confidence = 1.0;
};
// Absent when neither a policy rule nor a refusing route nor a lost connected one is to blame.
std::optional<RouteCure> cure_of(const PairEvidence& pair, const DataAddress& from);

}  // namespace plumbline
