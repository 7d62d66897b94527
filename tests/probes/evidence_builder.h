// Evidence of clusters as tests need it: a whole and healthy EvidenceSet (interfaces, routes,
// neighbours, connections that worked) of a star or a mesh, which a test then spoils in one place.
//
//   EvidenceSet set = test::healthy_star(3);          // mini1 ... mini3, 10.10.0.N/24 on eth1
//   test::nic(set, "mini2", "eth1").up = false;
//   test::silence(set, "mini1", "mini2");             // nothing comes back on this pair
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/host/ip.h"
#include "probes/evidence.h"

namespace plumbline::test {

constexpr int64_t kMicro = 1000, kMilli = 1'000'000;

// ---- finding parts again, to spoil them ----

inline JobHost& job_host(EvidenceSet& set, const std::string& name) {
  for (JobHost& host : set.job.hosts) {
    if (host.name == name) return host;
  }
  ADD_FAILURE() << "no host " << name;
  return set.job.hosts.at(0);
}

inline HostEvidence& host(EvidenceSet& set, const std::string& name) {
  for (HostEvidence& candidate : set.hosts) {
    if (candidate.name == name) return candidate;
  }
  ADD_FAILURE() << "no host " << name;
  return set.hosts.at(0);
}

inline InterfaceEvidence& nic(EvidenceSet& set, const std::string& host_name,
                              const std::string& name) {
  for (InterfaceEvidence& candidate : host(set, host_name).interfaces) {
    if (candidate.name == name) return candidate;
  }
  ADD_FAILURE() << "no interface " << name << " on " << host_name;
  return host(set, host_name).interfaces.at(0);
}

inline PairEvidence& pair(EvidenceSet& set, const std::string& from, const std::string& to) {
  for (PairEvidence& candidate : set.pairs) {
    if (candidate.from == from && candidate.to == to) return candidate;
  }
  ADD_FAILURE() << "no pair " << from << ">" << to;
  return set.pairs.at(0);
}

inline PortTry& port_try(EvidenceSet& set, const std::string& from, const std::string& to,
                         int port) {
  for (PortTry& candidate : pair(set, from, to).ports) {
    if (candidate.port == port) return candidate;
  }
  ADD_FAILURE() << "no port " << port;
  return pair(set, from, to).ports.at(0);
}

// ---- parts ----

inline std::string ip_of(const std::string& cidr) { return cidr.substr(0, cidr.find('/')); }
inline int prefix_of(const std::string& cidr) {
  const size_t slash = cidr.find('/');
  return slash == std::string::npos ? 0 : std::stoi(cidr.substr(slash + 1));
}

inline InterfaceEvidence make_nic(const std::string& name, const std::string& mac,
                                  const std::vector<std::string>& addresses,
                                  const std::string& kind = "ethernet") {
  InterfaceEvidence out;
  out.name = name;
  out.kind = kind;
  out.mac = mac;
  out.mtu = kind == "loopback" ? 65536 : 1500;
  out.up = true;
  out.carrier = true;
  out.state = kind == "loopback" ? "UNKNOWN" : "UP";
  out.carrier_changes = out.carrier_changes_later = 2;
  out.counters = out.counters_later = {{"rx_errors", 0}, {"tx_errors", 0}};
  if (kind == "ethernet") {
    out.speed_bps = out.speed_max_bps = 1'000'000'000;
    out.duplex = "full";
  }
  for (const std::string& text : addresses) {
    AddressEvidence address;
    address.ip = ip_of(text);
    address.prefix = prefix_of(text);
    address.scope =
        kind == "loopback" ? "host"
        : same_subnet(address.ip, "fe80::", 10) || same_subnet(address.ip, "169.254.0.0", 16)
            ? "link"
            : "global";
    out.addresses.push_back(address);
  }
  return out;
}

inline HostEvidence make_host(const std::string& name) {
  HostEvidence out;
  out.name = name;
  out.source = "agent";
  out.version = "1.0.0";
  out.build = "release";
  out.system = "linux";
  out.os = "Debian GNU/Linux 12 (bookworm)";
  out.hostname = name;
  out.boot_id = "boot-" + name;
  out.uid = 0;
  out.privileges = {"capture", "raw", "filters"};
  out.interfaces = {make_nic("lo", "00:00:00:00:00:00", {"127.0.0.1/8", "::1/128"}, "loopback")};
  for (const char* tool : {"nftables", "iptables", "ip6tables", "ebtables", "tc"}) {
    FilterSource source;
    source.tool = tool;
    source.present = source.readable = true;
    out.filter_sources.push_back(source);
  }
  out.policy_rules = {{0, "all", "", "lookup", "local", "0: from all lookup local"},
                      {32766, "all", "", "lookup", "main", "32766: from all lookup main"},
                      {32767, "all", "", "lookup", "default", "32767: from all lookup default"}};
  out.descriptors = 1024;
  out.locked_memory = -1;
  out.load1 = 0.1;
  out.cores_usable = 8;
  out.conntrack_count = 20;
  out.conntrack_max = 262144;
  out.clock_offset_ns = 200 * kMicro;
  out.clock_uncertainty_ns = 300 * kMicro;
  out.sysctls = {{"net.ipv4.ip_local_port_range", "32768\t60999"},
                 {"net.ipv4.conf.all.rp_filter", "0"},
                 {"net.ipv4.conf.all.arp_ignore", "0"}};
  return out;
}

inline PortTry connected(int port) {
  PortTry out;
  out.port = port;
  out.result = "connected";
  out.took_ns = 200 * kMicro;
  out.answer = "ours";
  out.listener = "up";
  out.accepted = true;
  return out;
}

inline StreamEvidence stream(const std::string& kind) {
  StreamEvidence out;
  out.kind = kind;
  out.duration_ns = 300 * kMilli;
  out.bytes = 34'000'000;  // 0.9 Gbit/s
  out.segments_out = 24'000;
  out.rtt_ns = 300 * kMicro;
  out.rtt_min_ns = 100 * kMicro;
  out.receive_window = 4 << 20;
  out.send_buffer = 4 << 20;
  out.cpu_sender = out.cpu_receiver = 0.2;
  return out;
}

// Everything works between these two addresses.
inline PairEvidence healthy_pair(const std::string& from, const std::string& from_ip,
                                 const std::string& to, const std::string& to_ip,
                                 const std::vector<int>& ports, const InterfaceEvidence& egress,
                                 const std::string& peer_mac, const std::string& via = "") {
  PairEvidence out;
  out.from = from;
  out.to = to;
  out.from_ip = from_ip;
  out.to_ip = to_ip;
  for (const bool with_source : {false, true}) {
    out.routes.push_back({with_source, "", "unicast", egress.name, via, from_ip, "main"});
  }
  NeighbourProbe neighbour;
  neighbour.dev = egress.name;
  neighbour.method = "arp";
  neighbour.on_link = via.empty();
  if (via.empty()) {
    neighbour.macs = {peer_mac};
    neighbour.kernel_state = "REACHABLE";
    neighbour.kernel_mac = peer_mac;
  }
  out.neighbour = neighbour;
  PingEvidence ping;
  ping.sent = ping.received = 5;
  ping.rtt_ns = {300 * kMicro, 200 * kMicro, 210 * kMicro, 190 * kMicro, 200 * kMicro};
  out.ping = ping;
  for (const int port : ports) out.ports.push_back(connected(port));
  MtuEvidence mtu;
  mtu.interface_mtu = mtu.largest_delivered = egress.mtu;
  mtu.method = "udp";
  mtu.transfer_bytes = mtu.transferred = 1 << 20;
  out.mtu = mtu;
  QualityEvidence quality;
  quality.streams = {stream("one_way"), stream("two_way"), stream("paced")};
  quality.round_trips_ns = {150 * kMicro, 140 * kMicro, 160 * kMicro, 145 * kMicro};
  quality.busy_round_trips_ns = {300 * kMicro, 250 * kMicro};
  out.quality = quality;
  return out;
}

// ---- whole clusters ----

// Collects hosts with their interfaces, then build() adds what a healthy cluster would show.
class ClusterBuilder {
 public:
  // An interface of this host (made when new) with an address under test. `gateway`: next hop to
  // the data subnets of all other hosts, where there is one.
  ClusterBuilder& data(const std::string& name, const std::string& interface,
                       const std::string& cidr, const std::string& kind = "ethernet",
                       const std::string& gateway = "") {
    add(name, interface, cidr, kind);
    entry(name).data.push_back(cidr);
    if (!gateway.empty()) gateways_.push_back({name, interface, gateway});
    return *this;
  }
  // One that is not under test; `cidr` may be empty.
  ClusterBuilder& other(const std::string& name, const std::string& interface,
                        const std::string& cidr, const std::string& kind = "ethernet") {
    add(name, interface, cidr, kind);
    return *this;
  }

  EvidenceSet build() {
    set_.suite_version = "1.0.0";
    set_.time = "2026-01-02T03:04:05Z";
    Job& job = set_.job;
    job.file = "hosts.json";
    job.ranks = static_cast<int>(job.hosts.size());
    job.ports = {job.master_port};
    for (int rank = 0; rank < job.ranks; ++rank) job.ports.push_back(job.port_base + rank);
    for (HostEvidence& owner : set_.hosts) {
      owner.config = job.config;
      owner.names = {{owner.name, "own", "", own_addresses(owner.name), {}, "", kMilli}};
      add_routes(owner);
    }
    for (const JobHost& from : job.hosts) {
      for (const JobHost& to : job.hosts) {
        if (&from != &to) add_pair(from, to);
      }
    }
    return set_;
  }

 private:
  struct Gateway {
    std::string name, interface, via;
  };

  JobHost& entry(const std::string& name) {
    for (JobHost& candidate : set_.job.hosts) {
      if (candidate.name == name) return candidate;
    }
    JobHost next;
    next.name = name;
    next.reached_by = "ssh";
    next.where = "hosts.json:" + std::to_string(3 + set_.job.hosts.size());
    set_.job.hosts.push_back(next);
    set_.hosts.push_back(make_host(name));
    return set_.job.hosts.back();
  }

  void add(const std::string& name, const std::string& interface, const std::string& cidr,
           const std::string& kind) {
    entry(name);
    HostEvidence& owner = host(set_, name);
    const std::vector<std::string> list =
        cidr.empty() ? std::vector<std::string>{} : std::vector<std::string>{cidr};
    char mac[32];
    std::snprintf(mac, sizeof mac, "02:00:00:00:%02zx:%02zx", set_.hosts.size(),
                  owner.interfaces.size());
    for (InterfaceEvidence& known : owner.interfaces) {
      if (known.name != interface) continue;
      for (const AddressEvidence& address : make_nic(interface, "", list, kind).addresses) {
        known.addresses.push_back(address);
      }
      return;
    }
    owner.interfaces.push_back(make_nic(interface, mac, list, kind));
    owner.interfaces.back().index = static_cast<int>(owner.interfaces.size());
  }

  std::vector<std::string> own_addresses(const std::string& name) {
    std::vector<std::string> out;
    for (const std::string& cidr : entry(name).data) out.push_back(ip_of(cidr));
    return out;
  }

  void add_routes(HostEvidence& owner) {
    for (const InterfaceEvidence& interface : owner.interfaces) {
      if (interface.kind == "loopback") continue;
      for (const AddressEvidence& address : interface.addresses) {
        RouteEvidence route;
        route.destination = network_of(address.ip, address.prefix);
        route.type = "unicast";
        route.dev = interface.name;
        route.source = is_v6(address.ip) ? "" : address.ip;
        route.table = "main";
        route.scope = is_v6(address.ip) ? "global" : "link";
        route.protocol = "kernel";
        route.metric = is_v6(address.ip) ? 256 : 0;
        owner.routes.push_back(route);
      }
    }
    for (const Gateway& gateway : gateways_) {
      if (gateway.name != owner.name) continue;
      for (const JobHost& peer : set_.job.hosts) {
        for (const std::string& cidr : peer.data) add_gateway_route(owner, gateway, cidr);
      }
    }
  }

  static void add_gateway_route(HostEvidence& owner, const Gateway& gateway,
                                const std::string& cidr) {
    const std::string destination = network_of(ip_of(cidr), prefix_of(cidr));
    for (const RouteEvidence& known : owner.routes) {
      if (known.destination == destination) return;
    }
    RouteEvidence route;
    route.destination = destination;
    route.type = "unicast";
    route.dev = gateway.interface;
    route.via = gateway.via;
    route.table = "main";
    route.scope = "global";
    route.protocol = "boot";
    owner.routes.push_back(route);
  }

  // The interface that carries this address.
  static const InterfaceEvidence* carrier(const HostEvidence& owner, const std::string& ip) {
    for (const InterfaceEvidence& interface : owner.interfaces) {
      for (const AddressEvidence& address : interface.addresses) {
        if (address.ip == ip) return &interface;
      }
    }
    return nullptr;
  }

  void add_pair(const JobHost& from, const JobHost& to) {
    std::string from_cidr = from.data.at(0), to_cidr = to.data.at(0);
    for (const std::string& mine : from.data) {
      for (const std::string& theirs : to.data) {
        if (same_subnet(ip_of(mine), ip_of(theirs), prefix_of(mine))) {
          from_cidr = mine;
          to_cidr = theirs;
        }
      }
    }
    HostEvidence& sender = host(set_, from.name);
    const InterfaceEvidence* egress = carrier(sender, ip_of(from_cidr));
    const InterfaceEvidence* ingress = carrier(host(set_, to.name), ip_of(to_cidr));
    if (egress == nullptr || ingress == nullptr) return;
    const bool on_link = same_subnet(ip_of(from_cidr), ip_of(to_cidr), prefix_of(from_cidr));
    std::string via;
    for (const Gateway& gateway : gateways_) {
      if (!on_link && gateway.name == from.name) via = gateway.via;
    }
    set_.pairs.push_back(healthy_pair(from.name, ip_of(from_cidr), to.name, ip_of(to_cidr),
                                      set_.job.ports, *egress, ingress->mac, via));
    if (on_link) {
      sender.neighbours.push_back({ip_of(to_cidr), egress->name, ingress->mac, "REACHABLE"});
    }
  }

  EvidenceSet set_;
  std::vector<Gateway> gateways_;
};

// mini1 ... miniN: eth0 in an office network, eth1 with 10.10.0.N/24 under test, one switch.
inline EvidenceSet healthy_star(int hosts = 4) {
  ClusterBuilder builder;
  for (int i = 1; i <= hosts; ++i) {
    const std::string name = "mini" + std::to_string(i);
    builder.other(name, "eth0", "192.168.7." + std::to_string(i) + "/24");
    builder.data(name, "eth1", "10.10.0." + std::to_string(i) + "/24");
  }
  return builder.build();
}

// A cable and a /30 for every two hosts; interface toM leads to miniM.
inline EvidenceSet healthy_mesh(int hosts = 3) {
  ClusterBuilder builder;
  int link = 0;
  for (int a = 1; a <= hosts; ++a) {
    for (int b = a + 1; b <= hosts; ++b, ++link) {
      const std::string net = "10.20." + std::to_string(link) + ".";
      builder.data("mini" + std::to_string(a), "to" + std::to_string(b), net + "1/30");
      builder.data("mini" + std::to_string(b), "to" + std::to_string(a), net + "2/30");
    }
  }
  return builder.build();
}

// `{"local": N}`: every host is this machine, 127.0.0.1.
inline EvidenceSet healthy_local(int hosts = 2) {
  EvidenceSet set;
  set.suite_version = "1.0.0";
  set.job.ranks = hosts;
  set.job.ports = {29500, 29600, 29601};
  for (int i = 0; i < hosts; ++i) {
    JobHost entry;
    entry.name = "local" + std::to_string(i);
    entry.data = {"127.0.0.1"};
    entry.reached_by = "local";
    set.job.hosts.push_back(entry);
    set.hosts.push_back(make_host(entry.name));
    set.hosts.back().hostname = "workstation";
    set.hosts.back().boot_id = "boot-workstation";
    set.hosts.back().names = {{"workstation", "own", "", {"127.0.1.1"}, {}, "", kMilli}};
  }
  for (const JobHost& from : set.job.hosts) {
    for (const JobHost& to : set.job.hosts) {
      if (&from == &to) continue;
      const InterfaceEvidence lo = set.hosts[0].interfaces[0];
      PairEvidence pair =
          healthy_pair(from.name, "127.0.0.1", to.name, "127.0.0.1", set.job.ports, lo, "");
      for (RouteLookup& lookup : pair.routes) lookup.type = "local";
      pair.same_machine = true;
      pair.neighbour.reset();
      set.pairs.push_back(pair);
    }
  }
  return set;
}

// ---- faults as they look from outside ----

// Nothing that `from` sends to `to` gets an answer. The link layer is left as it was.
inline void silence_one_way(EvidenceSet& set, const std::string& from, const std::string& to) {
  PairEvidence& broken = pair(set, from, to);
  for (PortTry& attempt : broken.ports) {
    const int port = attempt.port;
    attempt = PortTry{};
    attempt.port = port;
    attempt.listener = "up";
    attempt.result = "timeout";
    attempt.error = "ETIMEDOUT";
    attempt.took_ns = 1500 * kMilli;
  }
  if (broken.ping) {
    broken.ping->received = 0;
    broken.ping->rtt_ns.clear();
  }
  broken.mtu.reset();
  broken.quality.reset();
}
inline void silence(EvidenceSet& set, const std::string& a, const std::string& b) {
  silence_one_way(set, a, b);
  silence_one_way(set, b, a);
}
// All pairs of this host are silent.
inline void silence_host(EvidenceSet& set, const std::string& name) {
  for (const JobHost& peer : set.job.hosts) {
    if (peer.name != name) silence(set, name, peer.name);
  }
}

// Nobody answered when `from` asked for the hardware address of `to`.
inline void unresolve(EvidenceSet& set, const std::string& from, const std::string& to) {
  PairEvidence& broken = pair(set, from, to);
  if (broken.neighbour) {
    broken.neighbour->macs.clear();
    broken.neighbour->kernel_state = "FAILED";
    broken.neighbour->kernel_mac.clear();
  }
  for (NeighbourEvidence& entry : host(set, from).neighbours) {
    if (entry.ip != broken.to_ip) continue;
    entry.state = "FAILED";
    entry.mac.clear();
  }
}

// The sender's own system refuses to send: no route, or an errno from it.
inline void unroute(EvidenceSet& set, const std::string& from, const std::string& to,
                    const std::string& error) {
  silence(set, from, to);
  PairEvidence& broken = pair(set, from, to);
  for (RouteLookup& lookup : broken.routes) {
    lookup = RouteLookup{lookup.with_source, error, "", "", "", "", ""};
  }
  for (PortTry& attempt : broken.ports) {
    attempt.result = "unreachable";
    attempt.error = error;
    attempt.took_ns = 20 * kMicro;
  }
  broken.neighbour.reset();
}

}  // namespace plumbline::test
