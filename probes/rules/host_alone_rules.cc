// neighbour.unresolved of a host that no agent speaks for: only the end that asked tells, and what
// it tells is that nobody has the address, or that the machine is off.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "probes/rules/arp_filters.h"
#include "probes/rules/host_rows.h"
#include "probes/rules/neighbour_links.h"

namespace plumbline {
namespace {

constexpr const char* kAloneCause = "neighbour.unresolved";
constexpr double kConfidence = 0.8, kByOwnRule = 0.9;

bool speaks(const EvidenceSet& evidence, const std::string& name) {
  const HostEvidence* host = find_host(evidence, name);
  return host != nullptr && (has_facts(*host) || !host->agent_cause.empty());
}

// Pairs on one link that lead from a host with facts to one that says nothing of itself.
std::vector<Link> links_to_strangers(const EvidenceSet& evidence,
                                     const std::vector<DataAddress>& all) {
  std::vector<Link> out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (!between_machines(pair) || !pair.skipped.empty() || speaks(evidence, pair.to)) continue;
    const DataAddress* from = find_data(all, pair.from, pair.from_ip);
    if (from == nullptr || !is_usable(*from->interface) || !from->interface->arp) continue;
    if (!pair.neighbour || !pair.neighbour->on_link) continue;
    const RouteLookup* lookup = route_lookup(pair);
    if (lookup != nullptr && (!lookup->error.empty() || !lookup->via.empty())) continue;
    if (lookup != nullptr && !lookup->dev.empty() && lookup->dev != from->interface->name) continue;
    out.push_back({&pair, from, nullptr});
  }
  return out;
}

// Asked in vain, and everything else that was tried stayed without an answer too.
bool stays_silent(const Link& link) {
  return reaches(*link.pair) == std::optional<bool>(false) && is_unresolved(link);
}

const FilterRule* own_arp_rule(const HostEvidence& host) {
  const auto found = std::find_if(host.filters.begin(), host.filters.end(), stops_arp);
  return found == host.filters.end() ? nullptr : &*found;
}

Candidate dropped_by_own_rule(const Link& link, const FilterRule& rule, const Checks& checks) {
  const PairEvidence& pair = *link.pair;
  Proposal proposal(kAloneCause, Severity::kFail, pair.from);
  proposal.confidence(kByOwnRule)
      .see(pair.from, neighbour_key(pair.from, pair.to),
           fmt::format("a rule of {} drops ARP: {}", rule.tool, rule.text))
      .remedy(remedy_without_arp_rule(rule))
      .breaks_both(pair.from, pair.to);
  return proposal.take(checks);
}

Candidate nobody_there(const Link& link, bool others_know, const Checks& checks) {
  const PairEvidence& pair = *link.pair;
  const NeighbourProbe& probe = *pair.neighbour;
  const std::string& device = link.from->interface->name;
  const std::string key = neighbour_key(pair.from, pair.to);
  Proposal proposal(kAloneCause, Severity::kFail, pair.to);
  // Unknown to all who asked, it is the host's own matter; else one of the pair.
  if (others_know) proposal.peer(pair.from);
  proposal.confidence(kConfidence)
      .see(pair.from, key,
           fmt::format("nobody answered on {} when it asked who has {}", device, pair.to_ip));
  if (!probe.kernel_mac.empty()) {
    proposal.see(pair.from, key,
                 fmt::format("the kernel remembers {} for it ({}): somebody had it a while ago",
                             probe.kernel_mac, probe.kernel_state));
  }
  proposal
      .see(pair.from, key,
           "nothing else from there was answered either: no machine on this link has the address, "
           "or the one that has it is off or unplugged")
      .remedy(fmt::format(
          "# is {0} the right address, and is that machine switched on? On it, `ip -br address` "
          "must show {0} on an interface that is UP; its port of the switch must be in the same "
          "network and VLAN as {1} of {2}; a filter there that drops ARP looks the same from here",
          pair.to_ip, device, pair.from))
      .breaks_both(pair.from, pair.to);
  return proposal.take(checks);
}

}  // namespace

std::vector<Candidate> propose_unanswered(const EvidenceSet& evidence, const Checks& checks) {
  const std::vector<DataAddress> all = data_addresses(evidence);
  const std::vector<Link> links = links_to_strangers(evidence, all);
  std::vector<Candidate> out;
  for (const Link& link : links) {
    if (!stays_silent(link)) continue;
    if (const FilterRule* rule = own_arp_rule(*link.from->at.host)) {
      out.push_back(dropped_by_own_rule(link, *rule, checks));
      continue;
    }
    const bool others_know = std::any_of(links.begin(), links.end(), [&](const Link& other) {
      return other.pair->to == link.pair->to && !stays_silent(other);
    });
    out.push_back(nobody_there(link, others_know, checks));
  }
  return out;
}

}  // namespace plumbline
