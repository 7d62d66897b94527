// Causes in the plan of the network: two ends in subnets that nothing joins, pairs without a cable,
// cables that were swapped; bridges with a port that is left out or does not forward, and circles
// of cables.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/ranges.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

// A route through a gateway that is meant for this address: a specific one, or a default route
// whose gateway lies in the data subnet itself.
bool has_way(const DataAddress& from, const std::string& to_ip, bool default_counts) {
  const RouteEvidence* route = matching_route(*from.at.host, to_ip);
  if (route == nullptr || (!route->type.empty() && route->type != "unicast")) return false;
  if (route->destination != "default") return true;
  return default_counts && !route->via.empty() && same_subnet(route->via, from.ip, from.prefix);
}

// The network is meant to be routed between these two: one of them, or a neighbour in its subnet,
// has a way to the other.
bool is_routed(const std::vector<DataAddress>& all, const DataAddress& a, const DataAddress& b) {
  const auto any_way = [&](const DataAddress& from, const DataAddress& to, bool default_counts) {
    return any_of(all, [&](const DataAddress& other) {
      // Another host's way counts when its next hop is in reach from here.
      const RouteEvidence* route = matching_route(*other.at.host, to.ip);
      const bool usable = &other == &from || (route != nullptr && !route->via.empty() &&
                                              same_subnet(route->via, from.ip, from.prefix));
      return usable && same_subnet(other.ip, from.ip, from.prefix) &&
             has_way(other, to.ip, default_counts);
    });
  };
  if (any_way(a, b, false) || any_way(b, a, false)) return true;
  return any_way(a, b, true) && any_way(b, a, true);
}

struct Apart {
  const DataAddress *from, *to;
};

// Pairs whose addresses lie in subnets that nothing joins, and that do not work.
std::vector<Apart> apart_pairs(const EvidenceSet& evidence, const std::vector<DataAddress>& all) {
  std::vector<Apart> out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (!between_machines(pair) || !pair.skipped.empty()) continue;
    const DataAddress* from = find_data(all, pair.from, pair.from_ip);
    const DataAddress* to = find_data(all, pair.to, pair.to_ip);
    if (from == nullptr || to == nullptr || is_v6(from->ip) != is_v6(to->ip)) continue;
    if (same_subnet(from->ip, to->ip, std::min(from->prefix, to->prefix))) continue;
    if (reaches(evidence, pair.from, pair.to) != false) continue;
    if (is_routed(all, *from, *to)) continue;
    out.push_back({from, to});
  }
  return out;
}

std::string network(const DataAddress& data) { return network_of(data.ip, data.prefix); }

std::string route_key(const Apart& apart) {
  return key_of({"ip", apart.from->at.job->name, apart.to->at.job->name});
}

// Of two hosts in different subnets the one whose subnet fewer hosts are in; the first on a tie.
const DataAddress& odd_one(const std::vector<DataAddress>& all, const Apart& apart) {
  const auto members = [&](const DataAddress& data) {
    return std::count_if(all.begin(), all.end(),
                         [&](const DataAddress& other) { return network(other) == network(data); });
  };
  const auto mine = members(*apart.from), theirs = members(*apart.to);
  if (mine != theirs) return mine < theirs ? *apart.from : *apart.to;
  return apart.from->at.job < apart.to->at.job ? *apart.from : *apart.to;
}

void propose_not_mesh(const EvidenceSet& evidence, const Checks& checks, const Apart& apart,
                      std::vector<Candidate>& out) {
  const std::string &a = apart.from->at.job->name, &b = apart.to->at.job->name;
  if (apart.to->at.job < apart.from->at.job) return;  // once for both directions
  out.push_back(
      Proposal("topology.not_mesh", Severity::kFail, a)
          .peer(b)
          .see(a, route_key(apart),
               fmt::format("no data address of {} shares a subnet with one of {}, and no route "
                           "joins them",
                           a, b))
          .remedy(fmt::format("connect {} and {} by a cable with a subnet of its own and add both "
                              "addresses to {}, or choose a topology that needs no link between "
                              "them",
                              a, b,
                              evidence.job.file.empty() ? "the host file" : evidence.job.file))
          .breaks_both(a, b)
          .take(checks));
}

}  // namespace

Candidates propose_subnets(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto all = data_addresses(evidence);
  std::map<const DataAddress*, std::vector<Apart>> by_host;
  // Where hosts have a subnet for every cable, a pair without one has no cable.
  const bool mesh =
      any_of(evidence.job.hosts, [](const JobHost& job) { return job.data.size() > 1; });
  for (const Apart& apart : apart_pairs(evidence, all)) {
    if (mesh) {
      propose_not_mesh(evidence, checks, apart, out);
    } else {
      by_host[&odd_one(all, apart)].push_back(apart);
    }
  }
  for (const auto& [odd, list] : by_host) {
    const std::string& name = odd->at.job->name;
    Proposal proposal("ip.wrong_subnet", Severity::kFail, name);
    std::string peer_network;
    for (const Apart& apart : list) {
      const DataAddress& peer = apart.from == odd ? *apart.to : *apart.from;
      if (peer_network.empty()) {
        peer_network = network(peer);
        proposal.see(name, route_key(apart),
                     fmt::format("{} is in {}, {} of {} is in {}, and no route joins them", odd->ip,
                                 network(*odd), peer.ip, peer.at.job->name, peer_network));
      }
      proposal.breaks_both(name, peer.at.job->name);
    }
    if (list.size() <= 2) {
      const Apart& first = list.front();
      proposal.peer((first.from == odd ? first.to : first.from)->at.job->name);
    }
    out.push_back(
        proposal
            .remedy(fmt::format("give {} an address of {} on {}, and write it at {}", name,
                                peer_network, odd->interface->name, odd->at.job->where))
            .take(checks));
  }
  return out;
}

// Two swapped cables are healed as well by giving each card the other's address.
Remedy remedy_for_crossing(const std::vector<const DataAddress*>& ends) {
  std::vector<std::string> names;
  for (const DataAddress* end : ends) names.push_back(end->interface->name);
  const std::string cables = "swap the cables of " + join_words(names, " and ");
  if (ends.size() != 2) return cables + ", or their addresses";
  const DataAddress &a = *ends[0], &b = *ends[1];
  const std::string& system = a.at.host->system;
  return Remedy(remedy_delete_address(system, a.ip, a.prefix, a.interface->name))
      .run(remedy_delete_address(system, b.ip, b.prefix, b.interface->name))
      .run(remedy_add_address(system, a.ip, a.prefix, b.interface->name))
      .run(remedy_add_address(system, b.ip, b.prefix, a.interface->name).remark("or " + cables));
}

// Two or more cables of one host whose other ends all stay silent, though every link has a signal
// and the peers hear each other: they were probably swapped.
Candidates propose_rails(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto all = data_addresses(evidence);
  for (const HostView& view : host_views(evidence)) {
    std::vector<const DataAddress*> own;
    for (const DataAddress& data : all) {
      if (data.at.job == view.job) own.push_back(&data);
    }
    if (own.size() < 2) continue;
    std::vector<std::string> silent, words;
    std::vector<const DataAddress*> ends;
    OrderedPairs broken;
    std::set<std::string> interfaces;
    for (const PairEvidence& pair : evidence.pairs) {
      if (pair.from != view.job->name || !pair.neighbour || !pair.neighbour->on_link) continue;
      const DataAddress* mine = find_data(all, pair.from, pair.from_ip);
      const DataAddress* theirs = find_data(all, pair.to, pair.to_ip);
      if (mine == nullptr || theirs == nullptr) continue;
      const bool links = is_usable(*mine->interface) && is_usable(*theirs->interface) &&
                         mine->interface->arp && theirs->interface->arp;
      const bool nobody = pair.neighbour->macs.empty() && pair.neighbour->error.empty();
      if (!links || !nobody || reaches(evidence, pair.from, pair.to).value_or(false)) continue;
      silent.push_back(pair.to);
      ends.push_back(mine);
      interfaces.insert(mine->interface->name);
      words.push_back(fmt::format("{} ({}) gets no answer for {} of {}", mine->interface->name,
                                  mine->ip, pair.to_ip, pair.to));
      broken.merge(both_ways(pair.from, pair.to));
    }
    // Each end of a swap misses at least two peers, on two interfaces.
    if (interfaces.size() < 2 || silent.size() != interfaces.size()) continue;
    const bool peers_fine = all_of(silent, [&](const std::string& a) {
      return all_of(silent, [&](const std::string& b) {
        return a == b || reaches(evidence, a, b).value_or(true);
      });
    });
    if (!peers_fine) continue;
    Proposal proposal("topology.rail_mismatch", Severity::kFail, view.job->name);
    for (size_t i = 0; i < words.size(); ++i) {
      proposal.see(view.job->name, key_of({"neighbour", view.job->name, silent[i]}), words[i]);
    }
    out.push_back(
        proposal.confidence(0.7).remedy(remedy_for_crossing(ends)).breaks(broken).take(checks));
  }
  return out;
}

namespace {

// Of several, those that are called like a port of a data bridge on another host.
std::vector<const InterfaceEvidence*> likely_ports(
    const EvidenceSet& evidence, const HostView& view,
    const std::vector<const InterfaceEvidence*>& lonely) {
  std::vector<const InterfaceEvidence*> out;
  for (const InterfaceEvidence* port : lonely) {
    for (const HostView& other : host_views(evidence)) {
      if (other.job == view.job) continue;
      const InterfaceEvidence* theirs = find_interface(*other.host, port->name);
      const InterfaceEvidence* bridge =
          theirs == nullptr ? nullptr : find_interface(*other.host, theirs->master);
      const auto wanted = carriers(other);
      if (bridge == nullptr || !is_in(wanted, bridge)) {
        continue;
      }
      out.push_back(port);
      break;
    }
  }
  return out.empty() ? lonely : out;
}

// The pairs of a host over this bridge that do not work. What its routes send elsewhere does not
// meet the bridge, whatever its ports are.
OrderedPairs broken_over(const EvidenceSet& evidence, const HostView& view,
                         const InterfaceEvidence& bridge) {
  OrderedPairs broken = not_working(evidence, pairs_over(evidence, *view.host, bridge.name));
  for (const PairEvidence& pair : evidence.pairs) {
    if (pair.from != view.job->name) continue;
    const RouteLookup* lookup = route_lookup(pair);
    if (lookup == nullptr || lookup->dev.empty() || lookup->dev == bridge.name) continue;
    broken.erase({pair.from, pair.to});
    broken.erase({pair.to, pair.from});
  }
  return broken;
}

void propose_bridge(const EvidenceSet& evidence, const HostView& view, const Checks& checks,
                    const InterfaceEvidence& bridge, std::vector<Candidate>& out) {
  const std::string& name = view.job->name;
  const OrderedPairs broken = broken_over(evidence, view, bridge);
  if (broken.empty()) return;
  std::vector<const InterfaceEvidence*> ports, stopped;
  for (const InterfaceEvidence& port : view.host->interfaces) {
    if (port.master != bridge.name) continue;
    ports.push_back(&port);
    const bool stops = !port.port_state.empty() && port.port_state != "forwarding";
    if (is_usable(port) && stops) stopped.push_back(&port);
  }
  const auto propose = [&](const std::string& text, const Remedy& remedy, double confidence) {
    out.push_back(Proposal("link.not_in_bridge", Severity::kFail, name)
                      .confidence(confidence)
                      .see(name, key_of({"link", name, {}, {}, bridge.name}), text)
                      .remedy(remedy)
                      .breaks(broken)
                      .take(checks));
  };
  if (!stopped.empty()) {
    Remedy remedy;
    std::vector<std::string> words;
    for (const InterfaceEvidence* port : stopped) {
      remedy.run(remedy_forward_on_port(port->name));
      words.push_back(fmt::format("{} is '{}'", port->name, port->port_state));
    }
    return propose(
        fmt::format("ports of bridge {} do not forward: {}", bridge.name, join_words(words)),
        remedy, 0.9);
  }
  const auto lonely = likely_ports(evidence, view, unbridged_ports(*view.host));
  if (lonely.empty()) return;
  Remedy remedy;
  std::vector<std::string> words;
  for (const InterfaceEvidence* port : lonely) {
    remedy.run(remedy_add_to_bridge(view.host->system, port->name, bridge.name));
    words.push_back(port->name);
  }
  const bool only = lonely.size() == 1;
  if (!only) {
    remedy = fmt::format("one of {} belongs in the bridge: ip link set dev PORT master {}",
                         join_words(words), bridge.name);
  }
  propose(fmt::format("bridge {} has {} ports; {} has a signal and belongs to no bridge",
                      bridge.name, ports.size(), join_words(words)),
          remedy, only ? 0.9 : 0.7);
}

}  // namespace

Candidates propose_bridges(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostView& view : host_views(evidence)) {
    for (const std::string& loop : view.host->forwarding_loops) {
      OrderedPairs over;
      for (const InterfaceEvidence* interface : carriers(view)) {
        if (interface->kind == "bridge") {
          over.merge(pairs_over(evidence, *view.host, interface->name));
        }
      }
      out.push_back(Proposal("topology.bridge_loop", Severity::kFail, view.job->name)
                        .see(view.job->name, "", loop)
                        .remedy("take one of the ports that close the loop out of its bridge (ip "
                                "link set dev PORT nomaster), or switch the spanning tree protocol "
                                "on (ip link set dev BRIDGE type bridge stp_state 1)")
                        .breaks(not_working(evidence, over))
                        .proven()
                        .take(checks));
    }
    for (const InterfaceEvidence* interface : carriers(view)) {
      if (interface->kind == "bridge" && interface->up) {
        propose_bridge(evidence, view, checks, *interface, out);
      }
    }
  }
  return out;
}

}  // namespace plumbline
