// The pairs of a job that share a link, what is known of their address resolution, and the rules of
// packet filters that stop it: what the rules of neighbour.unresolved work on
// (host_neighbour_rules.cc, host_silent_rules.cc). Pure functions, thread-safe; pointers lead into
// the evidence and the list of addresses.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/diagnosis/remedy.h"
#include "probes/filters/filter_rule.h"
#include "probes/rules/host_common.h"

namespace plumbline {

// A pair on one link whose ends have their addresses on interfaces that work.
struct Link {
  const PairEvidence* pair = nullptr;
  const DataAddress *from = nullptr, *to = nullptr;
};
std::vector<Link> links_of(const EvidenceSet& evidence, const std::vector<DataAddress>& all);
// Nobody told the hardware address when asked.
bool is_unresolved(const Link& link);
// The key of the check that says so.
std::string neighbour_key(const std::string& from, const std::string& to);

struct SilentLinks {
  const EvidenceSet& evidence;
  const Checks& checks;
  const std::vector<DataAddress>& all;
  const std::vector<Link>& links;
  OrderedPairs taken;  // ordered pairs that something seen explains already
};
// Where nothing is seen that explains the silence: the host that is silent towards all, or the
// pair.
void propose_silent_peers(const SilentLinks& what, std::vector<Candidate>& out);

// A filter that stops ARP itself; one that stops every frame is the firewall rules' matter.
bool stops_arp(const FilterRule& rule);
// The command that takes the rule out, or a sentence where none can be written.
Remedy remedy_without_arp_rule(const FilterRule& rule);

}  // namespace plumbline
