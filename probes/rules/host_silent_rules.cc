// neighbour.unresolved where nothing is seen that causes it: who is silent towards whom. Of a host
// that no agent speaks for only the end that asked tells: nobody has the address, or it is off.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/ranges.h"
#include "core/shell_words.h"
#include "probes/rules/neighbour_links.h"
#include "probes/rules/pair_facts.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

constexpr const char* kSilentCause = "neighbour.unresolved";
constexpr const char *kSent = "tx_packets", *kReceived = "rx_packets";

// While one end asked in vain, did as much leave the other end's card and come in again? Of three
// requests one may be lost; a single packet may be anybody's.
bool answers_arrive(const PairEvidence& pair) {
  constexpr int64_t kFewest = 2;
  if (!pair.neighbour) return false;
  const NeighbourProbe& probe = *pair.neighbour;
  const auto at_least = [](const std::map<std::string, int64_t>& counters, const char* what) {
    const auto found = counters.find(what);
    return found != counters.end() && found->second >= kFewest;
  };
  return at_least(probe.asker, kSent) && at_least(probe.asked, kReceived) &&
         at_least(probe.asked, kSent) && at_least(probe.asker, kReceived);
}

class SilentPeers {
 public:
  SilentPeers(const SilentLinks& what, std::vector<Candidate>& out)
      : what_(what), taken_(what.taken), out_(out) {}

  void propose() {
    std::map<std::string, std::set<std::string>> silent, linked;
    for (const Link& link : what_.links) {
      const std::string &a = link.pair->from, &b = link.pair->to;
      if (is_taken(a, b)) continue;
      linked[a].insert(b);
      linked[b].insert(a);
      if (!is_unresolved(link)) continue;
      silent[a].insert(b);
      silent[b].insert(a);
    }
    std::set<std::string> named;
    for (const JobHost& job : what_.evidence.job.hosts) {
      const auto& peers = silent[job.name];
      if (peers.size() < 2 || peers != linked[job.name]) continue;
      // Among hosts that are all silent towards each other nobody stands out.
      const bool others_fine = any_of(
          peers, [&](const auto& peer) { return silent[peer].size() < linked[peer].size(); });
      if (!others_fine) continue;
      named.insert(job.name);
      Proposal proposal(kSilentCause, Severity::kFail, job.name);
      proposal.confidence(0.8);
      for (const std::string& peer : peers) {
        see_silence(proposal, peer, job.name);
        proposal.breaks_both(job.name, peer);
      }
      proposal.remedy(remedy_for_silence(job.name));
      push(proposal);
    }
    for (const Link& link : what_.links) {
      const std::string &a = link.pair->from, &b = link.pair->to;
      if (is_taken(a, b) || !is_unresolved(link)) continue;
      const bool mutual = is_silent_back(a, b);
      // One way only: who is asked and stays silent is at fault, unless the answers do arrive.
      const bool arrive = !mutual && answers_arrive(*link.pair);
      const std::string& one = mutual || named.count(a) > 0 ? first_of(a, b) : b;
      const std::string& host = arrive ? a : one;
      const std::string& peer = host == a ? b : a;
      Proposal proposal(kSilentCause, Severity::kFail, host);
      proposal.peer(peer).confidence(0.7);
      see_silence(proposal, a, b);
      if (mutual) see_silence(proposal, b, a);
      if (arrive) see_dropped_answers(proposal, link);
      proposal.remedy(arrive ? remedy_for_dropped_answers(link) : remedy_for_silence(host))
          .breaks_both(a, b);
      push(proposal);
    }
  }

 private:
  bool is_taken(const std::string& a, const std::string& b) const {
    return taken_.count({a, b}) > 0;
  }
  void push(Proposal& proposal) {
    Candidate candidate = proposal.take(what_.checks);
    taken_.insert(candidate.breaks.begin(), candidate.breaks.end());
    out_.push_back(std::move(candidate));
  }

  const std::string& first_of(const std::string& a, const std::string& b) const {
    for (const JobHost& job : what_.evidence.job.hosts) {
      if (job.name == a) return a;
      if (job.name == b) return b;
    }
    return a;
  }

  bool is_silent_back(const std::string& a, const std::string& b) const {
    return any_of(what_.links, [&](const Link& link) {
      return link.pair->from == b && link.pair->to == a && is_unresolved(link);
    });
  }

  void see_dropped_answers(Proposal& proposal, const Link& link) const {
    const NeighbourProbe& probe = *link.pair->neighbour;
    proposal.see(link.pair->from, "",
                 fmt::format("meanwhile {} packets left the card of {}, which knows the asker, and "
                             "{} came in on {}: the answers arrive and are dropped there",
                             probe.asked.at(kSent), link.pair->to, probe.asker.at(kReceived),
                             link.from->interface->name));
  }

  static Remedy remedy_for_dropped_answers(const Link& link) {
    const std::string device = shell_word(link.from->interface->name);
    return Remedy(
               fmt::format("# as root on {}, find the rule that drops ARP on {} and take it out:",
                           link.pair->from, device))
        .say(fmt::format("nft -a list ruleset; arptables-save; tc filter show dev {} ingress",
                         device));
  }

  void see_silence(Proposal& proposal, const std::string& from, const std::string& to) const {
    for (const Link& link : what_.links) {
      if (link.pair->from != from || link.pair->to != to || !is_unresolved(link)) continue;
      proposal.see(from, neighbour_key(from, to),
                   fmt::format("nobody answered on {} when it asked for {} of {}",
                               link.from->interface->name, link.pair->to_ip, to));
    }
  }

  Remedy remedy_for_silence(const std::string& host) const {
    for (const DataAddress& data : what_.all) {
      if (data.at.job->name != host) continue;
      const std::string unseen =
          filters_readable(data.at.host)
              ? std::string()
              : fmt::format(
                    "; the filters of {0} could not all be read, and one that drops ARP "
                    "looks the same from here: nft list ruleset (as root on {0})",
                    host);
      return fmt::format(
          "look at the port of the switch (or bridge) that {} of {} is plugged into: "
          "is it a member of the same network and VLAN as the ports of its peers, "
          "forwarding and not isolated{}",
          data.interface->name, host, unseen);
    }
    return "look at the port of the switch that " + host + " is plugged into";
  }

  const SilentLinks& what_;
  OrderedPairs taken_;
  std::vector<Candidate>& out_;
};

}  // namespace

void propose_silent_peers(const SilentLinks& what, std::vector<Candidate>& out) {
  SilentPeers(what, out).propose();
}

namespace {

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
bool stays_silent(const Link& link) { return reaches(*link.pair) == false && is_unresolved(link); }

const FilterRule* own_arp_rule(const HostEvidence& host) {
  return find_where(host.filters, stops_arp);
}

Candidate dropped_by_own_rule(const Link& link, const FilterRule& rule, const Checks& checks) {
  const PairEvidence& pair = *link.pair;
  Proposal proposal(kSilentCause, Severity::kFail, pair.from);
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
  Proposal proposal(kSilentCause, Severity::kFail, pair.to);
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

Candidates propose_unanswered(const EvidenceSet& evidence, const Checks& checks) {
  const std::vector<DataAddress> all = data_addresses(evidence);
  const std::vector<Link> links = links_to_strangers(evidence, all);
  std::vector<Candidate> out;
  for (const Link& link : links) {
    if (!stays_silent(link)) continue;
    if (const FilterRule* rule = own_arp_rule(*link.from->at.host)) {
      out.push_back(dropped_by_own_rule(link, *rule, checks));
      continue;
    }
    const bool others_know = any_of(links, [&](const Link& other) {
      return other.pair->to == link.pair->to && !stays_silent(other);
    });
    out.push_back(nobody_there(link, others_know, checks));
  }
  return out;
}

}  // namespace plumbline
