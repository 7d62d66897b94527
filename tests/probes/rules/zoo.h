// Evidence of healthy networks, each of another kind.
#pragma once

#include <ostream>
#include <vector>

#include "evidence_builder.h"

namespace plumbline::test {

struct ZooRow {
  const char* name;
  EvidenceSet (*make)();
};
inline void PrintTo(const ZooRow& row, std::ostream* out) { *out << row.name; }  // NOLINT

inline std::vector<ZooRow> zoo() {
  return {
      {"Star", [] { return healthy_star(4); }},
      {"TwoHosts", [] { return healthy_star(2); }},
      {"Mesh", [] { return healthy_mesh(4); }},
      {"Local", [] { return healthy_local(2); }},
      {"RoutedSubnets",
       [] {
         ClusterBuilder builder;
         builder.data("a", "eth1", "10.10.1.1/24", "ethernet", "10.10.1.254");
         builder.data("b", "eth1", "10.10.1.2/24", "ethernet", "10.10.1.254");
         builder.data("c", "eth1", "10.10.2.1/24", "ethernet", "10.10.2.254");
         builder.data("d", "eth1", "10.10.2.2/24", "ethernet", "10.10.2.254");
         return builder.build();
       }},
      {"RoutedByDefaultGateway",
       [] {
         ClusterBuilder builder;
         builder.data("a", "eth1", "10.10.1.1/24", "ethernet", "10.10.1.254");
         builder.data("b", "eth1", "10.10.2.1/24", "ethernet", "10.10.2.254");
         EvidenceSet set = builder.build();
         for (HostEvidence& owner : set.hosts) {
           for (RouteEvidence& route : owner.routes) {
             if (!route.via.empty()) route.destination = "default";
           }
         }
         return set;
       }},
      {"Ipv6Only",
       [] {
         ClusterBuilder builder;
         for (const char* name : {"a", "b", "c"}) {
           builder.data(name, "eth0", std::string("fd00:10::") + name + "/64");
           builder.other(name, "eth0", std::string("fe80::") + name + "/64");
         }
         return builder.build();
       }},
      {"LinkLocalByChoice",
       [] {
         ClusterBuilder builder;
         builder.data("a", "bridge0", "169.254.10.1/16", "bridge");
         builder.data("b", "bridge0", "169.254.10.2/16", "bridge");
         return builder.build();
       }},
      {"Vlan",
       [] {
         ClusterBuilder builder;
         for (int i = 1; i <= 3; ++i) {
           const std::string name = "h" + std::to_string(i);
           builder.other(name, "eth1", "");
           builder.data(name, "eth1.100", "10.30.0." + std::to_string(i) + "/24", "vlan");
         }
         EvidenceSet set = builder.build();
         for (HostEvidence& owner : set.hosts) {
           for (InterfaceEvidence& interface : owner.interfaces) {
             if (interface.kind == "vlan") interface.parent = "eth1";
             if (interface.kind == "vlan") interface.speed_bps.reset();
           }
         }
         return set;
       }},
      {"Bond",
       [] {
         ClusterBuilder builder;
         for (int i = 1; i <= 3; ++i) {
           const std::string name = "h" + std::to_string(i);
           builder.data(name, "bond0", "10.40.0." + std::to_string(i) + "/24", "bond");
           builder.other(name, "eth1", "").other(name, "eth2", "");
         }
         EvidenceSet set = builder.build();
         for (HostEvidence& owner : set.hosts) {
           for (InterfaceEvidence& interface : owner.interfaces) {
             if (interface.kind != "ethernet") continue;
             interface.master = "bond0";
             interface.master_kind = "bond";
             interface.port_state = interface.name == "eth1" ? "ACTIVE" : "BACKUP";
             interface.mac = owner.interfaces[1].mac;
           }
         }
         return set;
       }},
      {"BridgeWithAddress",
       [] {
         ClusterBuilder builder;
         for (int i = 1; i <= 3; ++i) {
           const std::string name = "h" + std::to_string(i);
           builder.data(name, "br0", "10.50.0." + std::to_string(i) + "/24", "bridge");
           builder.other(name, "eth1", "");
         }
         EvidenceSet set = builder.build();
         for (HostEvidence& owner : set.hosts) {
           for (InterfaceEvidence& interface : owner.interfaces) {
             if (interface.name != "eth1") continue;
             interface.master = "br0";
             interface.master_kind = "bridge";
             interface.port_state = "forwarding";
           }
         }
         return set;
       }},
      {"JumboFrames",
       [] {
         EvidenceSet set = healthy_star(3);
         for (HostEvidence& owner : set.hosts) nic(set, owner.name, "eth1").mtu = 9000;
         for (PairEvidence& pair : set.pairs) {
           pair.mtu->interface_mtu = pair.mtu->largest_delivered = 9000;
         }
         return set;
       }},
      {"DockerVpnAndSecondCard",
       [] {
         ClusterBuilder builder;
         for (int i = 1; i <= 3; ++i) {
           const std::string name = "mini" + std::to_string(i), last = std::to_string(i);
           builder.data(name, "eth1", "10.10.0." + last + "/24");
           builder.other(name, "docker0", "172.17.0.1/16", "bridge");
           builder.other(name, "wg0", "10.8.0." + last + "/24", "tunnel");
           builder.other(name, "tun0", "10.0.0." + last + "/8", "tunnel");
           builder.other(name, "eth2", "192.168.50." + last + "/24");
           builder.other(name, "eth3", "");
         }
         EvidenceSet set = builder.build();
         for (HostEvidence& owner : set.hosts) {
           nic(set, owner.name, "docker0").carrier = false;
           nic(set, owner.name, "eth3").up = false;
           nic(set, owner.name, "eth3").carrier.reset();
           nic(set, owner.name, "wg0").arp = false;
           RouteEvidence route;
           route.destination = "default";
           route.type = "unicast";
           route.dev = "eth2";
           route.via = "192.168.50.254";
           route.table = "main";
           owner.routes.push_back(route);
         }
         return set;
       }},
      {"OnlyCardIsTheDefaultRoute",
       [] {
         ClusterBuilder builder;
         for (int i = 1; i <= 3; ++i) {
           builder.data("h" + std::to_string(i), "eth0",
                        "192.168.1." + std::to_string(10 + i) + "/24");
         }
         EvidenceSet set = builder.build();
         for (HostEvidence& owner : set.hosts) {
           RouteEvidence route;
           route.destination = "default";
           route.type = "unicast";
           route.dev = "eth0";
           route.via = "192.168.1.1";
           route.table = "main";
           owner.routes.push_back(route);
         }
         return set;
       }},
      {"NoPrefixInTheHostFile",
       [] {
         EvidenceSet set = healthy_star(3);
         for (JobHost& job : set.job.hosts) job.data[0] = ip_of(job.data[0]);
         return set;
       }},
      {"PingBlocked",
       [] {
         EvidenceSet set = healthy_star(3);
         for (PairEvidence& pair : set.pairs) {
           pair.ping->received = 0;
           pair.ping->rtt_ns.clear();
         }
         return set;
       }},
      {"NamespacesOfOneMachine",
       [] {
         EvidenceSet set = healthy_star(4);
         for (HostEvidence& owner : set.hosts) {
           owner.hostname = "vm";
           owner.boot_id = "one";
           owner.load1 = 7.5;
           owner.names = {{"vm", "own", "", {"127.0.1.1"}, {}, "", kMilli}};
           for (InterfaceEvidence& interface : owner.interfaces) {
             if (interface.kind == "ethernet") interface.kind = "veth";
             interface.speed_bps.reset();
             interface.speed_max_bps.reset();
           }
         }
         for (JobHost& job : set.job.hosts) job.reached_by = "netns";
         return set;
       }},
      {"NetworkRoutedToLoopbackAddresses",
       [] {
         // Every host has its data address on lo, and a route to the others over its card.
         EvidenceSet set = healthy_star(3);
         for (size_t i = 0; i < set.hosts.size(); ++i) {
           HostEvidence& owner = set.hosts[i];
           const std::string ip = "10.99.0." + std::to_string(i + 1);
           set.job.hosts[i].data = {ip + "/32"};
           AddressEvidence address;
           address.ip = ip;
           address.prefix = 32;
           address.scope = "global";
           owner.interfaces[0].addresses.push_back(address);
           owner.names[0].v4 = {ip};
         }
         for (PairEvidence& pair : set.pairs) {
           pair.from_ip = "10.99.0." + pair.from.substr(4);
           pair.to_ip = "10.99.0." + pair.to.substr(4);
           for (RouteLookup& lookup : pair.routes) lookup.via = "10.10.0." + pair.to.substr(4);
           pair.neighbour->on_link = false;
           pair.neighbour->macs.clear();
         }
         return set;
       }},
  };
}

}  // namespace plumbline::test
