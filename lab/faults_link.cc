// Cables, cards, ports of the switch, MTU of a card; cables of a mesh that are missing, or plugged
// into the wrong cards.
#include <fmt/format.h>

#include "lab/address.h"
#include "lab/create.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

constexpr int kFlaps = 12;

std::string needs_plain_card(const Lab& lab) {
  return lab.topology.carrier == "direct" ? "" : "needs carrier \"direct\"";
}
std::string needs_cable_to_switch(const Lab& lab) {
  return first_reason({needs_switch(lab), needs_plain_card(lab)});
}
std::string needs_bridged_host(const Lab& lab) {
  return lab.topology.carrier == "bridge" ? "" : "needs carrier \"bridge\"";
}
std::string needs_bridge_between(const Lab& lab) {
  return first_reason({needs_star(lab), needs_plain_card(lab)});
}

// Commands that pull the cable out and put it in again: the only way to reset a card's counters.
std::vector<std::string> replace_cable(const FaultMaker& maker) {
  std::vector<std::string> out = {
      ip_in(maker.host.netns, "link del {} 2>/dev/null || true", maker.link.nic)};
  append(out, make_link_commands(maker.lab, maker.host, maker.link));
  out.push_back(settle_command(maker.host.netns));
  return out;
}

// What the kernel forgets when an interface goes down.
std::vector<std::string> up_again(const FaultMaker& maker) {
  std::vector<std::string> out = {ip_in(maker.host.netns, "link set {} up", maker.link.interface),
                                  address_command(maker.host, maker.link)};
  append(out, route_commands(maker.lab, maker.host, maker.link));
  return out;
}

void link_down(FaultMaker& maker) {
  maker.step(ip_in(maker.host.netns, "link set {} down", maker.link.interface));
  maker.undo(up_again(maker));
  maker.how("{} set down on {}", maker.link.interface, maker.host.name);
  maker.expect_host_cause({"link.down"});
  // IPv6 addresses and routes through a router do not come back by themselves.
  maker.plan.injected.remedy_is_local = !maker.routed() && !maker.v6();
}

void no_carrier(FaultMaker& maker) {
  maker.step(ip_in(maker.lab.switch_netns, "link set {} down", maker.link.port));
  maker.undo(ip_in(maker.lab.switch_netns, "link set {} up", maker.link.port));
  maker.how("switch port of " + maker.host.name + " set down");
  maker.expect_host_cause({"link.no_carrier"}).remedy_elsewhere();
}

void link_missing(FaultMaker& maker) {
  maker.step(ip_in(maker.host.netns, "link del {}", maker.link.nic));
  maker.undo(replace_cable(maker));
  maker.how("{} removed from {}", maker.link.nic, maker.host.name);
  // Another card that is up could carry the address: then only the address is known to be gone.
  const bool other_card =
      !maker.host.control_interface.empty() || !maker.lab.topology.others.empty();
  if (maker.host.names_interface || !other_card) {
    maker.expect_host_cause({"link.missing"});
  } else {
    maker.expect_host_cause({"ip.missing"});
  }
  maker.plan.injected.remedy_is_local = false;
}

void link_renamed(FaultMaker& maker) {
  const std::string fresh = "ren" + maker.draw.hex(4);
  const std::string& netns = maker.host.netns;
  LabLink renamed = maker.link;
  renamed.interface = renamed.nic = fresh;
  maker.step(ip_in(netns, "link set {} down", maker.link.nic));
  maker.step(ip_in(netns, "link set {} name {}", maker.link.nic, fresh));
  for (const std::string& command : configure_commands(maker.lab, maker.host, renamed)) {
    maker.step(command);
  }
  std::vector<std::string> undo = {ip_in(netns, "link set {} down", fresh),
                                   ip_in(netns, "link set {} name {}", fresh, maker.link.nic)};
  append(undo, configure_commands(maker.lab, maker.host, maker.link));
  maker.undo(undo);
  maker.plan.injected.host_file = {{maker.host.name, "interface", "\"" + maker.link.nic + "\""}};
  maker.how("{} of {} is called {} now", maker.link.nic, maker.host.name, fresh);
  // The host file is to be corrected.
  maker.expect_host_cause({"link.missing"}).warn().remedy_elsewhere();
}

void link_flapping(FaultMaker& maker) {
  // The far end loses its signal again and again, and then stays.
  std::string script;
  for (int i = 0; i < kFlaps; ++i) {
    script += ip_in(maker.lab.switch_netns, "link set {} down", maker.link.port) + "\n";
    script += ip_in(maker.lab.switch_netns, "link set {} up", maker.link.port) + "\n";
  }
  maker.step(script);
  maker.step(settle_command(maker.host.netns));
  maker.undo(replace_cable(maker));
  maker.how("cable of {} lost its signal {} times", maker.host.name, kFlaps);
  maker.expect_host_cause({"link.flapping"}).warn().remedy_elsewhere();
}

// While doctor looks, at a rhythm and from an end that are drawn. IPv6 addresses do not survive it
// at the host's own end, nor do routes through a router.
void link_toggling(FaultMaker& maker) {
  const std::string seconds = maker.draw.pick({"0.1", "0.5", "1", "2"});
  const bool own_end = !maker.v6() && !maker.routed() && maker.draw.coin();
  const std::string& netns = own_end ? maker.host.netns : maker.lab.switch_netns;
  const std::string& end = own_end ? maker.link.nic : maker.link.port;
  const std::string change = "ip link set " + end + " ";
  FaultHelper helper;
  helper.netns = netns;
  helper.argv = {"sh", "-c",
                 fmt::format("echo ready; while {0}down; do sleep {1}; {0}up; sleep {1}; done",
                             change, seconds)};
  maker.plan.helpers = {helper};
  maker.step(ip_in(netns, "link set {} down", end));
  maker.undo(replace_cable(maker));
  maker.how("{} of {} goes down and up every {} s", end, own_end ? maker.host.name : "the switch",
            seconds);
  maker.expect_host_cause({"link.flapping"}).warn().remedy_elsewhere();
}

void not_in_bridge(FaultMaker& maker) {
  maker.step(
      ip_in(maker.host.netns, "link set {} nomaster", maker.link.nic),
      ip_in(maker.host.netns, "link set {} master {}", maker.link.nic, maker.link.interface));
  maker.how("{} taken out of {} on {}", maker.link.nic, maker.link.interface, maker.host.name);
  maker.expect_host_cause({"link.not_in_bridge"});
}

void port_detached(FaultMaker& maker) {
  maker.step(
      ip_in(maker.lab.switch_netns, "link set {} nomaster", maker.link.port),
      ip_in(maker.lab.switch_netns, "link set {} master {}", maker.link.port, maker.link.bridge));
  maker.how("switch port of " + maker.host.name + " taken out of the bridge");
  maker.expect_host_cause({"neighbour.unresolved", "link.not_in_bridge"}).remedy_elsewhere();
}

void ports_isolated(FaultMaker& maker) {
  for (const LabLink* link : {&maker.link, &maker.back}) {
    const std::string command =
        "bridge -n " + maker.lab.switch_netns + " link set dev " + link->port + " isolated ";
    maker.step(command + "on", command + "off");
  }
  maker.how("switch ports of {} and {} isolated from each other", maker.host.name, maker.peer.name);
  maker.expect({"neighbour.unresolved"}, maker.peer.name).or_peer().remedy_elsewhere();
}

void mtu_mismatch(FaultMaker& maker) {
  const int usual = maker.lab.topology.mtu;
  const int other = usual > 4000 ? maker.draw.pick(std::vector<int>{1500, 4000, 8000})
                                 : usual - maker.draw.between(50, usual - 1280);
  const std::string set = fmt::format("link set {} mtu ", maker.link.interface);
  maker.step(ip_in(maker.host.netns, set + std::to_string(other)),
             ip_in(maker.host.netns, set + std::to_string(usual)));
  maker.how("MTU of {} on {} is {} instead of {}", maker.link.interface, maker.host.name, other,
            usual);
  maker.expect_host_cause({"mtu.mismatch"});
  if (maker.mesh()) maker.plan.injected.other_hosts = {maker.peer.name};
  maker.plan.injected.warn = true;  // TCP agrees on the smaller one
}
std::string no_smaller_mtu(const Lab& lab) {
  return first_reason({needs_plain_card(lab), lab.topology.mtu >= 1400 ? "" : "MTU is small"});
}

std::string needs_three(const Lab& lab) {
  return first_reason({needs_mesh(lab), lab.hosts.size() >= 3 ? "" : "needs three hosts"});
}

// All data addresses of a host but that of one link, as JSON.
std::string data_without(const LabHost& host, const LabLink& left_out) {
  std::string out;
  for (const LabLink& link : host.links) {
    if (link.interface == left_out.interface) continue;
    out += (out.empty() ? "\"" : ", \"") + link.data + "\"";
  }
  return "[" + out + "]";
}

// The first address that a host keeps.
std::string first_but(const LabHost& host, const LabLink& left_out) {
  for (const LabLink& link : host.links) {
    if (link.interface != left_out.interface) return ip_of(link.data);
  }
  return {};
}

void cable_missing(FaultMaker& maker) {
  maker.step(ip_in(maker.host.netns, "link del " + maker.link.nic));
  maker.undo(make_link_commands(maker.lab, maker.host, maker.link));
  for (const LabHost& of : maker.lab.hosts) {
    maker.names(of, {{maker.host.name, first_but(maker.host, maker.link)},
                     {maker.peer.name, first_but(maker.peer, maker.back)}});
  }
  maker.plan.injected.host_file = {{maker.host.name, "data", data_without(maker.host, maker.link)},
                                   {maker.peer.name, "data", data_without(maker.peer, maker.back)}};
  maker.how("there is no cable between {} and {}", maker.host.name, maker.peer.name);
  maker.expect({"topology.not_mesh"}, maker.peer.name).or_peer().remedy_elsewhere();
}

// Two cards of the host have each other's addresses.
void cables_crossed(FaultMaker& maker) {
  std::vector<const LabLink*> others;
  for (const LabLink& link : maker.host.links) {
    if (link.interface != maker.link.interface) others.push_back(&link);
  }
  const LabLink& other = *maker.draw.pick(others);
  const std::string& netns = maker.host.netns;
  const std::string flags = maker.v6() ? " nodad" : "";
  std::vector<std::string> undo;
  for (const auto& [from, to] : {std::pair{&maker.link, &other}, std::pair{&other, &maker.link}}) {
    maker.step(ip_in(netns, "address del {} dev {}", from->data, from->interface));
    undo.push_back(ip_in(netns, "address del {} dev {}", from->data, to->interface));
  }
  for (const auto& [from, to] : {std::pair{&maker.link, &other}, std::pair{&other, &maker.link}}) {
    maker.step(ip_in(netns, "address add {} dev {}{}", from->data, to->interface, flags));
    undo.push_back(address_command(maker.host, *from));
  }
  maker.undo(undo);
  maker.how("{} and {} of {} have each other's addresses", maker.link.interface, other.interface,
            maker.host.name);
  maker.expect({"topology.rail_mismatch"});
  maker.plan.injected.other_hosts = {maker.peer.name, other.peer};
  maker.plan.injected.any_peer = true;
  maker.plan.injected.remedy_is_local = false;
}

}  // namespace

std::vector<FaultRow> link_faults() {
  return {
      {"link_down", "the host's data interface is set down", anywhere, link_down},
      {"no_carrier", "the switch's port of the host is down: no signal", needs_cable_to_switch,
       no_carrier},
      {"link_missing", "the host's data interface is gone", needs_cable_to_switch, link_missing},
      {"link_renamed", "the interface that the host file names has another name now",
       needs_cable_to_switch, link_renamed},
      {"link_flapping", "the host's cable loses its signal again and again", needs_cable_to_switch,
       link_flapping},
      {"link_toggling", "the same while doctor looks, every 0.1 to 2 s, from either end",
       needs_cable_to_switch, link_toggling},
      {"not_in_bridge", "the host's card is not a port of the bridge with the address",
       needs_bridged_host, not_in_bridge},
      {"port_detached", "the switch's port of the host belongs to no bridge", needs_bridge_between,
       port_detached},
      {"ports_isolated", "the switch keeps the ports of host and peer apart", needs_bridge_between,
       ports_isolated},
      {"mtu_mismatch", "the host's MTU differs from everybody else's", no_smaller_mtu,
       mtu_mismatch},
  };
}

std::vector<FaultRow> wiring_faults() {
  return {
      {"cable_missing", "a pair of the mesh has no cable", needs_three, cable_missing},
      {"cables_crossed", "two cables of the host are crossed", needs_three, cables_crossed},
  };
}

}  // namespace plumbline
