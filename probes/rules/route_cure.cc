#include "probes/rules/route_cure.h"

#include <fmt/format.h>

#include "core/ranges.h"
#include "probes/remedy.h"

namespace plumbline {
namespace {

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

// A connected subnet of the data address that has no route any more.
bool lost_connected(const DataAddress& from, const std::string& to_ip) {
  if (!same_subnet(from.ip, to_ip, from.prefix)) return false;
  const std::string network = network_of(from.ip, from.prefix);
  const auto& routes = from.at.host->routes;
  return none_of(routes, [&](const RouteEvidence& route) {
    return route.destination == network && route.dev == from.interface->name;
  });
}

// "default" says nothing of its family: the command needs it.
RouteEvidence family_of(RouteEvidence route, const std::string& ip) {
  if (route.destination == "default" && is_v6(ip)) route.destination = "::/0";
  return route;
}

}  // namespace

bool refuses_packets(const std::string& type) {
  return type == "blackhole" || type == "unreachable" || type == "prohibit" || type == "throw";
}

std::string describe_route(const RouteEvidence& route) {
  std::string text = route.type.empty() || route.type == "unicast" ? "" : route.type + " ";
  text += route.destination;
  if (!route.via.empty()) text += " via " + route.via;
  if (!route.dev.empty()) text += " dev " + route.dev;
  if (!route.table.empty() && route.table != "main") text += " table " + route.table;
  return text;
}

const PolicyRule* guilty_rule(const HostEvidence& host, const PairEvidence& pair) {
  const PolicyRule* best = nullptr;
  for (const PolicyRule& rule : host.policy_rules) {
    if (is_own_rule(rule) || rule.priority > 32766) continue;
    if (!applies(rule, pair.from_ip, pair.to_ip)) continue;
    const bool lookup = rule.action.empty() || rule.action == "lookup";
    if (lookup) {  // a table that has a say about this address
      if (rule.table.empty() || rule.table == "main" || rule.table == "local") continue;
      const bool speaks = any_of(host.routes, [&](const RouteEvidence& route) {
        return route.table == rule.table && covers(route.destination, pair.to_ip) >= 0;
      });
      if (!speaks) continue;
    } else if (!refuses_packets(rule.action)) {
      continue;
    }
    if (best == nullptr || rule.priority < best->priority) best = &rule;
  }
  return best;
}

const RouteEvidence* way_of_neighbour(const std::vector<DataAddress>& all, const DataAddress& from,
                                      const std::string& to_ip) {
  for (const DataAddress& other : all) {
    if (other.at.job == from.at.job || !same_subnet(other.ip, from.ip, from.prefix)) continue;
    const RouteEvidence* route = matching_route(*other.at.host, to_ip);
    if (route == nullptr || route->via.empty() || route->dev != other.interface->name) continue;
    if (same_subnet(route->via, from.ip, from.prefix)) return route;
  }
  return nullptr;
}

std::optional<RouteCure> cure_of(const PairEvidence& pair, const DataAddress& from) {
  const HostEvidence& host = *from.at.host;
  if (const PolicyRule* rule = guilty_rule(host, pair)) {
    return RouteCure{
        fmt::format(
            "policy rule '{}' decides",
            rule->text.empty() ? fmt::format("{}: {}", rule->priority, rule->action) : rule->text),
        remedy_delete_rule(*rule, is_v6(pair.to_ip))};
  }
  const RouteEvidence* route = matching_route(host, pair.to_ip);
  if (route != nullptr && refuses_packets(route->type)) {
    return RouteCure{fmt::format("route '{}' decides", describe_route(*route)),
                     remedy_delete_route(host.system, family_of(*route, pair.to_ip))};
  }
  if (lost_connected(from, pair.to_ip)) {
    return RouteCure{
        fmt::format("the route of {} to its own subnet {} is gone", from.interface->name,
                    network_of(from.ip, from.prefix)),
        remedy_connected_route(host.system, from.ip, from.prefix, from.interface->name)};
  }
  return std::nullopt;
}

}  // namespace plumbline
