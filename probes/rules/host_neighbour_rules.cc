// neighbour.unresolved: a peer on the same link whose hardware address nobody tells, or a wrong one
// is believed. First what is seen to cause it (a static entry, ARP switched off, an answer that is
// forbidden, ports that may not talk to each other), then who is silent towards whom.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/neighbour_links.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

constexpr const char* kNeighbourCause = "neighbour.unresolved";

class NeighbourRules {
 public:
  NeighbourRules(const EvidenceSet& evidence, const Checks& checks)
      : evidence_(evidence),
        checks_(checks),
        all_(data_addresses(evidence)),
        links_(links_of(evidence, all_)) {}

  std::vector<Candidate> propose() {
    static_entries();
    arp_off();
    forbidden_answers();
    filtered_requests();
    isolated_ports();
    silent_gateways();
    propose_silent_peers({evidence_, checks_, all_, links_, taken_}, out_);
    return std::move(out_);
  }

 private:
  bool is_taken(const std::string& a, const std::string& b) const {
    return taken_.count({a, b}) > 0;
  }
  void push(Proposal& proposal) {
    Candidate candidate = proposal.take(checks_);
    taken_.insert(candidate.breaks.begin(), candidate.breaks.end());
    out_.push_back(std::move(candidate));
  }

  void static_entries() {
    for (const Link& link : links_) {
      const HostEvidence& host = *link.from->at.host;
      for (const NeighbourEvidence& entry : host.neighbours) {
        if (entry.ip != link.pair->to_ip || entry.state != "PERMANENT") continue;
        if (entry.dev != link.from->interface->name || entry.mac.empty()) continue;
        const std::string right = link.to->interface->mac;
        if (right.empty() || has_mac(*link.to->at.host, entry.mac)) continue;
        if (reaches(*link.pair).value_or(false)) continue;
        Proposal proposal(kNeighbourCause, Severity::kFail, host.name);
        proposal.peer(link.pair->to)
            .see(host.name, neighbour_key(host.name, link.pair->to),
                 fmt::format("a static entry on {} says that {} has {}; {} has {}", entry.dev,
                             entry.ip, entry.mac, link.pair->to, right))
            .remedy(remedy_delete_neighbour(host.system, entry.ip, entry.dev))
            .breaks_both(host.name, link.pair->to);
        push(proposal);
      }
    }
  }

  void arp_off() {
    for (const DataAddress& data : all_) {
      const InterfaceEvidence& interface = *data.interface;
      if (interface.arp || !is_usable(interface) || is_v6(data.ip)) continue;
      if (!is_wired(interface)) continue;  // tunnels and dummies never resolve
      const std::string& name = data.at.job->name;
      const auto pairs = pairs_with_ip(evidence_, name, data.ip);
      const auto broken = not_working(evidence_, pairs);
      if (broken.empty()) continue;
      Proposal proposal(kNeighbourCause, Severity::kFail, name);
      proposal
          .see(name, key_of({"link", name, {}, {}, interface.name}),
               fmt::format("ARP is switched off on {}: it neither asks nor answers for {}",
                           interface.name, data.ip))
          .remedy(remedy_arp_on(data.at.host->system, interface.name))
          .breaks(broken);
      push(proposal);
    }
  }

  // arp_ignore (ip-sysctl): 1 answers only for addresses of the interface that is asked, 2 only to
  // askers in its subnet, 3 not for addresses of host scope, 8 for none.
  void forbidden_answers() {
    for (const DataAddress& data : all_) {
      if (is_v6(data.ip)) continue;
      const HostEvidence& host = *data.at.host;
      for (const std::string& place : {std::string("all"), data.interface->name}) {
        const std::string key = fmt::format("net.ipv4.conf.{}.arp_ignore", place);
        if (sysctl_number(host, key).value_or(0) < 8) continue;
        OrderedPairs broken;
        for (const Link& link : links_) {
          if (link.to->at.job != data.at.job || link.to->ip != data.ip) continue;
          if (!is_unresolved(link)) continue;
          broken.merge(both_ways(link.pair->from, link.pair->to));
        }
        if (broken.empty()) continue;
        Proposal proposal(kNeighbourCause, Severity::kFail, host.name);
        proposal
            .see(host.name, "",
                 fmt::format("{} = {}: this host answers no ARP request for {}", key,
                             host.sysctls.at(key), data.ip))
            .remedy(remedy_sysctl(key, "0"))
            .breaks(broken);
        push(proposal);
        break;
      }
    }
  }

  void filtered_requests() {
    for (const HostView& view : host_views(evidence_)) {
      for (const FilterRule& rule : view.host->filters) {
        if (!stops_arp(rule)) continue;
        const std::string& name = view.job->name;
        OrderedPairs broken;
        for (const Link& link : links_) {
          const std::string &a = link.pair->from, &b = link.pair->to;
          if ((a != name && b != name) || !is_unresolved(link) || is_taken(a, b)) continue;
          broken.merge(both_ways(a, b));
        }
        if (broken.empty()) continue;
        Proposal proposal(kNeighbourCause, Severity::kFail, name);
        proposal.confidence(0.9)
            .see(name, "", fmt::format("a rule of {} drops ARP: {}", rule.tool, rule.text))
            .remedy(remedy_without_arp_rule(rule))
            .breaks(broken);
        push(proposal);
      }
    }
  }

  // Two isolated ports of one bridge never talk to each other, though both talk to the bridge.
  void isolated_ports() {
    for (const HostView& view : host_views(evidence_)) {
      std::map<std::string, std::vector<std::string>> by_bridge;
      for (const InterfaceEvidence& port : view.host->interfaces) {
        if (port.isolated && !port.master.empty()) by_bridge[port.master].push_back(port.name);
      }
      for (const auto& [bridge, ports] : by_bridge) {
        if (ports.size() < 2) continue;
        OrderedPairs broken;
        for (const Link& link : links_) {
          const std::string &a = link.pair->from, &b = link.pair->to;
          if (a == view.job->name || b == view.job->name || is_taken(a, b)) continue;
          if (!is_unresolved(link)) continue;
          broken.merge(both_ways(a, b));
        }
        if (broken.empty()) continue;
        Proposal proposal(kNeighbourCause, Severity::kFail, view.job->name);
        proposal.confidence(0.9)
            .see(view.job->name, key_of({"link", view.job->name, {}, {}, bridge}),
                 fmt::format("{} are isolated ports of bridge {}: it forwards nothing between them",
                             join_words(ports, " and "), bridge))
            .remedy(remedy_join_ports(ports))
            .breaks(broken);
        push(proposal);
      }
    }
  }

  // The next hop of a routed pair does not answer.
  void silent_gateways() {
    for (const PairEvidence& pair : evidence_.pairs) {
      const DataAddress* from = find_data(all_, pair.from, pair.from_ip);
      const RouteLookup* lookup = route_lookup(pair);
      if (from == nullptr || lookup == nullptr || lookup->via.empty()) continue;
      if (reaches(pair) != false || is_taken(pair.from, pair.to)) continue;
      for (const NeighbourEvidence& entry : from->at.host->neighbours) {
        const bool failed = entry.state == "FAILED" || entry.state == "INCOMPLETE";
        if (entry.ip != lookup->via || !failed || entry.dev != from->interface->name) continue;
        Proposal proposal(kNeighbourCause, Severity::kFail, pair.from);
        proposal.confidence(0.8)
            .see(pair.from, neighbour_key(pair.from, pair.to),
                 fmt::format("the gateway {} towards {} does not answer on {}", entry.ip, pair.to,
                             entry.dev))
            .remedy(fmt::format("switch the gateway {} on, or correct the route: ip route get {}",
                                entry.ip, pair.to_ip));
        for (const PairEvidence& other : evidence_.pairs) {  // all that goes this way
          const RouteLookup* way = route_lookup(other);
          if (other.from != pair.from || way == nullptr || way->via != entry.ip) continue;
          if (!reaches(other).value_or(false)) proposal.breaks_both(other.from, other.to);
        }
        push(proposal);
        break;
      }
    }
  }

  const EvidenceSet& evidence_;
  const Checks& checks_;
  std::vector<DataAddress> all_;
  std::vector<Link> links_;
  OrderedPairs taken_;
  std::vector<Candidate> out_;
};

}  // namespace

Candidates propose_neighbours(const EvidenceSet& evidence, const Checks& checks) {
  return NeighbourRules(evidence, checks).propose();
}

}  // namespace plumbline
