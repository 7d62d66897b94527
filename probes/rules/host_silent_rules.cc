// neighbour.unresolved where nothing is seen that causes it: who is silent towards whom.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/shell_words.h"
#include "probes/rules/neighbour_links.h"
#include "probes/rules/pair_facts.h"

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
      const bool others_fine = std::any_of(peers.begin(), peers.end(), [&](const auto& peer) {
        return silent[peer].size() < linked[peer].size();
      });
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
    return std::any_of(what_.links.begin(), what_.links.end(), [&](const Link& link) {
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

}  // namespace plumbline
