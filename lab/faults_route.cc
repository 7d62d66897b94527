// Routes: missing, blocked, over another interface, there and back by different ways. And who has
// which MAC: wrong entries, ARP switched off, ARP lost.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/address.h"
#include "lab/create.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

std::string needs_two_networks(const Lab& lab) {
  const bool control = !lab.control_netns.empty() && lab.topology.carrier == "direct";
  return first_reason({needs_star(lab), needs_v4(lab),
                       control ? "" : "needs a control network beside the data network"});
}
std::string needs_global_addresses(const Lab& lab) {
  return lab.topology.family.rfind("link_local", 0) == 0 ? "needs addresses that are routed" : "";
}
std::string needs_subnet_route(const Lab& lab) {
  return first_reason({needs_one_link(lab), needs_global_addresses(lab)});
}
std::string needs_router(const Lab& lab) {
  return lab.topology.shape == "routed" ? "" : "needs two subnets with a router";
}
std::string needs_v4_star_direct(const Lab& lab) {
  return first_reason(
      {needs_star(lab), needs_v4(lab), needs_one_link(lab), needs_global_addresses(lab)});
}
std::string needs_plain_v4(const Lab& lab) {
  return first_reason({needs_v4(lab), needs_global_addresses(lab)});
}

std::string host_route(const FaultMaker& maker) {
  return maker.peer_ip() + (maker.v6() ? "/128" : "/32");
}

void route_missing(FaultMaker& maker) {
  const std::string route = fmt::format("{} dev {}", maker.link.subnet, maker.link.interface);
  const std::string source =
      maker.v6() ? " proto kernel metric 256" : " proto kernel scope link src " + maker.ip();
  maker.step(ip_in(maker.host.netns, "route del " + route),
             ip_in(maker.host.netns, "route replace " + route + source));
  maker.how("route to {} deleted on {}", maker.link.subnet, maker.host.name);
  maker.expect_host_cause({"route.missing"});
}

// The other subnet of a routed lab.
void gateway_route_missing(FaultMaker& maker) {
  for (const std::string& command : route_commands(maker.lab, maker.host, maker.link)) {
    std::string removal = command;
    removal.replace(removal.find("route replace"), 13, "route del");
    maker.step(removal, command);
  }
  maker.how("route to the other subnet deleted on " + maker.host.name);
  maker.expect({"route.missing"}).any_peer();
}

void route_blocked(FaultMaker& maker) {
  const std::string& type = maker.draw.pick({"blackhole", "unreachable", "prohibit"});
  const std::string route = type + " " + host_route(maker);
  maker.step(ip_in(maker.host.netns, "route add " + route),
             ip_in(maker.host.netns, "route del " + route));
  maker.how(route + " on " + maker.host.name);
  maker.expect({"route.missing"}, maker.peer.name);
}

void route_rule(FaultMaker& maker) {
  const std::string family = maker.v6() ? "-6 " : "";
  const int priority = maker.draw.between(10, 30000);
  std::string action = maker.draw.pick({"blackhole", "unreachable", "prohibit", "lookup"});
  if (action == "lookup") {
    // A table of its own that leads nowhere.
    const int table = maker.draw.between(60, 250);
    const std::string route =
        fmt::format("{}route add unreachable default table {}", family, table);
    std::string removal = route;
    removal.replace(removal.find("add"), 3, "del");
    maker.step(ip_in(maker.host.netns, route), ip_in(maker.host.netns, removal));
    action += " " + std::to_string(table);
  }
  const std::string rule = fmt::format("to {} pref {} {}", maker.peer_ip(), priority, action);
  maker.step(ip_in(maker.host.netns, family + "rule add " + rule),
             ip_in(maker.host.netns, "{}rule del pref {}", family, priority));
  maker.how("routing rule on " + maker.host.name + ": " + rule);
  maker.expect({"route.missing"}, maker.peer.name);
}

void route_wrong_interface(FaultMaker& maker) {
  const std::string other = maker.other_interface();
  const std::string route = fmt::format("{} dev {}", host_route(maker), other);
  maker.step(ip_in(maker.host.netns, "route add " + route),
             ip_in(maker.host.netns, "route del " + route));
  maker.how("{} sends to {} over {}", maker.host.name, maker.peer.name, other);
  maker.expect({"route.wrong_interface"}, maker.peer.name);
  // Over the control network the peer answers for its data address.
  maker.plan.injected.warn = !maker.host.control_interface.empty();
}

void default_leak(FaultMaker& maker) {
  const std::string& netns = maker.host.netns;
  const std::string other = maker.other_interface();
  if (maker.host.control_interface.empty()) {
    maker.step(ip_in(netns, "address add 198.51.100.2/24 dev " + other));
  }
  const std::string honest = fmt::format("default dev {} metric 600", other);
  maker.step(ip_in(netns, "route add " + honest), ip_in(netns, "route del " + honest));
  const std::string leak = fmt::format("default via {} dev {} metric {}", maker.peer_ip(),
                                       maker.link.interface, maker.draw.between(0, 300));
  // With a router the next hop is the router.
  const std::string hop = maker.link.gateway.empty() ? maker.peer_ip() : maker.link.gateway;
  std::string command = leak;
  command.replace(command.find(maker.peer_ip()), maker.peer_ip().size(), hop);
  maker.step(ip_in(netns, "route add " + command), ip_in(netns, "route del " + command));
  maker.how("{} on {}", command, maker.host.name);
  maker.expect({"route.default_leak"}).any_peer().warn();
}

// There over the control network, back over the data network, and the peer's reverse-path filter
// throws away what comes in on the wrong card.
void asymmetric_route(FaultMaker& maker) {
  const std::string& out = maker.host.control_interface;
  const std::string neighbour = fmt::format("{} dev {}", maker.peer_ip(), out);
  // The same filter keeps the peer from answering ARP there.
  maker.step(ip_in(maker.host.netns, "neighbour replace {} lladdr {} nud permanent", neighbour,
                   maker.peer.control_mac),
             ip_in(maker.host.netns, "neighbour del " + neighbour));
  const std::string route = fmt::format("{} dev {} src {}", host_route(maker), out, maker.ip());
  maker.step(ip_in(maker.host.netns, "route add " + route),
             ip_in(maker.host.netns, "route del " + route));
  const std::string key =
      "sysctl -qw net.ipv4.conf." + maker.peer.control_interface + ".rp_filter=";
  maker.step(in_netns(maker.peer.netns, key + "1"), in_netns(maker.peer.netns, key + "0"));
  maker.how("{} sends to {} over {}, whose reverse-path filter is strict", maker.host.name,
            maker.peer.name, out);
  maker.expect({"route.asymmetric", "route.wrong_interface"}, maker.peer.name).or_peer();
}

void router_closed(FaultMaker& maker) {
  const std::string key = maker.v6() ? "net.ipv6.conf.all.forwarding=" : "net.ipv4.ip_forward=";
  maker.step(in_netns(maker.lab.switch_netns, "sysctl -qw " + key + "0"),
             in_netns(maker.lab.switch_netns, "sysctl -qw " + key + "1"));
  maker.how("the router forwards nothing");
  // Every pair across it, in both directions.
  maker.expect({"firewall.drop_path"}).or_any_host().any_peer().remedy_elsewhere();
}

// A tunnel over the data network, and the host file names the tunnel's addresses.
void slower_path(FaultMaker& maker) {
  const std::string name = maker.draw.pick({"vpn0", "tun5", "overlay", "ts0"});
  const int id = maker.draw.between(10, 9000), third = maker.draw.between(1, 250);
  std::map<std::string, std::string> addresses;
  for (const LabHost& host : maker.lab.hosts) {
    addresses[host.name] = fmt::format("100.80.{}.{}", third, addresses.size() + 1);
  }
  for (const LabHost& host : maker.lab.hosts) {
    const LabLink& link = host.links.front();
    const std::string address = addresses[host.name] + "/24";
    maker.names(host, addresses);
    maker.step(ip_in(host.netns,
                     "link add {} type vxlan id {} dstport 4789 local {} "
                     "dev {}",
                     name, id, ip_of(link.data), link.interface),
               ip_in(host.netns, "link del " + name));
    for (const LabHost& other : maker.lab.hosts) {
      if (other.name == host.name) continue;
      maker.step(fmt::format("bridge -n {} fdb append 00:00:00:00:00:00 dev {} dst {}", host.netns,
                             name, ip_of(other.links.front().data)));
    }
    maker.step(ip_in(host.netns, "address add {} dev {}", address, name));
    maker.step(ip_in(host.netns, "link set {} up", name));
    maker.plan.injected.host_file.push_back({host.name, "data", "[\"" + address + "\"]"});
    maker.plan.injected.host_file.push_back({host.name, "interface", ""});
    maker.plan.injected.host_file.push_back({host.name, "speed", ""});
    maker.plan.injected.other_hosts.push_back(host.name);
  }
  maker.how("the host file names the addresses of a tunnel over the data network");
  maker.expect({"path.slower_used"}).any_peer().warn().remedy_elsewhere();
}

std::string needs_v4_link(const Lab& lab) {
  return first_reason({needs_one_link(lab), needs_v4(lab)});
}
std::string needs_v4_nft(const Lab& lab) {
  return first_reason({needs_nft(lab), needs_v4_link(lab)});
}
std::string needs_arp_switch(const Lab& lab) {
  return first_reason({needs_v4_nft(lab), needs_star(lab)});
}

// What the hosts have learned would hide the loss for minutes.
void forget_neighbours(FaultMaker& maker) {
  for (const LabHost& host : maker.lab.hosts) {
    maker.step(ip_in(host.netns, "neighbour flush all"));
  }
}

void wrong_neighbour(FaultMaker& maker) {
  // A MAC that nobody has, or that of a third host.
  std::string mac = "02:de:ad";
  for (int i = 0; i < 3; ++i) mac += ":" + maker.draw.hex(2);
  std::string whose = "nobody's";
  for (const LabHost& other : maker.lab.hosts) {
    if (maker.mesh() || other.name == maker.host.name || other.name == maker.peer.name) continue;
    if (maker.draw.coin()) break;
    mac = other.links.front().mac;
    whose = other.name + "'s";
    break;
  }
  const std::string entry = fmt::format("{} dev {}", maker.peer_ip(), maker.link.interface);
  maker.step(ip_in(maker.host.netns, "neighbour replace {} lladdr {} nud permanent", entry, mac),
             ip_in(maker.host.netns, "neighbour del " + entry));
  maker.how("static entry on {}: {} has {} MAC", maker.host.name, maker.peer_ip(), whose);
  maker.expect({"neighbour.unresolved"}, maker.peer.name);
}

void arp_off(FaultMaker& maker) {
  const std::string command = fmt::format("link set {} arp ", maker.link.interface);
  maker.step(ip_in(maker.host.netns, command + "off"), ip_in(maker.host.netns, command + "on"));
  maker.how("ARP is off on {} of {}", maker.link.interface, maker.host.name);
  maker.expect_host_cause({"neighbour.unresolved"});
}

void arp_dropped(FaultMaker& maker) {
  const std::string& netns = maker.host.netns;
  const std::string table = "arp_" + maker.draw.hex(3);
  const std::string& device = maker.link.interface;
  struct Way {
    std::string family, hook, rule;
  };
  const Way way = maker.draw.pick(std::vector<Way>{
      {"arp", "input", fmt::format("iifname \"{}\" counter drop", device)},
      {"arp", "output", fmt::format("oifname \"{}\" drop", device)},
      {"netdev", fmt::format("ingress device \"{}\"", device), "ether type arp drop"},
      {"netdev", fmt::format("egress device \"{}\"", device), "ether type arp counter drop"}});
  maker.nft_table(netns, way.family + " " + table, "quiet",
                  "filter hook " + way.hook + " priority 0; policy accept;", {way.rule});
  forget_neighbours(maker);
  maker.how("nft {} {} drops ARP on {}", way.family, way.hook, maker.host.name);
  maker.expect_host_cause({"neighbour.unresolved"});
}

void arp_lost(FaultMaker& maker) {
  const std::string table = "quiet_" + maker.draw.hex(3);
  const auto between = [](const LabLink& in, const LabLink& out) {
    return fmt::format("iifname \"{}\" oifname \"{}\" ether type arp drop", in.port, out.port);
  };
  maker.nft_table(maker.lab.switch_netns, "bridge " + table, "forward",
                  "filter hook forward priority 0; policy accept;",
                  {between(maker.link, maker.back), between(maker.back, maker.link)});
  forget_neighbours(maker);
  maker.how("the switch drops ARP between {} and {}", maker.host.name, maker.peer.name);
  maker.expect({"neighbour.unresolved"}, maker.peer.name).or_peer().remedy_elsewhere();
}

}  // namespace

std::vector<FaultRow> route_faults() {
  return {
      {"route_missing", "the host has no route to the data subnet", needs_subnet_route,
       route_missing},
      {"gateway_route_missing", "the host has no route to the subnet behind the router",
       needs_router, gateway_route_missing},
      {"route_blocked", "a blackhole, unreachable or prohibit route to the peer",
       needs_global_addresses, route_blocked},
      {"route_rule", "a routing rule on the host keeps it from the peer", needs_global_addresses,
       route_rule},
      {"route_wrong_interface", "the host sends to the peer over another interface", needs_plain_v4,
       route_wrong_interface},
      {"default_leak", "the data interface took over the host's default route", needs_plain_v4,
       default_leak},
      {"asymmetric_route",
       "there over the control network, back over the data network, with strict reverse-path "
       "filter",
       needs_two_networks, asymmetric_route},
      {"router_closed", "the router between the subnets forwards nothing", needs_router,
       router_closed},
      {"slower_path", "the host file names the addresses of a tunnel", needs_v4_star_direct,
       slower_path},
  };
}

std::vector<FaultRow> neighbour_faults() {
  return {
      {"wrong_neighbour", "a static entry on the host gives the peer a wrong MAC", needs_one_link,
       wrong_neighbour},
      {"arp_off", "the host's data interface speaks no ARP", needs_v4_link, arp_off},
      {"arp_dropped", "the host's filter drops ARP", needs_v4_nft, arp_dropped},
      {"arp_lost", "the switch loses ARP between host and peer", needs_arp_switch, arp_lost},
  };
}

}  // namespace plumbline
