#include "probes/cables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "core/record/link.h"
#include "probes/evidence_query.h"

namespace plumbline {
namespace {

using Kind = CableDoubt::Kind;

struct PortAt {
  size_t host = 0;
  const ThunderboltPort* port = nullptr;
};

CableEnd end_of(const PortAt& at) { return {at.host, at.port->interface, at.port->receptacle}; }

bool knows(const ThunderboltPort& port, const std::string& domain) {
  return any_of(port.peers, [&](const ThunderboltPeer& peer) { return peer.domain == domain; });
}

std::optional<int64_t> slower_of(const ThunderboltPort& a, const ThunderboltPort& b) {
  if (a.speed_bps && b.speed_bps) return std::min(*a.speed_bps, *b.speed_bps);
  return a.speed_bps ? a.speed_bps : b.speed_bps;
}

// ---- Thunderbolt ----

class ThunderboltJoin {
 public:
  ThunderboltJoin(const EvidenceSet& evidence, CableGraph& graph) : graph_(graph) {
    std::vector<std::string> silent;
    for (size_t host = 0; host < evidence.hosts.size(); ++host) {
      const auto& ports = evidence.hosts[host].thunderbolt;
      if (!ports && evidence.hosts[host].system != "linux") silent.push_back(graph.hosts[host]);
      if (!ports) continue;
      for (const ThunderboltPort& port : *ports) all_.push_back({host, &port});
    }
    if (!silent.empty()) or_silent_ = ", or one that did not tell: " + join_words(silent);
    // By interface, as MLX counts them.
    std::stable_sort(all_.begin(), all_.end(), [](const PortAt& a, const PortAt& b) {
      return std::tie(a.host, a.port->interface) < std::tie(b.host, b.port->interface);
    });
    for (const PortAt& at : all_) {
      if (!at.port->domain.empty()) owners_[at.port->domain].push_back(at);
    }
  }

  void join() {
    find_twins();
    for (const PortAt& at : all_) {
      for (const ThunderboltPeer& peer : at.port->peers) follow(at, peer);
    }
  }

 private:
  void doubt(Kind kind, const PortAt& at, std::optional<size_t> peer, const std::string& words) {
    graph_.doubts.push_back({kind, at.host, peer, end_words(end_of(at)) + " " + words});
  }

  void find_twins() {
    for (const auto& [domain, owners] : owners_) {
      for (const PortAt& at : owners) {
        if (at.host == owners[0].host) continue;
        twins_.insert(domain);
        doubt(Kind::kTwins, at, owners[0].host,
              fmt::format("says that it is {} of {}: one machine under two names, or a copy of it",
                          end_words(end_of(owners[0])), graph_.hosts[owners[0].host]));
      }
    }
  }

  void follow(const PortAt& at, const ThunderboltPeer& peer) {
    const auto found = owners_.find(peer.domain);
    if (found == owners_.end()) {
      return doubt(Kind::kStranger, at, {},
                   "leads to a computer that is none of these hosts" + or_silent_);
    }
    if (twins_.count(peer.domain) != 0 || twins_.count(at.port->domain) != 0) return;
    const std::vector<PortAt>& owners = found->second;
    const size_t other = owners[0].host;
    if (other == at.host) {
      if (at.port == owners[0].port || owners[0].port->domain < at.port->domain) return;
      return doubt(Kind::kSelf, at, {}, "leads back into the same host");
    }
    std::vector<PortAt> facing;
    for (const PortAt& owner : owners) {
      if (knows(*owner.port, at.port->domain)) facing.push_back(owner);
    }
    if (facing.empty()) {
      return doubt(Kind::kOneSided, at, other,
                   fmt::format("sees {}, whose {} does not see it", graph_.hosts[other],
                               end_words(end_of(owners[0]))));
    }
    if (at.host > other) return;  // it was followed from there
    // Two cables between the same two controllers look the same from both ends.
    const auto same_way = std::count_if(all_.begin(), all_.end(), [&](const PortAt& one) {
      return one.port->domain == at.port->domain && knows(*one.port, peer.domain);
    });
    const auto ways = static_cast<size_t>(same_way);
    Cable cable{
        end_of(at), end_of(facing[0]), slower_of(*at.port, *facing[0].port), peer.hubs, true, {}};
    if (ways != 1 || facing.size() != 1) {
      cable.a.interface.clear();
      cable.b.interface.clear();
      doubt(
          Kind::kAmbiguous, at, other,
          fmt::format("is one of {} that see {}, of which {} see this host: which is which cannot "
                      "be told",
                      ways, graph_.hosts[other], facing.size()));
      if (ways != facing.size()) return;
    }
    graph_.cables.push_back(std::move(cable));
  }

  CableGraph& graph_;
  std::vector<PortAt> all_;
  std::map<std::string, std::vector<PortAt>> owners_;
  std::set<std::string> twins_;
  std::string or_silent_;  // hosts of which nothing is known
};

// ---- addresses ----

struct AddressAt {
  size_t host = 0;
  const InterfaceEvidence* interface = nullptr;
  std::string ip;
  bool operator==(const AddressAt&) const = default;
};
using Networks = std::map<Subnet, std::vector<AddressAt>>;

bool may_join(const InterfaceEvidence& interface) {
  return interface.kind != "loopback" && interface.kind != "tunnel" && interface.up &&
         interface.carrier.value_or(true);
}

// Self-assigned addresses join nobody for long.
bool is_of_a_network(const AddressEvidence& address) {
  const auto ip = parse_ip(address.ip);
  return ip && !ip->link_local() && !ip->loopback() && address.prefix > 0 &&
         address.prefix < ip->bits();
}

Networks networks_of(const EvidenceSet& evidence) {
  Networks out;
  for (size_t host = 0; host < evidence.hosts.size(); ++host) {
    for (const InterfaceEvidence& interface : evidence.hosts[host].interfaces) {
      if (!may_join(interface)) continue;
      for (const AddressEvidence& address : interface.addresses) {
        if (!is_of_a_network(address)) continue;
        const Subnet net = network_of(Subnet{*parse_ip(address.ip), address.prefix});
        const AddressAt at{host, &interface, address.ip};
        std::vector<AddressAt>& ends = out[net];
        const auto same_card = [&](const AddressAt& other) {
          return other.host == host && other.interface == &interface;
        };
        if (!any_of(ends, same_card)) ends.push_back(at);
      }
    }
  }
  return out;
}

// Bridges of containers and virtual machines have one address everywhere.
bool has_twin_addresses(const std::vector<AddressAt>& ends) {
  std::set<std::string> seen;
  return any_of(ends, [&](const AddressAt& at) { return !seen.insert(at.ip).second; });
}

// What a cable can be plugged into, or stands for it: no VLAN, no overlay, no radio.
bool is_card(const AddressAt& at) {
  const InterfaceEvidence& card = *at.interface;
  return card.parent.empty() &&
         (card.kind == "ethernet" || card.kind == "veth" || card.kind == "bond");
}

bool has_router(const EvidenceSet& evidence, const Subnet& net,
                const std::vector<AddressAt>& ends) {
  const auto leads_out = [&](const AddressAt& at) {
    return any_of(evidence.hosts[at.host].routes, [&](const RouteEvidence& route) {
      const auto via = parse_ip(route.via);
      if (!via || !contains(net, *via)) return false;
      return none_of(ends, [&](const AddressAt& other) { return other.ip == route.via; });
    });
  };
  return any_of(ends, leads_out);
}

CableEnd end_of(const AddressAt& at) {
  return {at.host, at.interface->name, at.interface->receptacle};
}

bool is_end(const CableEnd& end, const AddressAt& at) {
  // The bridge that the port belongs to has the address where it has none itself.
  return end.host == at.host && !end.interface.empty() && end.interface == at.interface->name;
}

void join_addresses(const EvidenceSet& evidence, CableGraph& graph) {
  const bool thunderbolt = !graph.cables.empty();
  std::set<std::pair<size_t, std::string>> joined;
  for (const auto& entry : networks_of(evidence)) {
    const Subnet& net = entry.first;
    const std::vector<AddressAt>& ends = entry.second;
    std::set<size_t> hosts;
    for (const AddressAt& at : ends) hosts.insert(at.host);
    if (hosts.size() < 2 || has_twin_addresses(ends)) continue;
    const std::string network = to_text(net);
    bool known = false;
    for (Cable& cable : graph.cables) {
      const auto has = [&](const CableEnd& end) {
        return any_of(ends, [&](const AddressAt& at) { return is_end(end, at); });
      };
      if (!cable.thunderbolt || !has(cable.a) || !has(cable.b)) continue;
      if (cable.network.empty()) cable.network = network;
      known = true;
    }
    if (known) continue;
    const bool pair = ends.size() == 2 && !has_router(evidence, net, ends);
    if (pair && !thunderbolt && all_of(ends, is_card)) {
      const std::pair a_card(ends[0].host, ends[0].interface->name);
      const std::pair b_card(ends[1].host, ends[1].interface->name);
      // By its other family, or a second network over the same wire.
      if (joined.count(a_card) != 0 || joined.count(b_card) != 0) continue;
      joined.insert(a_card);
      joined.insert(b_card);
      const auto a = ends[0].interface->speed_bps, b = ends[1].interface->speed_bps;
      const std::optional<int64_t> speed = a && b ? std::min(*a, *b) : a;
      graph.cables.push_back({end_of(ends[0]), end_of(ends[1]), speed, 0, false, network});
      continue;
    }
    SharedNetwork shared{network, {}};
    for (const AddressAt& at : ends) shared.ends.push_back(end_of(at));
    graph.networks.push_back(std::move(shared));
  }
}

bool joins_all(const SharedNetwork& network, size_t hosts) {
  std::set<size_t> seen;
  for (const CableEnd& end : network.ends) seen.insert(end.host);
  return seen.size() == hosts;
}

std::string shape_of(const CableGraph& graph) {
  const size_t hosts = graph.hosts.size();
  if (graph.cables.empty()) {
    const bool one = any_of(graph.networks,
                            [&](const SharedNetwork& shared) { return joins_all(shared, hosts); });
    return one && hosts > 1 ? "network" : graph.networks.empty() ? "none" : "other";
  }
  const int count = static_cast<int>(hosts);
  std::vector<bool> direct(hosts * hosts, false);
  for (const Cable& cable : graph.cables) {
    const int a = static_cast<int>(cable.a.host), b = static_cast<int>(cable.b.host);
    direct[pair_index(count, a, b)] = direct[pair_index(count, b, a)] = true;
  }
  return classify_topology(direct, count);
}

}  // namespace

CableGraph find_cables(const EvidenceSet& evidence) {
  CableGraph graph;
  for (const HostEvidence& host : evidence.hosts) graph.hosts.push_back(host.name);
  ThunderboltJoin(evidence, graph).join();
  join_addresses(evidence, graph);
  std::stable_sort(graph.cables.begin(), graph.cables.end(), [](const Cable& a, const Cable& b) {
    return std::tie(a.a.host, a.a.interface, a.b.host, a.b.interface) <
           std::tie(b.a.host, b.a.interface, b.b.host, b.b.interface);
  });
  graph.shape = shape_of(graph);
  return graph;
}

std::vector<const Cable*> cables_between(const CableGraph& graph, size_t a, size_t b) {
  std::vector<const Cable*> out;
  for (const Cable& cable : graph.cables) {
    if (std::minmax(cable.a.host, cable.b.host) == std::minmax(a, b)) out.push_back(&cable);
  }
  return out;
}

const CableEnd& end_at(const Cable& cable, size_t host) {
  return cable.a.host == host ? cable.a : cable.b;
}

std::string end_words(const CableEnd& end) {
  const std::string socket = end.receptacle.empty() ? "" : "socket " + end.receptacle;
  if (end.interface.empty()) return socket.empty() ? "a Thunderbolt socket" : socket;
  return socket.empty() ? end.interface : fmt::format("{} ({})", end.interface, socket);
}

namespace {

// Depth first, each host once; gives up where a large graph has no ring.
class RingSearch {
 public:
  explicit RingSearch(std::vector<std::vector<bool>> joined) : joined_(std::move(joined)) {}

  std::vector<size_t> find() {
    if (joined_.size() < 2) return {};
    path_ = {0};
    used_.assign(joined_.size(), false);
    used_[0] = true;
    return extend() ? path_ : std::vector<size_t>();
  }

 private:
  bool extend() {
    constexpr int kMostSteps = 200'000;
    if (++steps_ > kMostSteps) return false;
    if (path_.size() == joined_.size()) return joined_[path_.back()][0];
    for (size_t next = 1; next < joined_.size(); ++next) {
      if (used_[next] || !joined_[path_.back()][next]) continue;
      used_[next] = true;
      path_.push_back(next);
      if (extend()) return true;
      path_.pop_back();
      used_[next] = false;
    }
    return false;
  }

  std::vector<std::vector<bool>> joined_;
  std::vector<size_t> path_;
  std::vector<bool> used_;
  int steps_ = 0;
};

}  // namespace

std::vector<size_t> ring_of(const CableGraph& graph,
                            const std::function<bool(const Cable&)>& usable) {
  const size_t hosts = graph.hosts.size();
  std::vector<std::vector<bool>> joined(hosts, std::vector<bool>(hosts, false));
  for (const Cable& cable : graph.cables) {
    if (usable && !usable(cable)) continue;
    joined[cable.a.host][cable.b.host] = joined[cable.b.host][cable.a.host] = true;
  }
  return RingSearch(std::move(joined)).find();
}

}  // namespace plumbline
