#include "probes/rules/neighbour_links.h"

namespace plumbline {

std::vector<Link> links_of(const EvidenceSet& evidence, const std::vector<DataAddress>& all) {
  std::vector<Link> out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (!between_machines(pair) || !pair.skipped.empty()) continue;
    const DataAddress* from = find_data(all, pair.from, pair.from_ip);
    const DataAddress* to = find_data(all, pair.to, pair.to_ip);
    if (from == nullptr || to == nullptr) continue;
    if (!is_usable(*from->interface) || !is_usable(*to->interface)) continue;
    if (!same_subnet(from->ip, to->ip, from->prefix)) continue;
    if (pair.neighbour && !pair.neighbour->on_link) continue;
    const RouteLookup* lookup = route_lookup(pair);
    if (lookup != nullptr && (!lookup->error.empty() || !lookup->via.empty())) continue;
    // Sent elsewhere, the request meets nobody: that is a matter of routes.
    if (lookup != nullptr && !lookup->dev.empty() && lookup->dev != from->interface->name) continue;
    out.push_back({&pair, from, to});
  }
  return out;
}

std::string neighbour_key(const std::string& from, const std::string& to) {
  return key_of({"neighbour", from, to});
}

bool is_unresolved(const Link& link) {
  const PairEvidence& pair = *link.pair;
  if (reaches(pair).value_or(false)) return false;
  if (pair.neighbour && pair.neighbour->error.empty()) {
    const NeighbourProbe& probe = *pair.neighbour;
    const bool kernel_knows = !probe.kernel_mac.empty() && probe.kernel_state != "FAILED";
    if (!probe.macs.empty()) return false;
    return probe.method == "arp" || !kernel_knows;
  }
  for (const NeighbourEvidence& entry : link.from->at.host->neighbours) {
    if (entry.ip == pair.to_ip) return entry.state == "FAILED" || entry.state == "INCOMPLETE";
  }
  return false;
}

}  // namespace plumbline
