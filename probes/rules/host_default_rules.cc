// A default route in the wrong place: through an interface of the data network.
#include <fmt/format.h>

#include <algorithm>

#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_routes.h"
#include "probes/rules/host_rows.h"
#include "probes/rules/route_cure.h"

namespace plumbline {
namespace {

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
