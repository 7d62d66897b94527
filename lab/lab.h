// Virtual clusters on one Linux machine (root): every host is a network namespace, the switch is a
// namespace with a bridge (star) or with two bridges and a router between them (routed), or there
// is a veth pair per pair of hosts (mesh), optionally shaped. Faults are injected by name and
// healed (fault.h). Everything a lab makes carries a prefix of its own ("pl-") and is listed in a
// state file under /run/plumbline before it is made, so that `down` removes all of it, also after a
// crash; nothing outside its own namespaces is ever changed. (Their files of names stand in
// /etc/netns/NAMESPACE, where `ip netns exec` looks for them.) Names, subnets, MACs, ports and rule
// shapes are drawn from a seed that is printed, so that no diagnosis can lean on a name.
// Linux only: elsewhere lab_up answers kUnsupported. Functions may be called from several processes
// at the same time (locks on files); one Lab value belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

namespace plumbline {

// One data link of a host. What `peer` is empty for leads to every other host (star, routed).
struct LabLink {
  std::string data;          // "10.10.0.1/24"
  std::string interface;     // carrying that address
  std::string nic;           // veth below it; the same as `interface` when carrier is "direct"
  std::string mac;           // of the veth
  std::string peer;          // mesh: name of the host at the other end
  std::string port, bridge;  // star, routed: other end of the veth and its bridge, in the switch
  std::string subnet;        // "10.10.0.0/24"
  std::string gateway;       // routed: address of the router in this subnet
};

struct LabHost {
  std::string name;   // as in the host file
  std::string netns;  // namespace, unique on this machine
  std::vector<LabLink> links;
  std::string control;  // "10.99.0.1/24", address of the control network; may be empty
  std::string control_interface, control_mac, control_port;  // the last one in the switch
  bool names_interface = false;  // the host file says which interface carries the data address
};

// What a topology file says. Empty texts are drawn from the seed, or mean "without".
struct LabTopology {
  std::string name = "lab";         // [a-z0-9-], at most 32
  std::string shape = "star";       // "star" | "mesh" | "routed" (two subnets and a router)
  int size = 4;                     // hosts, 2 ... 12
  int cables = 1;                   // mesh: between every two hosts, 1 ... 4, a subnet each
  std::vector<std::string> hosts;   // their names; drawn when empty
  std::string family = "ipv4";      // "ipv4" | "ipv6" | "link_local" (169.254/16) | "link_local6"
  std::string data, control;        // subnets; data is drawn when empty, control only made if set
  std::string rate;                 // "1Gbit" on both ends of every data link; empty = unshaped
  int mtu = 1500;                   // of every data interface
  std::string carrier = "direct";   // "direct" | "bridge" | "macvlan" | "vlan" | "bond"
  std::string firewall;             // "" | "default_deny" | "firewalld": on every host, with the
                                    // right rule for `ports`
  std::string ping = "answered";    // "answered" | "blocked"
  std::vector<std::string> others;  // further interfaces: "docker", "vpn", "second_nic"
  bool unprivileged = false;        // agents run as nobody
  std::string ports;                // of the job, "29500,29600-29603"; drawn only by the matrix
};
// Unknown keys, wrong types, impossible subnets: one Error with the path of the key.
Expected<LabTopology> parse_topology(const std::string& text, const std::string& file);
// The same for a topology that was made in code: what is wrong with it, or empty.
std::string topology_problem(const LabTopology& topology);

struct Lab {
  std::string name, folder;  // /run/plumbline/<name>
  std::string hosts_file;    // the host file that was written
  LabTopology topology;
  uint64_t seed = 0;
  std::vector<LabHost> hosts;
  std::string switch_netns;              // star, routed: where the bridges are; mesh: empty
  std::vector<std::string> bridges;      // data bridges in the switch
  std::string control_bridge;            // in the switch
  std::string control_netns;             // where the control bridge is; empty = no control network
  std::vector<int> ports;                // of the job, ascending
  std::vector<std::string> extra_netns;  // made by faults, removed with the lab
};

// What a lab of this topology and seed looks like: all names and addresses, nothing made yet. Names
// for which `taken` says true are drawn again. Pure.
Lab lay_out(const LabTopology& topology, uint64_t seed,
            const std::function<bool(const std::string& netns)>& taken = {});

// Makes it. Removes again what it made when it fails or when `stop` says so between two steps
// (kInterrupted). kConfig with a hint when a lab of that name is up already; kUnsupported where
// this system cannot (no root, no namespaces, no such device type), in one line.
Expected<Lab> lab_up(const LabTopology& topology, uint64_t seed,
                     const std::function<bool()>& stop = {});
// A lab that is up, from its state file; "" = the only one.
Expected<Lab> lab_open(const std::string& name);
// Removes everything that belongs to the lab of this name, also when `up` or a fault was cut short.
Status lab_down(const std::string& name);
std::vector<std::string> lab_names();
// Why this system or user cannot have labs, in one line.
Status lab_system();

const LabHost* find_lab_host(const Lab& lab, const std::string& name);
// The link of `host` on which `peer` is reached; the first one when peer is empty.
const LabLink& link_to(const LabHost& host, const std::string& peer);
// The other end of a cable of a mesh, on the host `link.peer`.
const LabLink& far_end(const Lab& lab, const LabLink& link);

}  // namespace plumbline
