// Causes in the choice of the path: a slower network than there is, and a default route through an
// interface of the data network.
#include <fmt/format.h>

#include <algorithm>

#include "core/ranges.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_routes.h"
#include "probes/rules/route_cure.h"
#include "probes/rules/rules.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

// A link between two hosts: interfaces with addresses in one subnet.
struct Common {
  const InterfaceEvidence *mine = nullptr, *theirs = nullptr;
  std::string my_ip, their_ip;
};

std::vector<Common> common_links(const HostEvidence& a, const HostEvidence& b) {
  std::vector<Common> out;
  for (const InterfaceEvidence& mine : a.interfaces) {
    for (const InterfaceEvidence& theirs : b.interfaces) {
      if (!is_usable(mine) || !is_usable(theirs)) continue;
      if (mine.kind == "loopback" || theirs.kind == "loopback") continue;
      for (const AddressEvidence& x : mine.addresses) {
        for (const AddressEvidence& y : theirs.addresses) {
          const bool joined = x.prefix > 0 && x.prefix == y.prefix && x.ip != y.ip &&
                              !is_link_local_ip(x.ip) && same_subnet(x.ip, y.ip, x.prefix);
          if (joined) out.push_back({&mine, &theirs, x.ip, y.ip});
        }
      }
    }
  }
  return out;
}

bool is_slow_kind(const InterfaceEvidence& i) { return i.kind == "wifi" || i.kind == "tunnel"; }
bool is_cable(const InterfaceEvidence& i) { return is_wired(i) && i.kind != "wifi"; }

std::optional<int64_t> speed_of(const InterfaceEvidence& a, const InterfaceEvidence& b) {
  if (!a.speed_bps || !b.speed_bps) return std::nullopt;
  return std::min(*a.speed_bps, *b.speed_bps);
}

// What a link is made for: that it negotiated less at the moment is link.speed's matter.
std::optional<int64_t> full_speed_of(const InterfaceEvidence& a, const InterfaceEvidence& b) {
  if (!a.speed_bps || !b.speed_bps) return std::nullopt;
  return std::max(
      {*a.speed_bps, *b.speed_bps, a.speed_max_bps.value_or(0), b.speed_max_bps.value_or(0)});
}

// Why the common link is better than the one in use; empty when it is not known to be.
std::string why_faster(const InterfaceEvidence& mine, const InterfaceEvidence& theirs,
                       const Common& other) {
  const bool slow = is_slow_kind(mine) || is_slow_kind(theirs);
  const bool cable = is_cable(*other.mine) && is_cable(*other.theirs);
  const auto used = full_speed_of(mine, theirs), unused = speed_of(*other.mine, *other.theirs);
  if (used && unused) {
    const double ratio = static_cast<double>(*unused) / static_cast<double>(*used);
    if (ratio < threshold(Threshold::kFasterLink)) return {};
    return fmt::format("{} instead of {}", describe_bit_rate(*unused), describe_bit_rate(*used));
  }
  if (slow && cable) return fmt::format("a cable instead of {}", mine.kind);
  return {};
}

// The host that takes part in all of these pairs; empty when none does.
std::string shared_host(const std::vector<std::pair<std::string, std::string>>& pairs) {
  if (pairs.empty()) return {};
  for (const std::string& host : {pairs[0].first, pairs[0].second}) {
    const bool everywhere =
        all_of(pairs, [&](const auto& pair) { return pair.first == host || pair.second == host; });
    if (everywhere) return host;
  }
  return {};
}

}  // namespace

Candidates propose_slower_path(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  std::vector<std::pair<std::string, std::string>> slow;
  const auto all = data_addresses(evidence);
  for (const PairEvidence& pair : evidence.pairs) {
    const DataAddress* from = find_data(all, pair.from, pair.from_ip);
    const DataAddress* to = find_data(all, pair.to, pair.to_ip);
    if (!between_machines(pair) || from == nullptr || to == nullptr) continue;
    if (to->at.job < from->at.job) continue;  // once for both directions
    for (const Common& other : common_links(*from->at.host, *to->at.host)) {
      if (other.mine == from->interface || other.theirs == to->interface) continue;
      const std::string why = why_faster(*from->interface, *to->interface, other);
      if (why.empty()) continue;
      slow.push_back({pair.from, pair.to});
      out.push_back(
          Proposal("path.slower_used", Severity::kWarn, pair.from)
              .peer(pair.to)
              .see(pair.from, key_of({"route", pair.from, pair.to}),
                   fmt::format("{} and {} are used, though {} and {} join the two as well: {}",
                               from->interface->name, to->interface->name, other.mine->name,
                               other.theirs->name, why))
              .remedy(fmt::format("# name the faster addresses in the host file: {} for {}, {} for "
                                  "{}",
                                  other.my_ip, pair.from, other.their_ip, pair.to))
              .take(checks));
      break;
    }
  }
  // Several pairs are one mistake of the file: of the host that they share, else of the first.
  const std::string shared = shared_host(slow);
  for (Candidate& candidate : out) {
    if (slow.size() < 2) break;
    candidate.finding.host = shared.empty() ? slow[0].first : shared;
    candidate.finding.peer.clear();
  }
  return out;
}

namespace {

bool is_data_interface(const HostView& view, const std::string& name) {
  return any_of(view.job->data, [&](const std::string& text) {
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

Candidates propose_default_leak(const EvidenceSet& evidence, const Checks& checks) {
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
