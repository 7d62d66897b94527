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
#include "scenarios/host_files/cable_addresses.h"

namespace plumbline {
namespace {

constexpr int64_t kThunderbolt4 = 40'000'000'000;     // bit/s; RDMA needs more
constexpr size_t kMostMeshHosts = 8, kMostWires = 4;  // of JACCL

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
    if (is_socket_beside_ethernet(evidence.hosts[end->host], device_of(evidence, *end))) {
      return fmt::format("{} of {} is the socket beside Ethernet of a Mac Studio: use another one",
                         end_words(*end), graph.hosts[end->host]);
    }
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
    const auto problems = check_host_file(out_.file, find_backend(out_.file.backend));
    if (!problems.empty() && wanted.empty() && !out_.file.backend.empty()) {
      // A host file all the same.
      out_.why = fmt::format("no backend of MLX fits; {}: {}: {}", out_.file.backend,
                             problems[0].where, problems[0].message);
      out_.file.backend.clear();
      out_.file.coordinator.clear();
      for (ScenarioHost& host : out_.file.hosts) host.ring = false;
      if (check_host_file(out_.file, nullptr).empty()) return std::move(out_);
    }
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

  // Of a ring of RDMA cables: how many all neighbours have, as MLX takes them; 0 = too many hosts
  // or none.
  size_t wires_of(const std::vector<size_t>& ring) const {
    size_t wires = ring.empty() ? 0 : kMostWires;
    for (size_t i = 0; i < ring.size(); ++i) {
      wires = std::min(wires, rails(ring[i], ring[(i + 1) % ring.size()]).size());
    }
    return wires;
  }

  // As MLX does: RDMA in a mesh, RDMA in a ring, else a ring over TCP.
  std::string choose() {
    const std::vector<size_t> rdma_ring =
        ring_of(graph_, [&](const Cable& cable) { return rdma_.count(&cable) != 0; });
    ring_ = rdma_ring.empty() ? ring_of(graph_) : rdma_ring;
    wires_ = wires_of(rdma_ring);
    if (count() < 2) return say("", "one host needs no backend");
    if (is_rdma_mesh()) return say("jaccl", "a cable with RDMA between every two hosts");
    if (wires_ > 0) return say("jaccl-ring", "the cables with RDMA make a ring");
    if (!ring_.empty()) {
      return say("ring", rdma_.empty() ? "the cables make a ring, and RDMA is not to be had"
                                       : "the cables make a ring, but not all of them have RDMA");
    }
    if (graph_.shape == "network") return say("ring", "one network joins all hosts");
    return say("",
               "no backend of MLX fits: the cables make neither a mesh nor a ring of all hosts");
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
      Expected<std::pair<std::string, std::string>> ends = addresses_of(cable, plan, setup);
      if (!ends) return fail(ends.error());
      addresses_[&cable] = std::move(*ends);
    }
    for (auto& [host, one] : setup) {
      one.host = graph_.hosts[host];
      out_.setup.push_back(std::move(one));
    }
    return {};
  }

  using Ends = std::pair<std::string, std::string>;

  Expected<Ends> addresses_of(const Cable& cable, AddressPlan& plan,
                              std::map<size_t, HostSetup>& setup) {
    Ends ends;
    if (!cable.network.empty()) {
      ends = {own_address_in(evidence_, cable.a, cable.network),
              own_address_in(evidence_, cable.b, cable.network)};
      if (!ends.first.empty() && !ends.second.empty()) return ends;
    }
    if (cable.a.interface.empty() || cable.b.interface.empty()) return Ends();
    if (rdma_.count(&cable) == 0) {
      // TCP is as well off over the bridge that both are in.
      const Ends bridged = over_bridges(cable);
      if (!bridged.first.empty()) return bridged;
    }
    for (const CableEnd* end : {&cable.a, &cable.b}) {
      if (!is_in_bond(evidence_, *end)) continue;
      out_.notes.push_back(fmt::format("{} of {} is in a bond, and gets no address of its own",
                                       end->interface, graph_.hosts[end->host]));
      return Ends();
    }
    const std::vector<Cidr> a = given_to(evidence_, cable.a), b = given_to(evidence_, cable.b);
    if (const std::string kept = partner_of(a, b); !kept.empty()) {
      set_up(cable.a, kept, {}, setup);
      return Ends{kept, fmt::format("{}/{}", b[0].ip, b[0].prefix)};
    }
    if (const std::string kept = partner_of(b, a); !kept.empty()) {
      set_up(cable.b, kept, {}, setup);
      return Ends{fmt::format("{}/{}", a[0].ip, a[0].prefix), kept};
    }
    const auto net = plan.next();
    if (!net) {
      return fail(ErrorCode::kConfig,
                  "plan addresses for the cables: no private /30 is free on all hosts",
                  "give the cables addresses by hand");
    }
    ends = {fmt::format("{}/{}", numbered_address(*net, 1), kPlannedPrefix),
            fmt::format("{}/{}", numbered_address(*net, 2), kPlannedPrefix)};
    set_up(cable.a, ends.first, a, setup);
    set_up(cable.b, ends.second, b, setup);
    return ends;
  }

  // The addresses of the bridges at both ends in a network that they share.
  Ends over_bridges(const Cable& cable) const {
    const InterfaceEvidence* const a = bridge_over(evidence_, cable.a);
    const InterfaceEvidence* const b = bridge_over(evidence_, cable.b);
    if (a == nullptr || b == nullptr) return {};
    for (const SharedNetwork& shared : graph_.networks) {
      const std::string here =
          own_address_in(evidence_, {cable.a.host, a->name, {}}, shared.network);
      const std::string there =
          own_address_in(evidence_, {cable.b.host, b->name, {}}, shared.network);
      if (!here.empty() && !there.empty()) return {here, there};
    }
    return {};
  }

  // Out of a bridge first: its ports have no addresses of their own that a GID could be made of.
  // What the interface has of no use any more (`old`) goes, because GIDs are made of it too.
  void set_up(const CableEnd& end, const std::string& address, const std::vector<Cidr>& old,
              std::map<size_t, HostSetup>& setup) {
    const HostEvidence& host = evidence_.hosts[end.host];
    const InterfaceEvidence* const interface = find_interface(host, end.interface);
    const InterfaceEvidence* const bridge = bridge_over(evidence_, end);
    HostSetup& out = setup[end.host];
    const Cidr own = parse_cidr(address);
    Remedy undo(remedy_delete_address(host.system, own.ip, own.prefix, end.interface));
    if (bridge != nullptr) {
      out.steps.run(remedy_leave_bridge(host.system, end.interface, bridge->name));
      undo.run(remedy_add_to_bridge(host.system, end.interface, bridge->name));
      for (const AddressEvidence& lost : bridge->addresses) {
        if (is_link_local_ip(lost.ip)) continue;
        out_.notes.push_back(
            fmt::format("{} of {} leaves {}: what uses {} over it, an ssh connection too, ends",
                        end.interface, host.name, bridge->name, lost.ip));
      }
    }
    for (const Cidr& gone : old) {
      out.steps.run(remedy_delete_address(host.system, gone.ip, gone.prefix, end.interface));
      undo.run(remedy_add_address(host.system, gone.ip, gone.prefix, end.interface));
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
        if (!own.empty() && !is_in(host.data, own)) host.data.push_back(own);
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
      // Neighbours in JACCL's ring have all the same number.
      if (out_.file.backend == "jaccl-ring" && out.size() == wires_) break;
      out.push_back(device_of(evidence_, end_at(*cable, at)));
    }
    return out;
  }

  // In the first network that joins all hosts.
  std::vector<std::string> network_addresses(size_t at) const {
    for (const SharedNetwork& shared : graph_.networks) {
      std::set<size_t> joined;
      for (const CableEnd& end : shared.ends) joined.insert(end.host);
      // A bridge over the cables goes when they get addresses of their own.
      const bool of_cables = any_of(shared.ends, [&](const CableEnd& end) {
        return any_of(graph_.cables, [&](const Cable& cable) {
          const InterfaceEvidence* const bridge =
              cable.a.host != end.host && cable.b.host != end.host
                  ? nullptr
                  : bridge_over(evidence_, end_at(cable, end.host));
          return bridge != nullptr && bridge->name == end.interface;
        });
      });
      if (joined.size() != count() || of_cables) continue;
      for (const CableEnd& end : shared.ends) {
        if (end.host == at) return {own_address_in(evidence_, end, shared.network)};
      }
    }
    return {};
  }

  // Where rank 0 waits for the others: an address that all can reach, which those of single cables
  // are not.
  std::string coordinator() {
    const std::string& backend = out_.file.backend;
    if (backend != "jaccl" && backend != "jaccl-ring") return {};
    const std::vector<std::string> shared = network_addresses(out_.order[0]);
    if (!shared.empty() && !shared[0].empty()) return parse_cidr(shared[0]).ip;
    if (count() > 2) {
      out_.notes.emplace_back(
          "no network joins all hosts: rank 0 would wait for the others at an address of one "
          "cable, "
          "which only its neighbour reaches; write another one into `coordinator`");
    }
    return {};
  }

  const EvidenceSet& evidence_;
  const CableGraph& graph_;
  const std::vector<ScenarioHost>& hosts_;
  std::set<const Cable*> rdma_;  // over which RDMA can go
  std::map<const Cable*, std::pair<std::string, std::string>> addresses_;
  std::vector<size_t> ring_;
  size_t wires_ = 0;  // of JACCL's ring
  DiscoveredFile out_;
};

}  // namespace

Expected<DiscoveredFile> discovered_file(const EvidenceSet& evidence, const CableGraph& graph,
                                         const std::vector<ScenarioHost>& hosts,
                                         const std::string& backend) {
  return Maker(evidence, graph, hosts).make(backend);
}

}  // namespace plumbline
