// Causes in the routing of a host: no way to a peer, the wrong way, a way that does not match the
// way back, a default route in the wrong place.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_routes.h"
#include "probes/rules/host_rows.h"

namespace plumbline {
namespace {

bool refuses(const std::string& type) {
  return type == "blackhole" || type == "unreachable" || type == "prohibit" || type == "throw";
}

bool is_own_rule(const PolicyRule& rule) {  // the three that every Linux has
  return rule.priority == 0 || rule.priority == 32766 || rule.priority == 32767;
}

// Does this policy rule concern packets between these addresses?
bool applies(const PolicyRule& rule, const std::string& from_ip, const std::string& to_ip) {
  const auto fits = [](const std::string& selector, const std::string& ip) {
    return selector.empty() || selector == "all" || covers(selector, ip) >= 0;
  };
  return fits(rule.from, from_ip) && fits(rule.to, to_ip);
}

// The policy rule that decides before the main table, and that is to blame; nullptr when none is.
const PolicyRule* guilty_rule(const HostEvidence& host, const PairEvidence& pair) {
  const PolicyRule* best = nullptr;
  for (const PolicyRule& rule : host.policy_rules) {
    if (is_own_rule(rule) || rule.priority > 32766) continue;
    if (!applies(rule, pair.from_ip, pair.to_ip)) continue;
    const bool lookup = rule.action.empty() || rule.action == "lookup";
    if (lookup) {  // a table that has a say about this address
      if (rule.table.empty() || rule.table == "main" || rule.table == "local") continue;
      const bool speaks =
          std::any_of(host.routes.begin(), host.routes.end(), [&](const RouteEvidence& route) {
            return route.table == rule.table && covers(route.destination, pair.to_ip) >= 0;
          });
      if (!speaks) continue;
    } else if (!refuses(rule.action)) {
      continue;
    }
    if (best == nullptr || rule.priority < best->priority) best = &rule;
  }
  return best;
}

std::string describe_route(const RouteEvidence& route) {
  std::string text = route.type.empty() || route.type == "unicast" ? "" : route.type + " ";
  text += route.destination;
  if (!route.via.empty()) text += " via " + route.via;
  if (!route.dev.empty()) text += " dev " + route.dev;
  if (!route.table.empty() && route.table != "main") text += " table " + route.table;
  return text;
}

// What has to be done on the sender so that packets of this pair leave as they should, and why.
struct Cure {
  std::string text, remedy;
  double confidence = 1.0;
};

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

  // A connected subnet of the data address that has no route any more.
  static bool lost_connected(const DataAddress& from, const std::string& to_ip) {
    if (!same_subnet(from.ip, to_ip, from.prefix)) return false;
    const std::string network = network_of(from.ip, from.prefix);
    const auto& routes = from.at.host->routes;
    return std::none_of(routes.begin(), routes.end(), [&](const RouteEvidence& route) {
      return route.destination == network && route.dev == from.interface->name;
    });
  }

  // How a host in the same subnet gets there.
  const RouteEvidence* way_of_neighbour(const DataAddress& from, const std::string& to_ip) const {
    for (const DataAddress& other : all_) {
      if (other.at.job == from.at.job || !same_subnet(other.ip, from.ip, from.prefix)) continue;
      const RouteEvidence* route = matching_route(*other.at.host, to_ip);
      if (route == nullptr || route->via.empty() || route->dev != other.interface->name) continue;
      if (same_subnet(route->via, from.ip, from.prefix)) return route;
    }
    return nullptr;
  }

  std::optional<Cure> cure_of(const PairEvidence& pair, const DataAddress& from) const {
    const HostEvidence& host = *from.at.host;
    if (const PolicyRule* rule = guilty_rule(host, pair)) {
      return Cure{
          fmt::format("policy rule '{}' decides",
                      rule->text.empty() ? fmt::format("{}: {}", rule->priority, rule->action)
                                         : rule->text),
          remedy_delete_rule(*rule, is_v6(pair.to_ip))};
    }
    const RouteEvidence* route = matching_route(host, pair.to_ip);
    if (route != nullptr && refuses(route->type)) {
      return Cure{fmt::format("route '{}' decides", describe_route(*route)),
                  remedy_delete_route(host.system, family_of(*route, pair.to_ip))};
    }
    if (lost_connected(from, pair.to_ip)) {
      return Cure{fmt::format("the route of {} to its own subnet {} is gone", from.interface->name,
                              network_of(from.ip, from.prefix)),
                  remedy_connected_route(host.system, from.ip, from.prefix, from.interface->name)};
    }
    return std::nullopt;
  }

  // "default" says nothing of its family: the command needs it.
  static RouteEvidence family_of(RouteEvidence route, const std::string& ip) {
    if (route.destination == "default" && is_v6(ip)) route.destination = "::/0";
    return route;
  }

  void missing(const PairEvidence& pair, const DataAddress& from, const RouteLookup& lookup) {
    std::optional<Cure> cure = cure_of(pair, from);
    if (!cure) {
      if (const RouteEvidence* way = way_of_neighbour(from, pair.to_ip)) {
        RouteEvidence mine = *way;
        mine.dev = from.interface->name;
        mine.source.clear();
        cure = Cure{fmt::format("no route leads there, as it does from its neighbours ({})",
                                describe_route(*way)),
                    remedy_add_route(from.at.host->system, mine)};
      } else {
        cure = Cure{"no route leads there",
                    fmt::format("give {} a route to {}: ip route add {} via GATEWAY dev {}",
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
    std::optional<Cure> cure = cure_of(pair, from);
    if (!cure && route != nullptr && route->dev == lookup.dev && route->destination != "default") {
      cure = Cure{fmt::format("route '{}' decides", describe_route(*route)),
                  remedy_delete_route(from.at.host->system, *route)};
    }
    if (!cure) {
      cure = Cure{"another route decides",
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
    const bool broken = reaches(evidence_, pair.from, pair.to) == std::optional<bool>(false);
    const RouteEvidence* route = matching_route(*from.at.host, pair.to_ip);
    std::string remedy =
        fmt::format("delete the route that leads to {} via {}", pair.to_ip, lookup.via);
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

bool is_data_interface(const HostView& view, const std::string& name) {
  return std::any_of(view.job->data.begin(), view.job->data.end(), [&](const std::string& text) {
    const InterfaceEvidence* carrier = interface_of(*view.host, parse_cidr(text).ip);
    return carrier != nullptr && carrier->name == name;
  });
}

bool is_default(const RouteEvidence& route) {
  return (route.destination == "default" || route.destination == "0.0.0.0/0" ||
          route.destination == "::/0") &&
         (route.type.empty() || route.type == "unicast") &&
         (route.table.empty() || route.table == "main");
}

// The default route with the smallest metric, of the family of this address.
const RouteEvidence* best_default(const HostView& view, bool v6) {
  const RouteEvidence* best = nullptr;
  for (const RouteEvidence& route : view.host->routes) {
    if (!is_default(route)) continue;
    const bool route_v6 = is_v6(route.via) || is_v6(route.destination) || is_v6(route.source);
    if (route_v6 != v6) continue;
    if (best == nullptr || route.metric < best->metric) best = &route;
  }
  return best;
}

}  // namespace

bool is_refusal(const RouteLookup& lookup) { return !lookup.error.empty() || refuses(lookup.type); }

std::optional<bool> leaves_elsewhere(const EvidenceSet& evidence, const PairEvidence& pair) {
  const HostEvidence* host = find_host(evidence, pair.from);
  const RouteLookup* lookup = route_lookup(pair);
  if (host == nullptr || lookup == nullptr || lookup->dev.empty()) return std::nullopt;
  const InterfaceEvidence* carrier = interface_of(*host, pair.from_ip);
  if (carrier == nullptr) return std::nullopt;
  if (lookup->type == "local" || carrier->kind == "loopback") return false;
  return lookup->dev != carrier->name;
}

const RouteEvidence* leaked_default(const EvidenceSet& evidence, const HostView& view) {
  if (view.job->data.empty()) return nullptr;
  const bool v6 = is_v6(parse_cidr(view.job->data[0]).ip);
  const RouteEvidence* mine = best_default(view, v6);
  if (mine == nullptr || !is_data_interface(view, mine->dev)) return nullptr;
  for (const RouteEvidence& other : view.host->routes) {
    if (is_default(other) && other.dev != mine->dev && is_v6(other.via) == is_v6(mine->via) &&
        !is_data_interface(view, other.dev)) {
      return mine;
    }
  }
  int others = 0, same = 0;
  for (const HostView& peer : host_views(evidence)) {
    if (peer.job == view.job || peer.host->routes.empty()) continue;
    const RouteEvidence* theirs = best_default(peer, v6);
    ++others;
    same += theirs != nullptr && is_data_interface(peer, theirs->dev);
  }
  return others > 0 && 2 * same < others ? mine : nullptr;
}

std::vector<Candidate> propose_routes(const EvidenceSet& evidence, const Checks& checks) {
  return RouteRules(evidence, checks).propose();
}

std::vector<Candidate> propose_default_leak(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostView& view : host_views(evidence)) {
    const RouteEvidence* route = leaked_default(evidence, view);
    if (route == nullptr) continue;
    const std::string& name = view.job->name;
    RouteEvidence named = *route;
    if (named.destination == "default" && is_v6(named.via)) named.destination = "::/0";
    out.push_back(Proposal("route.default_leak", Severity::kWarn, name)
                      .see(name, key_of({"route", name, {}, {}, "default"}),
                           fmt::format("the default route leaves through the data interface: {}",
                                       describe_route(*route)))
                      .remedy(remedy_delete_route(view.host->system, named))
                      .take(checks));
  }
  return out;
}

}  // namespace plumbline
