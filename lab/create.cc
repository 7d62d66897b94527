#include "lab/create.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/number.h"
#include "core/shell_words.h"
#include "lab/address.h"
#include "lab/firewall.h"
#include "lab/lab_files.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

// A bucket of 2 ms of the rate: small against any measurement, large enough for the timers. The
// queue behind it holds 20 ms.
constexpr double kBucketSeconds = 0.002;
constexpr double kLeastBucket = 16'000, kMostBucket = 1'000'000;  // bytes

std::string script_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

// A veth pair across two namespaces, made at once, so that no end is ever in another namespace.
std::string veth_command(const std::string& netns, const std::string& name, const std::string& mac,
                         const std::string& peer_netns, const std::string& peer_name,
                         const std::string& peer_mac, int mtu) {
  const std::string peer_address = peer_mac.empty() ? "" : " address " + peer_mac;
  return fmt::format(
      "ip link add {} mtu {} address {} netns {} type veth peer name {} mtu {}{} netns {}", name,
      mtu, mac, netns, peer_name, mtu, peer_address, peer_netns);
}

std::vector<std::string> carrier_commands(const Lab& lab, const LabHost& host,
                                          const LabLink& link) {
  const std::string& kind = lab.topology.carrier;
  if (kind == "direct") return {};
  const auto ip = [&](const std::string& command) { return ip_in(host.netns, command); };
  if (kind == "bridge") {
    return {ip(fmt::format("link show dev {} >/dev/null 2>&1", link.interface)) + " || " +
                ip(fmt::format("link add {} type bridge", link.interface)),
            ip(fmt::format("link set {} master {} up", link.nic, link.interface)),
            ip(fmt::format("link set {} mtu {}", link.interface, lab.topology.mtu))};
  }
  if (kind == "macvlan") {
    // The card below would answer ARP for the address as well, and packets to it then come in by
    // the card: a filter at the macvlan would stop only some.
    return {
        in_netns(host.netns, "sysctl -qw net.ipv4.conf.all.arp_ignore=1"),
        ip(fmt::format("link set {} up", link.nic)),
        ip(fmt::format("link add {} link {} type macvlan mode bridge", link.interface, link.nic))};
  }
  if (kind == "vlan") {
    const int id = 2 + static_cast<int>(lab.seed % 4000);
    return {ip(fmt::format("link set {} up", link.nic)),
            ip(fmt::format("link add {} link {} type vlan id {}", link.interface, link.nic, id))};
  }
  return {ip(fmt::format("link add {} type bond mode active-backup miimon 100", link.interface)),
          ip(fmt::format("link set {} master {}", link.nic, link.interface))};
}

std::vector<std::string> other_commands(const Lab& lab, size_t index, const std::string& what) {
  const LabHost& host = lab.hosts[index];
  const auto ip = [&](const std::string& command) { return ip_in(host.netns, command); };
  if (what == "docker") {  // as its daemon leaves it on every machine: the same everywhere
    return {ip("link add docker0 type bridge"), ip("address add 172.17.0.1/16 dev docker0"),
            ip("link set docker0 up")};
  }
  if (what == "vpn") {
    return {ip("tuntap add dev tun0 mode tun"),
            ip(fmt::format("address add 100.64.7.{}/10 dev tun0", index + 1)),
            ip("link set tun0 up")};
  }
  // An ordinary office network with the default route.
  const std::string port = fmt::format("o{}", index + 1);
  return {fmt::format("ip link add enp9s0 netns {} type veth peer name {} netns {}", host.netns,
                      port, lab.switch_netns),
          ip_in(lab.switch_netns, "link set {} master office up", port),
          ip(fmt::format("address add 203.0.113.{}/24 dev enp9s0", index + 1)),
          ip("link set enp9s0 up"), ip("route add default via 203.0.113.254 dev enp9s0")};
}

CreationStep switch_step(const Lab& lab) {
  std::vector<std::string> lines;
  const std::string& netns = lab.switch_netns;
  const bool routed = lab.topology.shape == "routed";
  lines.push_back(ip_in(netns, "link set lo up"));
  // The switch itself speaks no IP, and hands bridged packets to no IP filter.
  if (!routed) lines.push_back(in_netns(netns, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1"));
  lines.push_back(in_netns(netns,
                           "sysctl -qe -w net.bridge.bridge-nf-call-iptables=0 "
                           "net.bridge.bridge-nf-call-ip6tables=0 "
                           "net.bridge.bridge-nf-call-arptables=0"));
  std::set<std::string> done;
  for (const LabHost& host : lab.hosts) {
    const LabLink& link = host.links.front();
    if (!done.insert(link.bridge).second) continue;
    lines.push_back(ip_in(netns, "link add {} type bridge", link.bridge));
    lines.push_back(ip_in(netns, "link set {} mtu {} up", link.bridge, lab.topology.mtu));
    if (!routed) continue;
    lines.push_back(ip_in(netns, "address add {}/{} dev {}{}", link.gateway, prefix_of(link.subnet),
                          link.bridge, is_v6(link.gateway) ? " nodad" : ""));
  }
  if (routed) {
    lines.push_back(in_netns(netns, "sysctl -qw net.ipv4.ip_forward=1"));
    lines.push_back(in_netns(netns, "sysctl -qw net.ipv6.conf.all.forwarding=1"));
  }
  const auto& others = lab.topology.others;
  if (std::count(others.begin(), others.end(), "second_nic") > 0) {
    lines.push_back(ip_in(netns, "link add office type bridge"));
    lines.push_back(ip_in(netns, "link set office up"));
  }
  return {"switch", script_of(lines)};
}

CreationStep control_step(const Lab& lab) {
  std::vector<std::string> lines = {
      ip_in(lab.control_netns, "link set lo up"),
      ip_in(lab.control_netns, "link add {} type bridge", lab.control_bridge),
      ip_in(lab.control_netns, "link set {} up", lab.control_bridge)};
  for (const LabHost& host : lab.hosts) {
    lines.push_back(veth_command(host.netns, host.control_interface, host.control_mac,
                                 lab.control_netns, host.control_port, "", 1500));
    lines.push_back(ip_in(lab.control_netns, "link set {} master {} up", host.control_port,
                          lab.control_bridge));
    lines.push_back(ip_in(host.netns, "address add {} dev {}{}", host.control,
                          host.control_interface, is_v6(host.control) ? " nodad" : ""));
    lines.push_back(ip_in(host.netns, "link set {} up", host.control_interface));
  }
  return {"control network", script_of(lines)};
}

CreationStep host_step(const Lab& lab, size_t index) {
  const LabHost& host = lab.hosts[index];
  std::vector<std::string> lines = {ip_in(host.netns, "link set lo up")};
  for (const LabLink& link : host.links) {
    // A link of a mesh is made when its second host comes.
    const LabHost* peer = link.peer.empty() ? nullptr : find_lab_host(lab, link.peer);
    if (peer != nullptr && peer > &host) continue;
    append(lines, make_link_commands(lab, host, link));
  }
  for (const std::string& what : lab.topology.others) {
    append(lines, other_commands(lab, index, what));
  }
  append(lines, healthy_firewall_commands(lab, index));
  const std::string folder = names_folder(host);
  lines.push_back("mkdir -p " + folder);
  lines.push_back("printf %s " + shell_quoted(names_text(lab, host)) + " > " + folder + "/hosts");
  // Names come from that file alone: nothing in a lab asks a name server outside.
  lines.push_back(
      "printf 'passwd: files\\ngroup: files\\nhosts: files\\nservices: files\\n"
      "protocols: files\\n' > " +
      folder + "/nsswitch.conf");
  return {"host " + host.name, script_of(lines)};
}

}  // namespace

double rate_bps(const std::string& rate) {
  std::string_view rest = rate;
  const double number = take_decimal(rest).value_or(0);
  const char unit = rest.empty() ? ' ' : rest.front();
  return number * (unit == 'T' ? 1e12 : unit == 'G' ? 1e9 : unit == 'M' ? 1e6 : 1e3);
}

std::string shape_command(const std::string& netns, const std::string& interface,
                          const std::string& rate) {
  const double bucket = std::clamp(rate_bps(rate) / 8 * kBucketSeconds, kLeastBucket, kMostBucket);
  return fmt::format("tc -n {} qdisc replace dev {} root tbf rate {} burst {} latency 20ms", netns,
                     interface, rate, static_cast<long>(bucket));
}

std::string address_command(const LabHost& host, const LabLink& link) {
  return ip_in(host.netns, "address replace {} dev {}{}", link.data, link.interface,
               is_v6(link.data) ? " nodad" : "");
}

std::vector<std::string> route_commands(const Lab& lab, const LabHost& host, const LabLink& link) {
  std::vector<std::string> out;
  if (link.gateway.empty()) return out;
  for (const LabHost& other : lab.hosts) {
    const std::string& subnet = other.links.front().subnet;
    if (subnet == link.subnet) continue;
    const std::string command =
        ip_in(host.netns, "route replace {} via {} dev {}", subnet, link.gateway, link.interface);
    if (out.empty() || out.back() != command) out.push_back(command);
  }
  return out;
}

std::vector<std::string> configure_commands(const Lab& lab, const LabHost& host,
                                            const LabLink& link) {
  std::vector<std::string> out = carrier_commands(lab, host, link);
  if (lab.topology.family == "link_local6") {  // the chosen address alone
    out.push_back(ip_in(host.netns, "link set {} addrgenmode none", link.interface));
  }
  out.push_back(address_command(host, link));
  out.push_back(ip_in(host.netns, "link set {} up", link.interface));
  append(out, route_commands(lab, host, link));
  return out;
}

std::vector<std::string> make_link_commands(const Lab& lab, const LabHost& host,
                                            const LabLink& link) {
  const LabTopology& topology = lab.topology;
  std::vector<std::string> out;
  std::string peer_netns = lab.switch_netns, peer_name = link.port;
  if (!link.peer.empty()) {
    const LabHost& peer = *find_lab_host(lab, link.peer);
    const LabLink& back = far_end(lab, link);
    peer_netns = peer.netns;
    peer_name = back.nic;
    out.push_back(veth_command(host.netns, link.nic, link.mac, peer_netns, peer_name, back.mac,
                               topology.mtu));
    append(out, configure_commands(lab, peer, back));
  } else {
    // Fixed as well, so that a cable that was pulled comes back the same.
    const std::string port_mac = "06" + link.mac.substr(2);
    out.push_back(veth_command(host.netns, link.nic, link.mac, peer_netns, peer_name, port_mac,
                               topology.mtu));
    out.push_back(ip_in(peer_netns, "link set {} master {} up", link.port, link.bridge));
  }
  append(out, configure_commands(lab, host, link));
  if (!topology.rate.empty()) {
    out.push_back(shape_command(host.netns, link.nic, topology.rate));
    out.push_back(shape_command(peer_netns, peer_name, topology.rate));
  }
  return out;
}

std::vector<std::string> lab_namespaces(const Lab& lab) {
  std::vector<std::string> out;
  for (const LabHost& host : lab.hosts) out.push_back(host.netns);
  if (!lab.switch_netns.empty()) out.push_back(lab.switch_netns);
  if (!lab.control_netns.empty() && lab.control_netns != lab.switch_netns) {
    out.push_back(lab.control_netns);
  }
  append(out, lab.extra_netns);
  return out;
}

std::string settle_command(const std::string& netns) {
  // The kernel tells of a carrier that came back up to a second later.
  return "for i in $(seq 60); do " + ip_in(netns, "-o link show up") +
         " | grep -q LOWERLAYERDOWN || break; sleep 0.05; done";
}

std::vector<CreationStep> creation_steps(const Lab& lab) {
  std::vector<CreationStep> steps;
  std::string add;
  for (const std::string& netns : lab_namespaces(lab)) add += "ip netns add " + netns + "\n";
  steps.push_back({"namespaces", add});
  if (!lab.switch_netns.empty()) steps.push_back(switch_step(lab));
  for (size_t i = 0; i < lab.hosts.size(); ++i) steps.push_back(host_step(lab, i));
  if (!lab.control_netns.empty()) steps.push_back(control_step(lab));
  std::string settle;
  for (const LabHost& host : lab.hosts) settle += settle_command(host.netns) + "\n";
  steps.push_back({"carrier of all hosts", settle});
  return steps;
}

}  // namespace plumbline
