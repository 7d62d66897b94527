// Causes in the routing of a host: no way to a peer, the wrong way, a way that does not match the
// way back.
#include <fmt/format.h>

#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_routes.h"
#include "probes/rules/route_cure.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

class RouteRules {
 public:
  RouteRules(const EvidenceSet& evidence, const Checks& checks)
      : evidence_(evidence), checks_(checks), all_(data_addresses(evidence)) {}

  std::vector<Candidate> propose() {
    for (const PairEvidence& pair : evidence_.pairs) judge(pair);
    return std::move(out_);
  }

 private:
  static std::string key_for(const PairEvidence& pair) {
    return key_of({"route", pair.from, pair.to});
  }

  void judge(const PairEvidence& pair) {
    if (!between_machines(pair)) return;
    const DataAddress* from = find_data(all_, pair.from, pair.from_ip);
    const RouteLookup* lookup = route_lookup(pair);
    if (from == nullptr || lookup == nullptr || !is_usable(*from->interface)) return;
    if (is_refusal(*lookup)) return missing(pair, *from, *lookup);
    // On the way without a source the error shows as well, when a rule does not name the source.
    if (leaves_elsewhere(evidence_, pair).value_or(false)) return elsewhere(pair, *from, *lookup);
    uneven(pair, *from, *lookup);
  }

  void missing(const PairEvidence& pair, const DataAddress& from, const RouteLookup& lookup) {
    std::optional<RouteCure> cure = cure_of(pair, from);
    if (!cure) {
      if (const RouteEvidence* way = way_of_neighbour(all_, from, pair.to_ip)) {
        RouteEvidence mine = *way;
        mine.dev = from.interface->name;
        mine.source.clear();
        cure = RouteCure{fmt::format("no route leads there, as it does from its neighbours ({})",
                                     describe_route(*way)),
                         remedy_add_route(from.at.host->system, mine)};
      } else {
        cure = RouteCure{"no route leads there",
                         fmt::format("# give {} a route to {}: ip route add {} via GATEWAY dev {}",
                                     pair.from, pair.to_ip, pair.to_ip, from.interface->name),
                         0.9};
      }
    }
    const std::string said = lookup.error.empty() ? lookup.type : lookup.error;
    out_.push_back(Proposal("route.missing", Severity::kFail, pair.from)
                       .peer(pair.to)
                       .confidence(cure->confidence)
                       .see(pair.from, key_for(pair),
                            fmt::format("asked for the way to {}, the system says {}: {}",
                                        pair.to_ip, said, cure->text))
                       .remedy(cure->remedy)
                       .breaks_both(pair.from, pair.to)
                       .take(checks_));
  }

  // Does the interface through which packets leave lead to the peer as well?
  const InterfaceEvidence* arrival(const DataAddress& from, const RouteLookup& lookup,
                                   const std::string& peer) const {
    const HostEvidence* there = find_host(evidence_, peer);
    const InterfaceEvidence* out = find_interface(*from.at.host, lookup.dev);
    if (there == nullptr || out == nullptr) return nullptr;
    for (const InterfaceEvidence& interface : there->interfaces) {
      if (interface.kind == "loopback") continue;
      for (const AddressEvidence& theirs : interface.addresses) {
        if (!lookup.via.empty() && theirs.ip == lookup.via) return &interface;
        for (const AddressEvidence& mine : out->addresses) {
          const bool shared = mine.prefix > 0 && !is_link_local_ip(mine.ip) &&
                              same_subnet(mine.ip, theirs.ip, mine.prefix);
          if (shared && lookup.via.empty()) return &interface;
        }
      }
    }
    return nullptr;
  }

  // The larger of the two values counts; 1 = a packet must come in where its answer would leave.
  static bool is_strict(const HostEvidence& host, const std::string& interface) {
    const auto all = sysctl_number(host, "net.ipv4.conf.all.rp_filter").value_or(0);
    const auto own =
        sysctl_number(host, fmt::format("net.ipv4.conf.{}.rp_filter", interface)).value_or(0);
    return std::max(all, own) == 1;
  }

  void elsewhere(const PairEvidence& pair, const DataAddress& from, const RouteLookup& lookup) {
    const bool works = reaches(evidence_, pair.from, pair.to).value_or(false);
    const RouteEvidence* route = matching_route(*from.at.host, pair.to_ip);
    std::optional<RouteCure> cure = cure_of(pair, from);
    if (!cure && route != nullptr && route->dev == lookup.dev && route->destination != "default") {
      cure = RouteCure{fmt::format("route '{}' decides", describe_route(*route)),
                       remedy_delete_route(from.at.host->system, *route)};
    }
    if (!cure) {
      cure = RouteCure{
          "another route decides",
          fmt::format("find it with `ip route get {} from {}` and delete it: packets of {} "
                      "belong on {}",
                      pair.to_ip, pair.from_ip, pair.from_ip, from.interface->name),
          0.8};
    }
    const InterfaceEvidence* there = works ? nullptr : arrival(from, lookup, pair.to);
    const HostEvidence* peer = find_host(evidence_, pair.to);
    std::string strict;
    if (there != nullptr && !is_v6(pair.to_ip)) {
      if (is_strict(*peer, there->name)) {
        strict = fmt::format("{} on {} checks the way back (rp_filter = 1) and drops them",
                             there->name, pair.to);
      } else if (is_strict(*from.at.host, from.interface->name)) {
        strict = fmt::format("{} checks the way back (rp_filter = 1) and drops what comes from {}",
                             from.interface->name, pair.to);
      }
    }
    Proposal proposal(strict.empty() ? "route.wrong_interface" : "route.asymmetric",
                      works ? Severity::kWarn : Severity::kFail, pair.from);
    proposal.peer(pair.to)
        .confidence(cure->confidence)
        .see(pair.from, key_for(pair),
             fmt::format("packets from {} to {} leave through {}{}, not through {}: {}",
                         pair.from_ip, pair.to_ip, lookup.dev,
                         lookup.via.empty() ? "" : " via " + lookup.via, from.interface->name,
                         cure->text));
    if (!strict.empty()) proposal.see(there != nullptr ? pair.to : pair.from, "", strict);
    if (!works) proposal.breaks_both(pair.from, pair.to);
    out_.push_back(proposal.remedy(cure->remedy).take(checks_));
  }

  // The same interface, but through a gateway one way and directly the other.
  void uneven(const PairEvidence& pair, const DataAddress& from, const RouteLookup& lookup) {
    const PairEvidence* back = find_pair(evidence_, pair.to, pair.from);
    const RouteLookup* return_way = back == nullptr ? nullptr : route_lookup(*back);
    if (return_way == nullptr || is_refusal(*return_way)) return;
    if (leaves_elsewhere(evidence_, *back).value_or(false)) return;  // judged from there
    if (lookup.via.empty() || !return_way->via.empty()) return;
    if (!same_subnet(from.ip, pair.to_ip, from.prefix)) return;
    const bool broken = reaches(evidence_, pair.from, pair.to) == false;
    const RouteEvidence* route = matching_route(*from.at.host, pair.to_ip);
    Remedy remedy = fmt::format("delete the route that leads to {} via {}", pair.to_ip, lookup.via);
    if (const PolicyRule* rule = guilty_rule(*from.at.host, pair)) {
      remedy = remedy_delete_rule(*rule, is_v6(pair.to_ip));
    } else if (route != nullptr && route->via == lookup.via) {
      remedy = remedy_delete_route(from.at.host->system, *route);
    }
    Proposal proposal("route.asymmetric", broken ? Severity::kFail : Severity::kWarn, pair.from);
    proposal.peer(pair.to)
        .confidence(broken ? 0.8 : 1.0)
        .see(pair.from, key_for(pair),
             fmt::format("{} is on the link of {}, yet packets to it go via {}; those from it come "
                         "directly",
                         pair.to_ip, from.interface->name, lookup.via));
    if (broken) proposal.breaks_both(pair.from, pair.to);
    out_.push_back(proposal.remedy(remedy).take(checks_));
  }

  const EvidenceSet& evidence_;
  const Checks& checks_;
  std::vector<DataAddress> all_;
  std::vector<Candidate> out_;
};

}  // namespace

bool is_refusal(const RouteLookup& lookup) {
  return !lookup.error.empty() || refuses_packets(lookup.type);
}

std::optional<bool> leaves_elsewhere(const EvidenceSet& evidence, const PairEvidence& pair) {
  const HostEvidence* host = find_host(evidence, pair.from);
  const RouteLookup* lookup = route_lookup(pair);
  if (host == nullptr || lookup == nullptr || lookup->dev.empty()) return std::nullopt;
  const InterfaceEvidence* carrier = interface_of(*host, pair.from_ip);
  if (carrier == nullptr) return std::nullopt;
  if (lookup->type == "local" || carrier->kind == "loopback") return false;
  return lookup->dev != carrier->name;
}

Candidates propose_routes(const EvidenceSet& evidence, const Checks& checks) {
  return RouteRules(evidence, checks).propose();
}

}  // namespace plumbline
