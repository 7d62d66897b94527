#include <algorithm>
#include <optional>
#include <set>

#include "core/clock.h"
#include "core/host/ip.h"
#include "probes/sources/collected.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

struct PairPlace {
  const InterfaceEvidence* interface = nullptr;
  const AddressEvidence* address = nullptr;
  explicit operator bool() const { return address != nullptr; }
};

PairPlace find_address(const HostEvidence& host, const std::string& ip) {
  for (const InterfaceEvidence& interface : host.interfaces) {
    for (const AddressEvidence& address : interface.addresses) {
      if (address.ip == ip) return {&interface, &address};
    }
  }
  return {};
}

// The host's address in whose subnet `ip` lies.
PairPlace find_neighbour_address(const HostEvidence& host, const std::string& ip) {
  for (const InterfaceEvidence& interface : host.interfaces) {
    if (interface.kind == "loopback") continue;
    for (const AddressEvidence& address : interface.addresses) {
      if (same_subnet(address.ip, ip, address.prefix)) return {&interface, &address};
    }
  }
  return {};
}

const CollectedSection* find_section(const CollectedFile& file, const std::string& name,
                                     const std::string& address, const std::string& port = {}) {
  for (const CollectedSection& section : file.sections) {
    if (section.name != name || section.args.empty() || section.args[0] != address) continue;
    if (port.empty() || (section.args.size() >= 2 && section.args[1] == port)) return &section;
  }
  return nullptr;
}

struct Ends {
  std::string from_ip, to_ip;
  bool known() const { return !from_ip.empty() || !to_ip.empty(); }
};

// The address with which `file`'s host reaches `peer`: of the interface in the same subnet, or else
// the one that its route lookup named.
std::string own_end(const CollectedFile& file, const HostEvidence& host, const std::string& peer) {
  if (const PairPlace place = find_neighbour_address(host, peer)) return place.address->ip;
  const CollectedSection* route = find_section(file, "route", peer);
  if (route == nullptr) return {};
  const std::string source = parse_route_get(*route).source;
  return find_address(host, source) ? source : std::string();
}

// By what somebody named on the command line: `a` tried an address that `b` has. `alone`: the two
// are all there is, so that an address which nobody has must be meant for `b`.
Ends by_peer(const CollectedFile& file, const HostEvidence& a, const HostEvidence& b, bool alone) {
  for (const std::string& peer : file.peers) {
    if (find_address(b, peer)) return {own_end(file, a, peer), peer};
  }
  if (alone && !file.peers.empty()) {
    return {own_end(file, a, file.peers.front()), file.peers.front()};
  }
  return {};
}

// How well an address serves as a data address: real cards first, link-local and fe80 last.
int rank(const PairPlace& place) {
  int value = 0;
  if (place.address->scope == "link" || is_link_local_ip(place.address->ip)) value += 4;
  if (!place.interface->up) value += 2;
  const std::string& kind = place.interface->kind;
  if (kind == "tunnel" || kind == "virtual" || kind == "wifi") value += 1;
  return value;
}

// Any two addresses in one subnet.
Ends by_subnet(const HostEvidence& a, const HostEvidence& b) {
  Ends best;
  int best_rank = 1000;
  for (const InterfaceEvidence& interface : a.interfaces) {
    if (interface.kind == "loopback") continue;
    for (const AddressEvidence& address : interface.addresses) {
      const PairPlace other = find_neighbour_address(b, address.ip);
      // The same address on both is a bridge of containers that every host has.
      if (!other || other.address->ip == address.ip) continue;
      const int value = rank({&interface, &address}) + rank(other);
      if (value < best_rank) {
        best_rank = value;
        best = {address.ip, other.address->ip};
      }
    }
  }
  return best;
}

// What either of them was told counts for both directions.
Ends ends_of(const CollectedFile& file, const CollectedFile& other_file, const HostEvidence& from,
             const HostEvidence& to, bool only_two) {
  for (const bool alone : {false, true}) {
    if (alone && !only_two) break;
    const Ends ends = by_peer(file, from, to, alone);
    if (ends.known()) return ends;
    const Ends back = by_peer(other_file, to, from, alone);
    if (back.known()) return {back.to_ip, back.from_ip};
  }
  return by_subnet(from, to);
}

bool same_host(const HostEvidence& a, const HostEvidence& b) {
  const auto cards = [](const HostEvidence& host) {
    std::set<std::string> out;
    for (const InterfaceEvidence& interface : host.interfaces) {
      if (!interface.mac.empty()) out.insert(interface.mac);
    }
    return out;
  };
  const auto own = cards(a);
  return !own.empty() && own == cards(b) && a.boot_id == b.boot_id;
}

NeighbourProbe neighbour_of(const HostEvidence& host, const Ends& ends,
                            const std::vector<RouteLookup>& routes) {
  NeighbourProbe out;
  out.method = "kernel";
  if (const PairPlace place = find_address(host, ends.from_ip)) out.dev = place.interface->name;
  for (const RouteLookup& route : routes) {
    if (!route.via.empty()) out.on_link = false;
  }
  for (const NeighbourEvidence& entry : host.neighbours) {
    if (entry.ip != ends.to_ip) continue;
    out.dev = entry.dev;
    out.kernel_state = entry.state;
    out.kernel_mac = entry.mac;
    if (!entry.mac.empty()) out.macs = {entry.mac};
    return out;
  }
  out.error = "the kernel has no entry for this address";
  return out;
}

PairEvidence pair_of(const CollectedFile& file, const HostEvidence& a, const HostEvidence& b,
                     const Ends& ends, const std::vector<int>& ports) {
  PairEvidence out;
  out.from = a.name;
  out.to = b.name;
  out.from_ip = ends.from_ip;
  out.to_ip = ends.to_ip;
  out.same_machine = same_host(a, b);
  if (!ends.known()) {
    out.skipped =
        "these hosts have no two addresses in one subnet, and collect.sh was not told "
        "which to try (--peer)";
    return out;
  }
  if (const auto* route = find_section(file, "route", ends.to_ip)) {
    out.routes.push_back(parse_route_get(*route));
  }
  if (const auto* ping = find_section(file, "ping", ends.to_ip)) {
    out.ping = parse_ping(*ping);
    out.neighbour = neighbour_of(a, ends, out.routes);
  }
  if (const auto* large = find_section(file, "ping-large", ends.to_ip)) {
    out.mtu = parse_large_ping(*large);
    // Where no echo comes back at all, large ones say nothing about sizes.
    if (out.ping && out.ping->received == 0 && out.mtu->told == 0) {
      out.mtu->smallest_lost = 0;
      out.mtu->error = "no echo of any size comes back";
    }
  }
  for (const int port : ports) {
    const auto* tried = find_section(file, "connect", ends.to_ip, std::to_string(port));
    PortTry attempt;
    if (tried != nullptr) attempt = parse_connect(*tried);
    attempt.port = port;
    out.ports.push_back(std::move(attempt));
  }
  if (!out.ping && out.routes.empty()) {
    out.skipped = "collect.sh did not try this address there (--peer " + ends.to_ip + ")";
  }
  return out;
}

void plan_ports(const std::vector<CollectedFile>& files, Job& job) {
  std::set<int> ports;
  for (const CollectedFile& file : files) ports.insert(file.ports.begin(), file.ports.end());
  if (ports.empty()) {
    ports.insert(job.master_port);
    for (int rank = 0; rank < job.ranks; ++rank) ports.insert(job.port_base + rank);
  }
  job.ports.assign(ports.begin(), ports.end());
  if (ports.count(job.master_port) == 0) job.master_port = job.ports.front();
  for (const int port : job.ports) {
    if (port == job.master_port) continue;
    job.port_base = port;  // the first of the others
    break;
  }
}

void add_data_address(const HostEvidence& host, const std::string& ip, JobHost& job_host) {
  if (ip.empty()) return;
  const PairPlace place = find_address(host, ip);
  const std::string text = place ? ip + "/" + std::to_string(place.address->prefix) : ip;
  add_once(job_host.data, text);
}

}  // namespace

EvidenceSet join_collected(const std::vector<CollectedFile>& files,
                           std::vector<HostEvidence> hosts) {
  EvidenceSet out;
  out.suite_version = PLUMBLINE_VERSION;
  out.time = files.empty() ? utc_now_rfc3339() : files.front().time;
  out.hosts = std::move(hosts);
  out.job.ranks = static_cast<int>(out.hosts.size());
  plan_ports(files, out.job);
  for (const HostEvidence& host : out.hosts) {
    JobHost job_host;
    job_host.name = host.name;
    job_host.reached_by = "file";
    out.job.hosts.push_back(std::move(job_host));
  }
  for (size_t a = 0; a < files.size(); ++a) {
    for (size_t b = 0; b < files.size(); ++b) {
      if (a == b) continue;
      const HostEvidence &from = out.hosts[a], &to = out.hosts[b];
      const Ends ends = ends_of(files[a], files[b], from, to, files.size() == 2);
      add_data_address(from, ends.from_ip, out.job.hosts[a]);
      add_data_address(to, ends.to_ip, out.job.hosts[b]);
      out.pairs.push_back(pair_of(files[a], from, to, ends, out.job.ports));
    }
  }
  return out;
}

}  // namespace plumbline
