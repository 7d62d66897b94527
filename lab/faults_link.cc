// Cables, cards, ports of the switch, MTU of a card.
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
      ip_in(maker.host.netns, fmt::format("link del {} 2>/dev/null || true", maker.link.nic))};
  const auto make = make_link_commands(maker.lab, maker.host, maker.link);
  out.insert(out.end(), make.begin(), make.end());
  out.push_back(settle_command(maker.host.netns));
  return out;
}

// What the kernel forgets when an interface goes down.
std::vector<std::string> up_again(const FaultMaker& maker) {
  std::vector<std::string> out = {
      ip_in(maker.host.netns, fmt::format("link set {} up", maker.link.interface)),
      address_command(maker.host, maker.link)};
  const auto routes = route_commands(maker.lab, maker.host, maker.link);
  out.insert(out.end(), routes.begin(), routes.end());
  return out;
}

FaultPlan link_down(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  maker.step(ip_in(maker.host.netns, fmt::format("link set {} down", maker.link.interface)));
  maker.undo(up_again(maker));
  maker.how(fmt::format("{} set down on {}", maker.link.interface, maker.host.name));
  maker.expect_host_cause({"link.down"});
  // IPv6 addresses and routes through a router do not come back by themselves.
  maker.plan.injected.remedy_is_local = !maker.routed() && !maker.v6();
  return maker.done();
}

FaultPlan no_carrier(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  maker.step(ip_in(lab.switch_netns, fmt::format("link set {} down", maker.link.port)));
  std::vector<std::string> undo = {
      ip_in(lab.switch_netns, fmt::format("link set {} up", maker.link.port))};
  maker.undo(undo);
  maker.how("switch port of " + maker.host.name + " set down");
  maker.expect_host_cause({"link.no_carrier"});
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

FaultPlan link_missing(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  maker.step(ip_in(maker.host.netns, fmt::format("link del {}", maker.link.nic)));
  maker.undo(replace_cable(maker));
  maker.how(fmt::format("{} removed from {}", maker.link.nic, maker.host.name));
  // Another card that is up could carry the address: then only the address is known to be gone.
  const bool other_card = !maker.host.control_interface.empty() || !lab.topology.others.empty();
  if (maker.host.names_interface || !other_card) {
    maker.expect_host_cause({"link.missing"});
  } else {
    maker.expect_host_cause({"ip.missing"});
  }
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

FaultPlan link_renamed(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string fresh = "ren" + maker.draw.hex(4);
  const std::string& netns = maker.host.netns;
  LabLink renamed = maker.link;
  renamed.interface = renamed.nic = fresh;
  maker.step(ip_in(netns, fmt::format("link set {} down", maker.link.nic)));
  maker.step(ip_in(netns, fmt::format("link set {} name {}", maker.link.nic, fresh)));
  for (const std::string& command : configure_commands(lab, maker.host, renamed)) {
    maker.step(command);
  }
  std::vector<std::string> undo = {
      ip_in(netns, fmt::format("link set {} down", fresh)),
      ip_in(netns, fmt::format("link set {} name {}", fresh, maker.link.nic))};
  const auto configure = configure_commands(lab, maker.host, maker.link);
  undo.insert(undo.end(), configure.begin(), configure.end());
  maker.undo(undo);
  maker.plan.injected.host_file = {{maker.host.name, "interface", "\"" + maker.link.nic + "\""}};
  maker.how(fmt::format("{} of {} is called {} now", maker.link.nic, maker.host.name, fresh));
  maker.expect_host_cause({"link.missing"});
  maker.plan.injected.warn = true;
  maker.plan.injected.remedy_is_local = false;  // the host file is to be corrected
  return maker.done();
}

FaultPlan link_flapping(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  // The far end loses its signal again and again, and then stays.
  std::string script;
  for (int i = 0; i < kFlaps; ++i) {
    script += ip_in(lab.switch_netns, fmt::format("link set {} down", maker.link.port)) + "\n";
    script += ip_in(lab.switch_netns, fmt::format("link set {} up", maker.link.port)) + "\n";
  }
  maker.step(script);
  maker.step(settle_command(maker.host.netns));
  maker.undo(replace_cable(maker));
  maker.how(fmt::format("cable of {} lost its signal {} times", maker.host.name, kFlaps));
  maker.expect_host_cause({"link.flapping"});
  maker.plan.injected.warn = true;
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

// While doctor looks, at a rhythm and from an end that are drawn. IPv6 addresses do not survive it
// at the host's own end, nor do routes through a router.
FaultPlan link_toggling(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string seconds = maker.draw.pick(std::vector<std::string>{"0.1", "0.5", "1", "2"});
  const bool own_end = !maker.v6() && !maker.routed() && maker.draw.coin();
  const std::string& netns = own_end ? maker.host.netns : lab.switch_netns;
  const std::string& end = own_end ? maker.link.nic : maker.link.port;
  const std::string change = "ip link set " + end + " ";
  FaultHelper helper;
  helper.netns = netns;
  helper.argv = {"sh", "-c",
                 fmt::format("echo ready; while {0}down; do sleep {1}; {0}up; sleep {1}; done",
                             change, seconds)};
  maker.plan.helpers = {helper};
  maker.step(ip_in(netns, fmt::format("link set {} down", end)));
  maker.undo(replace_cable(maker));
  maker.how(fmt::format("{} of {} goes down and up every {} s", end,
                        own_end ? maker.host.name : "the switch", seconds));
  maker.expect_host_cause({"link.flapping"});
  maker.plan.injected.warn = true;
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

FaultPlan not_in_bridge(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  maker.step(ip_in(maker.host.netns, fmt::format("link set {} nomaster", maker.link.nic)),
             ip_in(maker.host.netns,
                   fmt::format("link set {} master {}", maker.link.nic, maker.link.interface)));
  maker.how(fmt::format("{} taken out of {} on {}", maker.link.nic, maker.link.interface,
                        maker.host.name));
  return maker.expect_host_cause({"link.not_in_bridge"}).done();
}

FaultPlan port_detached(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  maker.step(ip_in(lab.switch_netns, fmt::format("link set {} nomaster", maker.link.port)),
             ip_in(lab.switch_netns,
                   fmt::format("link set {} master {}", maker.link.port, maker.link.bridge)));
  maker.how("switch port of " + maker.host.name + " taken out of the bridge");
  maker.expect_host_cause({"neighbour.unresolved", "link.not_in_bridge"});
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

FaultPlan ports_isolated(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  for (const LabLink* link : {&maker.link, &maker.back}) {
    const std::string command =
        "bridge -n " + lab.switch_netns + " link set dev " + link->port + " isolated ";
    maker.step(command + "on", command + "off");
  }
  maker.how(fmt::format("switch ports of {} and {} isolated from each other", maker.host.name,
                        maker.peer.name));
  maker.expect({"neighbour.unresolved"}, maker.peer.name);
  maker.plan.injected.other_hosts = {maker.peer.name};
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

FaultPlan mtu_mismatch(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const int usual = lab.topology.mtu;
  const int other = usual > 4000 ? maker.draw.pick(std::vector<int>{1500, 4000, 8000})
                                 : usual - maker.draw.between(50, usual - 1280);
  const std::string set = fmt::format("link set {} mtu ", maker.link.interface);
  maker.step(ip_in(maker.host.netns, set + std::to_string(other)),
             ip_in(maker.host.netns, set + std::to_string(usual)));
  maker.how(fmt::format("MTU of {} on {} is {} instead of {}", maker.link.interface,
                        maker.host.name, other, usual));
  maker.expect_host_cause({"mtu.mismatch"});
  if (maker.mesh()) maker.plan.injected.other_hosts = {maker.peer.name};
  maker.plan.injected.warn = true;  // TCP agrees on the smaller one
  return maker.done();
}
std::string no_smaller_mtu(const Lab& lab) {
  return first_reason({needs_plain_card(lab), lab.topology.mtu >= 1400 ? "" : "MTU is small"});
}

}  // namespace

std::vector<FaultRow> link_faults() {
  return {
      {"link_down", "link", "the host's data interface is set down", anywhere, link_down},
      {"no_carrier", "link", "the switch's port of the host is down: no signal",
       needs_cable_to_switch, no_carrier},
      {"link_missing", "link", "the host's data interface is gone", needs_cable_to_switch,
       link_missing},
      {"link_renamed", "link", "the interface that the host file names has another name now",
       needs_cable_to_switch, link_renamed},
      {"link_flapping", "link", "the host's cable loses its signal again and again",
       needs_cable_to_switch, link_flapping},
      {"link_toggling", "link", "the same while doctor looks, every 0.1 to 2 s, from either end",
       needs_cable_to_switch, link_toggling},
      {"not_in_bridge", "link", "the host's card is not a port of the bridge with the address",
       needs_bridged_host, not_in_bridge},
      {"port_detached", "link", "the switch's port of the host belongs to no bridge",
       needs_bridge_between, port_detached},
      {"ports_isolated", "link", "the switch keeps the ports of host and peer apart",
       needs_bridge_between, ports_isolated},
      {"mtu_mismatch", "link", "the host's MTU differs from everybody else's", no_smaller_mtu,
       mtu_mismatch},
  };
}

}  // namespace plumbline
