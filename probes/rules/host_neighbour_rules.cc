// neighbour.unresolved: a peer on the same link whose hardware address nobody tells, or a wrong one
// is believed. First what is seen to cause it (a static entry, ARP switched off, an answer that is
// forbidden, ports that may not talk to each other), then who is silent towards whom.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "probes/filters/shell_text.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_rows.h"

namespace plumbline {
namespace {

constexpr const char* kCause = "neighbour.unresolved";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// A pair on one link whose ends have their addresses on interfaces that work.
struct Link {
  const PairEvidence* pair = nullptr;
  const DataAddress *from = nullptr, *to = nullptr;
};

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

std::string key_for(const std::string& from, const std::string& to) {
  return key_of({"neighbour", from, to});
}

// Nobody told the hardware address when asked.
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
    silent_peers();
    return std::move(out_);
  }

 private:
  bool is_taken(const std::string& a, const std::string& b) const {
    return taken_.count(pair_key(a, b)) > 0;
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
        Proposal proposal(kCause, Severity::kFail, host.name);
        proposal.peer(link.pair->to)
            .see(host.name, key_for(host.name, link.pair->to),
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
      Proposal proposal(kCause, Severity::kFail, name);
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
        std::set<std::string> broken;
        for (const Link& link : links_) {
          if (link.to->at.job != data.at.job || link.to->ip != data.ip) continue;
          if (!is_unresolved(link)) continue;
          broken.insert(
              {pair_key(link.pair->from, link.pair->to), pair_key(link.pair->to, link.pair->from)});
        }
        if (broken.empty()) continue;
        Proposal proposal(kCause, Severity::kFail, host.name);
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

  // A filter that stops ARP itself; one that stops every frame is the firewall rules' matter.
  static bool stops_arp(const FilterRule& rule) {
    if (rule.action != "drop" || rule.is_policy) return false;
    const std::string text = lower(rule.text);
    const bool named = rule.family == "arp" || text.find("arp") != std::string::npos ||
                       text.find("0x0806") != std::string::npos;
    return named && (rule.family == "arp" || rule.family == "bridge" || rule.family == "netdev" ||
                     rule.tool == "ebtables" || rule.tool == "tc" || rule.tool == "arptables");
  }

  static std::string remedy_without(const FilterRule& rule) {
    if (rule.tool == "nftables" && rule.handle > 0) {
      return fmt::format("nft delete rule {} {} {} handle {}", shell_word(rule.family),
                         shell_word(rule.table), shell_word(rule.chain), rule.handle);
    }
    const size_t at = rule.text.find("-A ");
    const bool plain = rule.text.find_first_of(";|&`$<>\\\n'\"") == std::string::npos;
    if ((rule.tool == "ebtables" || rule.tool == "arptables") && at == 0 && plain) {
      return fmt::format("{} -t {} -D {}", rule.tool,
                         shell_word(rule.table.empty() ? "filter" : rule.table),
                         rule.text.substr(3));
    }
    return fmt::format("take this rule of {} out: {}", rule.tool, rule.text);
  }

  void filtered_requests() {
    for (const HostView& view : host_views(evidence_)) {
      for (const FilterRule& rule : view.host->filters) {
        if (!stops_arp(rule)) continue;
        const std::string& name = view.job->name;
        std::set<std::string> broken;
        for (const Link& link : links_) {
          const std::string &a = link.pair->from, &b = link.pair->to;
          if ((a != name && b != name) || !is_unresolved(link) || is_taken(a, b)) continue;
          broken.insert({pair_key(a, b), pair_key(b, a)});
        }
        if (broken.empty()) continue;
        Proposal proposal(kCause, Severity::kFail, name);
        proposal.confidence(0.9)
            .see(name, "", fmt::format("a rule of {} drops ARP: {}", rule.tool, rule.text))
            .remedy(remedy_without(rule))
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
        std::set<std::string> broken;
        for (const Link& link : links_) {
          const std::string &a = link.pair->from, &b = link.pair->to;
          if (a == view.job->name || b == view.job->name || is_taken(a, b)) continue;
          if (!is_unresolved(link)) continue;
          broken.insert({pair_key(a, b), pair_key(b, a)});
        }
        if (broken.empty()) continue;
        Proposal proposal(kCause, Severity::kFail, view.job->name);
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
      if (reaches(pair) != std::optional<bool>(false) || is_taken(pair.from, pair.to)) continue;
      for (const NeighbourEvidence& entry : from->at.host->neighbours) {
        const bool failed = entry.state == "FAILED" || entry.state == "INCOMPLETE";
        if (entry.ip != lookup->via || !failed || entry.dev != from->interface->name) continue;
        Proposal proposal(kCause, Severity::kFail, pair.from);
        proposal.confidence(0.8)
            .see(pair.from, key_for(pair.from, pair.to),
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

  // Nothing is seen that explains it: name the host that is silent towards all, or the pair.
  void silent_peers() {
    std::map<std::string, std::set<std::string>> silent, linked;
    for (const Link& link : links_) {
      const std::string &a = link.pair->from, &b = link.pair->to;
      if (is_taken(a, b)) continue;
      linked[a].insert(b);
      linked[b].insert(a);
      if (!is_unresolved(link)) continue;
      silent[a].insert(b);
      silent[b].insert(a);
    }
    std::set<std::string> named;
    for (const JobHost& job : evidence_.job.hosts) {
      const auto& peers = silent[job.name];
      if (peers.size() < 2 || peers != linked[job.name]) continue;
      // Among hosts that are all silent towards each other nobody stands out.
      const bool others_fine = std::any_of(peers.begin(), peers.end(), [&](const auto& peer) {
        return silent[peer].size() < linked[peer].size();
      });
      if (!others_fine) continue;
      named.insert(job.name);
      Proposal proposal(kCause, Severity::kFail, job.name);
      proposal.confidence(0.8);
      for (const std::string& peer : peers) {
        see_silence(proposal, peer, job.name);
        proposal.breaks_both(job.name, peer);
      }
      proposal.remedy(remedy_for_silence(job.name));
      push(proposal);
    }
    for (const Link& link : links_) {
      const std::string &a = link.pair->from, &b = link.pair->to;
      if (is_taken(a, b) || !is_unresolved(link)) continue;
      const bool mutual = is_silent_back(a, b);
      // One way only: who is asked and stays silent is at fault.
      const std::string& host = mutual || named.count(a) > 0 ? first_of(a, b) : b;
      const std::string& peer = host == a ? b : a;
      Proposal proposal(kCause, Severity::kFail, host);
      proposal.peer(peer).confidence(0.7);
      see_silence(proposal, a, b);
      if (mutual) see_silence(proposal, b, a);
      proposal.remedy(remedy_for_silence(host)).breaks_both(a, b);
      push(proposal);
    }
  }

  const std::string& first_of(const std::string& a, const std::string& b) const {
    for (const JobHost& job : evidence_.job.hosts) {
      if (job.name == a) return a;
      if (job.name == b) return b;
    }
    return a;
  }

  bool is_silent_back(const std::string& a, const std::string& b) const {
    return std::any_of(links_.begin(), links_.end(), [&](const Link& link) {
      return link.pair->from == b && link.pair->to == a && is_unresolved(link);
    });
  }

  void see_silence(Proposal& proposal, const std::string& from, const std::string& to) const {
    for (const Link& link : links_) {
      if (link.pair->from != from || link.pair->to != to || !is_unresolved(link)) continue;
      proposal.see(from, key_for(from, to),
                   fmt::format("nobody answered on {} when it asked for {} of {}",
                               link.from->interface->name, link.pair->to_ip, to));
    }
  }

  std::string remedy_for_silence(const std::string& host) const {
    for (const DataAddress& data : all_) {
      if (data.at.job->name != host) continue;
      return fmt::format(
          "look at the port of the switch (or bridge) that {} of {} is plugged into: "
          "is it a member of the same network and VLAN as the ports of its peers, "
          "forwarding and not isolated",
          data.interface->name, host);
    }
    return "look at the port of the switch that " + host + " is plugged into";
  }

  const EvidenceSet& evidence_;
  const Checks& checks_;
  std::vector<DataAddress> all_;
  std::vector<Link> links_;
  std::set<std::string> taken_;
  std::vector<Candidate> out_;
};

}  // namespace

std::vector<Candidate> propose_neighbours(const EvidenceSet& evidence, const Checks& checks) {
  return NeighbourRules(evidence, checks).propose();
}

}  // namespace plumbline
