#include "scenarios/host_files/discovered.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/remedy.h"
#include "scenarios/host_files/backends.h"

namespace plumbline {
namespace {

constexpr int kPlannedPrefix = 30;
constexpr int64_t kThunderbolt4 = 40'000'000'000;     // bit/s; RDMA needs more
constexpr size_t kMostMeshHosts = 8, kMostWires = 4;  // of JACCL

// ---- addresses ----

// Every network that a host is in or has a route to.
std::vector<Subnet> networks_in_use(const EvidenceSet& evidence) {
  std::vector<Subnet> out;
  for (const HostEvidence& host : evidence.hosts) {
    for (const InterfaceEvidence& interface : host.interfaces) {
      for (const AddressEvidence& address : interface.addresses) {
        const auto ip = parse_ip(address.ip);
        if (ip && !ip->v6) out.push_back({*ip, std::clamp(address.prefix, 1, 32)});
      }
    }
    for (const RouteEvidence& route : host.routes) {
      const auto net = parse_ip_subnet(route.destination);
      if (net && !net->ip.v6 && net->prefix > 0) out.push_back(*net);
    }
  }
  return out;
}

// 192.168.0.0/30, 192.168.0.4/30 ... without those that are taken.
class AddressPlan {
 public:
  explicit AddressPlan(std::vector<Subnet> taken) : taken_(std::move(taken)) {}

  std::optional<Subnet> next() {
    constexpr int kNetworks = 256 * 64;
    while (number_ < kNetworks) {
      const int at = number_++;
      Ip ip;
      ip.bytes = {192, 168, static_cast<uint8_t>(at / 64), static_cast<uint8_t>(at % 64 * 4)};
      const Subnet net{ip, kPlannedPrefix};
      if (none_of(taken_, [&](const Subnet& other) { return overlap(other, net); })) return net;
    }
    return std::nullopt;
  }

 private:
  std::vector<Subnet> taken_;
  int number_ = 0;
};

std::string address_in(const Subnet& net, int number) {
  Ip ip = net.ip;
  ip.bytes[3] = static_cast<uint8_t>(ip.bytes[3] + number);
  return to_text(ip);
}

// The end's own address in the cable's network, "10.0.0.1/30"; empty = none.
std::string address_at(const EvidenceSet& evidence, const CableEnd& end,
                       const std::string& network) {
  const InterfaceEvidence* const interface =
      find_interface(evidence.hosts[end.host], end.interface);
  const auto net = parse_ip_subnet(network);
  if (interface == nullptr || !net) return {};
  for (const AddressEvidence& address : interface->addresses) {
    const auto ip = parse_ip(address.ip);
    if (ip && address.prefix == net->prefix && contains(*net, *ip)) {
      return fmt::format("{}/{}", address.ip, address.prefix);
    }
  }
  return {};
}

// ---- devices ----

std::string device_of(const EvidenceSet& evidence, const CableEnd& end) {
  const HostEvidence& host = evidence.hosts[end.host];
  if (end.interface.empty() || !host.rdma) return {};
  const RdmaDevice* const device = find_where(
      host.rdma->devices, [&](const RdmaDevice& one) { return one.netdev == end.interface; });
  return device == nullptr ? std::string() : device->name;
}

// Why RDMA cannot go over it; empty = it can, as far as the hosts tell.
std::string why_no_rdma(const EvidenceSet& evidence, const CableGraph& graph, const Cable& cable) {
  for (const CableEnd* end : {&cable.a, &cable.b}) {
    if (device_of(evidence, *end).empty()) {
      return fmt::format("{} of {} has no RDMA device", end_words(*end), graph.hosts[end->host]);
    }
  }
  if (cable.hubs > 0) return "a hub is on the way";
  if (cable.thunderbolt && cable.speed_bps && *cable.speed_bps <= kThunderbolt4) {
    return fmt::format("the link runs at {}, and RDMA needs Thunderbolt 5",
                       describe_bit_rate(*cable.speed_bps));
  }
  return {};
}

// ---- making the file ----

class Maker {
 public:
  Maker(const EvidenceSet& evidence, const CableGraph& graph,
        const std::vector<ScenarioHost>& hosts)
      : evidence_(evidence), graph_(graph), hosts_(hosts) {
    for (const Cable& cable : graph_.cables) {
      const std::string why = why_no_rdma(evidence_, graph_, cable);
      if (why.empty()) {
        rdma_.insert(&cable);
      } else if (cable.thunderbolt) {
        out_.notes.push_back(fmt::format("no RDMA between {} and {}: {}",
                                         graph_.hosts[cable.a.host], graph_.hosts[cable.b.host],
                                         why));
      }
    }
  }

  Expected<DiscoveredFile> make(const std::string& wanted) {
    const std::string fitting = choose();
    out_.file.row = find_host_file_format("ours");
    out_.file.backend = wanted.empty() ? fitting : wanted;
    if (!wanted.empty()) out_.why = "as asked for";
    order_hosts();
    if (Status given = give_addresses(); !given) return fail(given.error());
    write_hosts();
    out_.file.coordinator = coordinator();
    const BackendRow* const row = find_backend(out_.file.backend);
    const auto problems = check_host_file(out_.file, row);
    if (!problems.empty()) {
      return fail(ErrorCode::kConfig,
                  fmt::format("make a host file for {}: {}",
                              out_.file.backend.empty() ? "these hosts" : out_.file.backend,
                              problems[0].message),
                  problems[0].hint);
    }
    return std::move(out_);
  }

 private:
  size_t count() const { return graph_.hosts.size(); }

  std::vector<const Cable*> rails(size_t a, size_t b) const {
    std::vector<const Cable*> out;
    for (const Cable* cable : cables_between(graph_, a, b)) {
      if (rdma_.count(cable) != 0) out.push_back(cable);
    }
    return out;
  }

  bool is_rdma_mesh() const {
    for (size_t a = 0; a < count(); ++a) {
      for (size_t b = a + 1; b < count(); ++b) {
        if (rails(a, b).empty()) return false;
      }
    }
    return count() >= 2 && count() <= kMostMeshHosts;
  }

  bool is_rdma_ring(const std::vector<size_t>& ring) const {
    if (ring.empty()) return false;
    const size_t wires = rails(ring[0], ring[1 % ring.size()]).size();
    for (size_t i = 0; i < ring.size(); ++i) {
      if (rails(ring[i], ring[(i + 1) % ring.size()]).size() != wires) return false;
    }
    return wires >= 1 && wires <= kMostWires;
  }

  // As MLX does: RDMA in a mesh, RDMA in a ring, else a ring over TCP.
  std::string choose() {
    ring_ = ring_of(graph_);
    if (count() < 2) return say("", "one host needs no backend");
    if (is_rdma_mesh()) return say("jaccl", "a cable with RDMA between every two hosts");
    if (is_rdma_ring(ring_)) return say("jaccl-ring", "the cables with RDMA make a ring");
    if (!ring_.empty()) {
      return say("ring", rdma_.empty() ? "the cables make a ring, and RDMA is not to be had"
                                       : "the cables make a ring, but not all of them have RDMA");
    }
    if (graph_.shape == "network") return say("ring", "one network joins all hosts");
    return say("", fmt::format("no backend of MLX fits: the cables make neither a mesh nor a ring "
                               "of all hosts ({})",
                               graph_.shape));
  }
  std::string say(const char* backend, std::string why) {
    out_.why = std::move(why);
    return backend;
  }

  void order_hosts() {
    const bool along = out_.file.backend == "ring" || out_.file.backend == "jaccl-ring";
    if (along && !ring_.empty()) {
      out_.order = ring_;
      return;
    }
    for (size_t host = 0; host < count(); ++host) out_.order.push_back(host);
  }

  Status give_addresses() {
    AddressPlan plan(networks_in_use(evidence_));
    std::map<size_t, HostSetup> setup;
    for (const Cable& cable : graph_.cables) {
      const bool named = !cable.a.interface.empty() && !cable.b.interface.empty();
      std::string a, b;
      if (!cable.network.empty()) {
        a = address_at(evidence_, cable.a, cable.network);
        b = address_at(evidence_, cable.b, cable.network);
      }
      if ((a.empty() || b.empty()) && named) {
        const auto net = plan.next();
        if (!net) {
          return fail(ErrorCode::kConfig,
                      "plan addresses for the cables: no /30 of 192.168.0.0/16 "
                      "is free on all hosts",
                      "give the cables addresses by hand");
        }
        a = fmt::format("{}/{}", address_in(*net, 1), kPlannedPrefix);
        b = fmt::format("{}/{}", address_in(*net, 2), kPlannedPrefix);
        set_up(cable.a, a, setup);
        set_up(cable.b, b, setup);
      }
      addresses_[&cable] = {a, b};
    }
    for (auto& [host, one] : setup) {
      one.host = graph_.hosts[host];
      out_.setup.push_back(std::move(one));
    }
    return {};
  }

  // Out of a bridge first: its ports have no addresses of their own that a GID could be made of.
  void set_up(const CableEnd& end, const std::string& address, std::map<size_t, HostSetup>& setup) {
    const HostEvidence& host = evidence_.hosts[end.host];
    const InterfaceEvidence* const interface = find_interface(host, end.interface);
    HostSetup& out = setup[end.host];
    const Cidr own = parse_cidr(address);
    Remedy undo(remedy_delete_address(host.system, own.ip, own.prefix, end.interface));
    if (interface != nullptr && !interface->master.empty()) {
      out.steps.run(remedy_leave_bridge(host.system, end.interface, interface->master));
      undo.run(remedy_add_to_bridge(host.system, end.interface, interface->master));
    }
    if (interface != nullptr && !interface->up) {
      out.steps.run(remedy_link_up(host.system, end.interface));
    }
    out.steps.run(remedy_add_address(host.system, own.ip, own.prefix, end.interface));
    out.undo.then(undo);
  }

  void write_hosts() {
    for (const size_t at : out_.order) {
      ScenarioHost host = hosts_[at];
      host.data.clear();
      for (const Cable& cable : graph_.cables) {
        if (cable.a.host != at && cable.b.host != at) continue;
        const auto& [a, b] = addresses_[&cable];
        const std::string& own = cable.a.host == at ? a : b;
        if (!own.empty()) host.data.push_back(own);
      }
      if (graph_.cables.empty()) host.data = network_addresses(at);
      if (!rdma_.empty()) {
        for (const size_t other : out_.order) host.rdma.push_back(cell(at, other));
      }
      out_.file.hosts.push_back(std::move(host));
      out_.file.places.push_back(fmt::format("$.hosts[{}]", out_.file.places.size()));
    }
    for (ScenarioHost& host : out_.file.hosts) {
      host.ring = out_.file.backend == "ring" && !host.data.empty();
    }
  }

  std::vector<std::string> cell(size_t at, size_t other) const {
    std::vector<std::string> out;
    if (at == other) return out;
    for (const Cable* cable : rails(at, other)) {
      out.push_back(device_of(evidence_, end_at(*cable, at)));
    }
    return out;
  }

  // In the first network that joins all hosts.
  std::vector<std::string> network_addresses(size_t at) const {
    for (const SharedNetwork& shared : graph_.networks) {
      std::set<size_t> joined;
      for (const CableEnd& end : shared.ends) joined.insert(end.host);
      if (joined.size() != count()) continue;
      for (const CableEnd& end : shared.ends) {
        if (end.host == at) return {address_at(evidence_, end, shared.network)};
      }
    }
    return {};
  }

  // Where rank 0 waits for the others: an address that all can reach, which those of single cables
  // are not.
  std::string coordinator() const {
    const std::string& backend = out_.file.backend;
    if (backend != "jaccl" && backend != "jaccl-ring") return {};
    const std::vector<std::string> shared = network_addresses(out_.order[0]);
    return shared.empty() || shared[0].empty() ? std::string() : parse_cidr(shared[0]).ip;
  }

  const EvidenceSet& evidence_;
  const CableGraph& graph_;
  const std::vector<ScenarioHost>& hosts_;
  std::set<const Cable*> rdma_;  // over which RDMA can go
  std::map<const Cable*, std::pair<std::string, std::string>> addresses_;
  std::vector<size_t> ring_;
  DiscoveredFile out_;
};

// ---- changes ----

const ScenarioHost* host_called(const HostFile& file, const std::string& name) {
  return find_where(file.hosts, [&](const ScenarioHost& host) { return host.name == name; });
}

std::string words_or_none(const std::vector<std::string>& words) {
  return words.empty() ? "none" : join_words(words);
}

// "mini2" -> the devices that face it.
std::map<std::string, std::vector<std::string>> faces_of(const HostFile& file,
                                                         const ScenarioHost& host) {
  std::map<std::string, std::vector<std::string>> out;
  for (size_t j = 0; j < host.rdma.size() && j < file.hosts.size(); ++j) {
    if (!host.rdma[j].empty()) out[file.hosts[j].name] = host.rdma[j];
  }
  return out;
}

}  // namespace

Expected<DiscoveredFile> discovered_file(const EvidenceSet& evidence, const CableGraph& graph,
                                         const std::vector<ScenarioHost>& hosts,
                                         const std::string& backend) {
  return Maker(evidence, graph, hosts).make(backend);
}

std::vector<std::string> changes_since(const HostFile& old, const HostFile& fresh) {
  std::vector<std::string> out;
  for (const ScenarioHost& host : old.hosts) {
    if (host_called(fresh, host.name) == nullptr) out.push_back(host.name + ": is gone");
  }
  for (const ScenarioHost& host : fresh.hosts) {
    const ScenarioHost* const before = host_called(old, host.name);
    if (before == nullptr) {
      out.push_back(host.name + ": is new");
      continue;
    }
    const auto then = faces_of(old, *before), now = faces_of(fresh, host);
    std::set<std::string> peers;
    for (const auto& [peer, devices] : then) peers.insert(peer);
    for (const auto& [peer, devices] : now) peers.insert(peer);
    for (const std::string& peer : peers) {
      const auto was = then.count(peer) ? then.at(peer) : std::vector<std::string>();
      const auto is = now.count(peer) ? now.at(peer) : std::vector<std::string>();
      if (was == is) continue;
      out.push_back(fmt::format("{}: towards {} {} instead of {}", host.name, peer,
                                words_or_none(is), words_or_none(was)));
    }
    if (before->data != host.data) {
      out.push_back(fmt::format("{}: addresses {} instead of {}", host.name,
                                words_or_none(host.data), words_or_none(before->data)));
    }
  }
  const auto names = [](const HostFile& file) {
    std::vector<std::string> list;
    for (const ScenarioHost& host : file.hosts) list.push_back(host.name);
    return list;
  };
  if (out.empty() && names(old) != names(fresh)) {
    out.push_back(fmt::format("the order of the ranks is {} instead of {}",
                              join_words(names(fresh)), join_words(names(old))));
  }
  if (old.backend != fresh.backend) {
    out.push_back(fmt::format("backend {} instead of {}",
                              fresh.backend.empty() ? "none" : fresh.backend,
                              old.backend.empty() ? "none" : old.backend));
  }
  return out;
}

}  // namespace plumbline
