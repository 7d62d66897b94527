// Causes in the cables themselves, beside what the host file's device matrix says of them: a pair
// without a cable, cables that end elsewhere, rails that do not pair, links that RDMA cannot use.
// And circles of cables through the bridges of several Macs, which have no protection against the
// storm that follows. Only where hosts tell of their Thunderbolt sockets.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/ranges.h"
#include "probes/cables.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

constexpr int64_t kThunderbolt4Bps = 40'000'000'000;  // RDMA needs more

// ---- the matrix against the cables ----

class MatrixAndCables {
 public:
  MatrixAndCables(const EvidenceSet& evidence, const Checks& checks, std::vector<Candidate>& out)
      : evidence_(evidence), checks_(checks), graph_(find_cables(evidence)), out_(out) {}

  void judge() {
    for (const JobHost& job : evidence_.job.hosts) look_for_wrong_ends(job);
    for (const JobHost& job : evidence_.job.hosts) {
      for (const auto& [peer, devices] : job.rdma_towards) judge_pair(job, peer, devices);
    }
  }

 private:
  // What a device of the matrix leads to.
  struct Lead {
    const ThunderboltPort* port = nullptr;  // its socket; null = it has none, or it is not told
    std::vector<const Cable*> cables;       // of Thunderbolt; several behind a hub
    std::string interface;
    const Cable* cable() const { return cables.empty() ? nullptr : cables.front(); }
  };

  Lead lead_of(size_t host, const std::string& device) const {
    Lead out;
    const HostEvidence& here = evidence_.hosts[host];
    if (here.rdma) {
      const RdmaDevice* const known =
          find_where(here.rdma->devices, [&](const auto& one) { return one.name == device; });
      if (known != nullptr) out.interface = known->netdev;
    }
    if (!here.thunderbolt || out.interface.empty()) return out;
    out.port = find_where(*here.thunderbolt,
                          [&](const auto& port) { return port.interface == out.interface; });
    for (const Cable& cable : graph_.cables) {
      const bool ends_here = (cable.a.host == host && cable.a.interface == out.interface) ||
                             (cable.b.host == host && cable.b.interface == out.interface);
      if (cable.thunderbolt && ends_here) out.cables.push_back(&cable);
    }
    return out;
  }

  size_t index(const std::string& name) const {
    size_t at = 0;
    while (at < evidence_.hosts.size() && evidence_.hosts[at].name != name) ++at;
    return at;
  }
  bool is_known(size_t host) const {
    return host < evidence_.hosts.size() && evidence_.hosts[host].thunderbolt;
  }
  std::string file() const {
    return evidence_.job.file.empty() ? "the host file" : evidence_.job.file;
  }
  std::string rediscover() const {
    return evidence_.job.file.empty()
               ? "or make the host file anew: plumbline hosts discover HOST..."
               : "or write down what is wired now: plumbline hosts discover --since " + file();
  }

  // Devices whose cable ends at another host than the matrix says: a finding for the host that has
  // them, because two swapped plugs at one host look right from everywhere else.
  void look_for_wrong_ends(const JobHost& job) {
    const size_t host = index(job.name);
    if (!is_known(host)) return;
    Proposal proposal("topology.rail_mismatch", Severity::kFail, job.name);
    std::set<std::string> meant, found;
    std::vector<std::string> interfaces;
    for (const auto& row : job.rdma_towards) {
      const std::string& peer = row.first;
      for (const std::string& device : row.second) {
        const Lead lead = lead_of(host, device);
        if (lead.cables.empty()) continue;
        const auto far_end = [&](const Cable& cable) {
          return cable.a.host == host ? cable.b : cable.a;
        };
        if (any_of(lead.cables,
                   [&](const Cable* one) { return graph_.hosts[far_end(*one).host] == peer; })) {
          continue;
        }
        const CableEnd there = far_end(*lead.cable());
        const std::string& other = graph_.hosts[there.host];
        meant.insert(peer);
        found.insert(other);
        interfaces.push_back(lead.interface);
        proposal.see(job.name, "",
                     fmt::format("{} leads to {} of {}, and {} says {}", device, end_words(there),
                                 other, file(), peer));
        proposal.breaks_both(job.name, peer);
      }
    }
    if (interfaces.empty()) return;
    wrong_.insert(host);
    const std::string cure = meant == found ? "swap the plugs of " + join_words(interfaces, " and ")
                                            : "plug each cable in where " + file() + " says";
    out_.push_back(proposal.remedy(Remedy(cure).say(rediscover())).proven().take(checks_));
  }

  void judge_pair(const JobHost& job, const std::string& peer,
                  const std::vector<std::string>& devices) {
    const size_t host = index(job.name), other = index(peer);
    if (!is_known(host) || !is_known(other) || host > other || devices.empty()) return;
    if (wrong_.count(host) != 0 || wrong_.count(other) != 0) return;
    const JobHost* const back = find_job_host(evidence_, peer);
    if (back == nullptr || back->rdma_towards.count(job.name) == 0) return;
    const std::vector<std::string>& there = back->rdma_towards.at(job.name);
    // Other devices than those of Thunderbolt sockets have cables of which nobody tells.
    const auto is_socket = [&](size_t at) {
      return [this, at](const std::string& device) { return lead_of(at, device).port != nullptr; };
    };
    if (!all_of(devices, is_socket(host)) || !all_of(there, is_socket(other))) return;
    const std::vector<const Cable*> cables = cables_between(graph_, host, other);
    if (none_of(cables, [](const Cable* one) { return one->thunderbolt; })) {
      return say_no_cable(job.name, peer, host, other);
    }
    // One whose socket is not known for certain may be any of the matrix.
    const bool told = none_of(cables, [](const Cable* one) {
      return one->a.interface.empty() || one->b.interface.empty();
    });
    if (!told || rails_pair(job, peer, devices, there)) {
      for (const std::string& device : devices)
        judge_link(job.name, peer, lead_of(host, device), other);
    }
  }

  void say_no_cable(const std::string& name, const std::string& peer, size_t host, size_t other) {
    // Where what these hosts tell contradicts itself, or what others tell, there may be one.
    std::vector<std::string> doubts;
    for (const CableDoubt& doubt : graph_.doubts) {
      const bool about = doubt.host == host || doubt.host == other ||
                         doubt.peer == std::optional(host) || doubt.peer == std::optional(other);
      if (about) doubts.push_back(graph_.hosts[doubt.host] + ": " + doubt.text);
    }
    Proposal proposal("topology.not_mesh", doubts.empty() ? Severity::kFail : Severity::kWarn,
                      name);
    proposal.peer(peer).see(
        name, "",
        fmt::format("no Thunderbolt cable leads from {} to {}, and {} names devices for it", name,
                    peer, file()));
    for (const std::string& text : doubts) proposal.see(name, "", text);
    if (!doubts.empty()) proposal.confidence(0.5);
    Remedy cure(doubts.empty() ? fmt::format("connect {} and {} by a cable", name, peer)
                               : "pull the cables of these sockets and plug them in again, one "
                                 "after the other");
    proposal.remedy(cure.say(rediscover()));
    if (doubts.empty()) proposal.breaks_both(name, peer).proven();
    out_.push_back(proposal.take(checks_));
  }

  // Rail for rail the same cable at both ends.
  bool rails_pair(const JobHost& job, const std::string& peer, const std::vector<std::string>& here,
                  const std::vector<std::string>& there) {
    const size_t host = index(job.name), other = index(peer);
    std::vector<std::string> right;  // devices of `peer`, by the cables of `here`
    std::vector<std::string> words;
    for (size_t rail = 0; rail < here.size(); ++rail) {
      const Lead lead = lead_of(host, here[rail]);
      const Cable* const cable = one_towards(lead, other);
      if (cable == nullptr) {
        words.push_back(
            fmt::format("{} of {}: nothing is plugged in, and another cable joins the two",
                        here[rail], job.name));
        continue;
      }
      const CableEnd& end = end_at(*cable, other);
      right.push_back(device_behind(other, end.interface));
      if (rail >= there.size() || lead_of(other, there[rail]).interface == end.interface) continue;
      words.push_back(fmt::format("the cable of {} of {} ends in {} of {}, and {} pairs it with {}",
                                  here[rail], job.name, end_words(end), peer, file(), there[rail]));
    }
    if (words.empty()) return true;
    Proposal proposal("topology.rail_mismatch", Severity::kFail, job.name);
    proposal.peer(peer);
    for (const std::string& text : words) proposal.see(job.name, "", text);
    Remedy cure;
    if (right.size() == here.size()) {
      cure.say(fmt::format("write [\"{}\"] for {} into the entry of {} in {}",
                           join_words(right, "\", \""), job.name, peer, file()));
    }
    out_.push_back(
        proposal.remedy(cure.say(rediscover())).breaks_both(job.name, peer).proven().take(checks_));
    return false;
  }

  static const Cable* one_towards(const Lead& lead, size_t other) {
    for (const Cable* cable : lead.cables) {
      if (cable->a.host == other || cable->b.host == other) return cable;
    }
    return nullptr;
  }

  std::string device_behind(size_t host, const std::string& interface) const {
    const HostEvidence& here = evidence_.hosts[host];
    const RdmaDevice* const known =
        !here.rdma ? nullptr : find_where(here.rdma->devices, [&](const RdmaDevice& one) {
          return one.netdev == interface;
        });
    return known == nullptr ? "rdma_" + interface : known->name;
  }

  // Whether RDMA can go over it, once for both ends.
  void judge_link(const std::string& name, const std::string& peer, const Lead& lead,
                  size_t other) {
    const Cable* const found = one_towards(lead, other);
    if (!evidence_.job.rdma || found == nullptr) return;
    const Cable& cable = *found;
    const auto say = [&](const std::string& text, const char* cure) {
      out_.push_back(Proposal("rdma.unsupported_hardware",
                              evidence_.job.rdma_or_tcp ? Severity::kWarn : Severity::kFail, name)
                         .peer(peer)
                         .see(name, "", text)
                         .remedy(cure)
                         .proven()
                         .take(checks_));
    };
    if (cable.hubs > 0) {
      return say(fmt::format("{} hub{} between {} and {}; RDMA needs a direct cable", cable.hubs,
                             cable.hubs == 1 ? " is" : "s are", name, peer),
                 "plug the cable into both machines directly");
    }
    if (cable.speed_bps && *cable.speed_bps <= kThunderbolt4Bps) {
      say(fmt::format("the link from {} of {} to {} runs at {}; RDMA needs Thunderbolt 5",
                      lead.interface, name, peer, describe_bit_rate(*cable.speed_bps)),
          "use a Thunderbolt 5 cable, and machines with Thunderbolt 5 at both ends; else run over "
          "TCP");
    }
  }

  const EvidenceSet& evidence_;
  const Checks& checks_;
  const CableGraph graph_;
  std::vector<Candidate>& out_;
  std::set<size_t> wrong_;  // hosts whose cables end elsewhere
};

// ---- circles through bridges ----

struct BridgedCable {
  const Cable* cable;
  std::pair<size_t, std::string> a, b;  // host and bridge
};

std::vector<BridgedCable> bridged(const EvidenceSet& evidence, const CableGraph& graph) {
  std::vector<BridgedCable> out;
  const auto bridge_at = [&](const CableEnd& end) {
    const HostEvidence& host = evidence.hosts[end.host];
    const InterfaceEvidence* const port = find_interface(host, end.interface);
    // Bridges of Linux may have the spanning tree protocol; those of a Mac do not.
    if (port == nullptr || host.system != "macos" || !is_usable(*port)) return std::string();
    const InterfaceEvidence* const bridge = find_interface(host, port->master);
    return bridge == nullptr || !bridge->up ? std::string() : bridge->name;
  };
  for (const Cable& cable : graph.cables) {
    const std::string a = bridge_at(cable.a), b = bridge_at(cable.b);
    if (!a.empty() && !b.empty()) out.push_back({&cable, {cable.a.host, a}, {cable.b.host, b}});
  }
  return out;
}

// Without cables that lead to a dead end: what is left are circles.
void leave_circles(std::vector<BridgedCable>& cables) {
  for (bool changed = true; changed;) {
    std::map<std::pair<size_t, std::string>, int> ends;
    for (const BridgedCable& one : cables) {
      ++ends[one.a];
      ++ends[one.b];
    }
    const auto dead = std::remove_if(cables.begin(), cables.end(), [&](const BridgedCable& one) {
      return ends[one.a] < 2 || ends[one.b] < 2;
    });
    changed = dead != cables.end();
    cables.erase(dead, cables.end());
  }
}

void propose_circles(const EvidenceSet& evidence, const Checks& checks,
                     std::vector<Candidate>& out) {
  const CableGraph graph = find_cables(evidence);
  std::vector<BridgedCable> circle = bridged(evidence, graph);
  leave_circles(circle);
  if (circle.empty()) return;
  const BridgedCable& first = circle.front();
  const std::string& name = graph.hosts[first.a.first];
  Proposal proposal("topology.bridge_loop", Severity::kFail, name);
  for (const BridgedCable& one : circle) {
    proposal.see(graph.hosts[one.a.first], "",
                 fmt::format("a cable joins {} of {} (in {}) to {} of {} (in {})",
                             end_words(one.cable->a), graph.hosts[one.a.first], one.a.second,
                             end_words(one.cable->b), graph.hosts[one.b.first], one.b.second));
  }
  const HostEvidence& host = evidence.hosts[first.a.first];
  Remedy cure(remedy_leave_bridge(host.system, first.cable->a.interface, first.a.second));
  cure.say(
      "these bridges close a circle, in which each broadcast goes round for ever: take the ports "
      "out of it on one machine before more cables are plugged in, and give each cable addresses "
      "of its own (plumbline hosts discover plans them)");
  out.push_back(proposal.remedy(cure).proven().take(checks));
}

}  // namespace

Candidates propose_cables(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const bool told =
      any_of(evidence.hosts, [](const HostEvidence& host) { return host.thunderbolt.has_value(); });
  if (!told) return out;
  MatrixAndCables(evidence, checks, out).judge();
  propose_circles(evidence, checks, out);
  return out;
}

}  // namespace plumbline
