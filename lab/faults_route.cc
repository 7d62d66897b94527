// Routes: missing, blocked, over another interface, there and back by different ways.
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

FaultPlan route_missing(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string route = fmt::format("{} dev {}", maker.link.subnet, maker.link.interface);
  const std::string source =
      maker.v6() ? " proto kernel metric 256" : " proto kernel scope link src " + maker.ip();
  maker.step(ip_in(maker.host.netns, "route del " + route),
             ip_in(maker.host.netns, "route replace " + route + source));
  maker.how(fmt::format("route to {} deleted on {}", maker.link.subnet, maker.host.name));
  return maker.expect_host_cause({"route.missing"}).done();
}

// The other subnet of a routed lab.
FaultPlan gateway_route_missing(const Lab& lab, const FaultTarget& target,
                                std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  for (const std::string& command : route_commands(lab, maker.host, maker.link)) {
    std::string removal = command;
    removal.replace(removal.find("route replace"), 13, "route del");
    maker.step(removal, command);
  }
  maker.how("route to the other subnet deleted on " + maker.host.name);
  maker.expect({"route.missing"});
  maker.plan.injected.any_peer = true;
  return maker.done();
}

FaultPlan route_blocked(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string& type =
      maker.draw.pick(std::vector<std::string>{"blackhole", "unreachable", "prohibit"});
  const std::string route = type + " " + host_route(maker);
  maker.step(ip_in(maker.host.netns, "route add " + route),
             ip_in(maker.host.netns, "route del " + route));
  maker.how(route + " on " + maker.host.name);
  return maker.expect({"route.missing"}, maker.peer.name).done();
}

FaultPlan route_rule(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string family = maker.v6() ? "-6 " : "";
  const int priority = maker.draw.between(10, 30000);
  std::string action =
      maker.draw.pick(std::vector<std::string>{"blackhole", "unreachable", "prohibit", "lookup"});
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
             ip_in(maker.host.netns, fmt::format("{}rule del pref {}", family, priority)));
  maker.how("routing rule on " + maker.host.name + ": " + rule);
  return maker.expect({"route.missing"}, maker.peer.name).done();
}

FaultPlan route_wrong_interface(const Lab& lab, const FaultTarget& target,
                                std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string other = maker.other_interface();
  const std::string route = fmt::format("{} dev {}", host_route(maker), other);
  maker.step(ip_in(maker.host.netns, "route add " + route),
             ip_in(maker.host.netns, "route del " + route));
  maker.how(fmt::format("{} sends to {} over {}", maker.host.name, maker.peer.name, other));
  maker.expect({"route.wrong_interface"}, maker.peer.name);
  // Over the control network the peer answers for its data address.
  maker.plan.injected.warn = !maker.host.control_interface.empty();
  return maker.done();
}

FaultPlan default_leak(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
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
  maker.how(fmt::format("{} on {}", command, maker.host.name));
  maker.expect({"route.default_leak"});
  maker.plan.injected.any_peer = true;
  maker.plan.injected.warn = true;
  return maker.done();
}

// There over the control network, back over the data network, and the peer's reverse-path filter
// throws away what comes in on the wrong card.
FaultPlan asymmetric_route(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string& out = maker.host.control_interface;
  const std::string neighbour = fmt::format("{} dev {}", maker.peer_ip(), out);
  // The same filter keeps the peer from answering ARP there.
  maker.step(ip_in(maker.host.netns, fmt::format("neighbour replace {} lladdr {} nud permanent",
                                                 neighbour, maker.peer.control_mac)),
             ip_in(maker.host.netns, "neighbour del " + neighbour));
  const std::string route = fmt::format("{} dev {} src {}", host_route(maker), out, maker.ip());
  maker.step(ip_in(maker.host.netns, "route add " + route),
             ip_in(maker.host.netns, "route del " + route));
  const std::string key =
      "sysctl -qw net.ipv4.conf." + maker.peer.control_interface + ".rp_filter=";
  maker.step(in_netns(maker.peer.netns, key + "1"), in_netns(maker.peer.netns, key + "0"));
  maker.how(fmt::format("{} sends to {} over {}, whose reverse-path filter is strict",
                        maker.host.name, maker.peer.name, out));
  maker.expect({"route.asymmetric", "route.wrong_interface"}, maker.peer.name);
  maker.plan.injected.other_hosts = {maker.peer.name};
  return maker.done();
}

FaultPlan router_closed(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string key = maker.v6() ? "net.ipv6.conf.all.forwarding=" : "net.ipv4.ip_forward=";
  maker.step(in_netns(lab.switch_netns, "sysctl -qw " + key + "0"),
             in_netns(lab.switch_netns, "sysctl -qw " + key + "1"));
  maker.how("the router forwards nothing");
  // Every pair across it, in both directions.
  maker.expect({"firewall.drop_path"});
  for (const LabHost& host : lab.hosts) maker.plan.injected.other_hosts.push_back(host.name);
  maker.plan.injected.any_peer = true;
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

// A tunnel over the data network, and the host file names the tunnel's addresses.
FaultPlan slower_path(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string name =
      maker.draw.pick(std::vector<std::string>{"vpn0", "tun5", "overlay", "ts0"});
  const int id = maker.draw.between(10, 9000), third = maker.draw.between(1, 250);
  std::map<std::string, std::string> addresses;
  for (const LabHost& host : lab.hosts) {
    addresses[host.name] = fmt::format("100.80.{}.{}", third, addresses.size() + 1);
  }
  for (const LabHost& host : lab.hosts) {
    const LabLink& link = host.links.front();
    const std::string address = addresses[host.name] + "/24";
    maker.names(host, addresses);
    maker.step(ip_in(host.netns, fmt::format("link add {} type vxlan id {} dstport 4789 local {} "
                                             "dev {}",
                                             name, id, ip_of(link.data), link.interface)),
               ip_in(host.netns, "link del " + name));
    for (const LabHost& other : lab.hosts) {
      if (other.name == host.name) continue;
      maker.step(fmt::format("bridge -n {} fdb append 00:00:00:00:00:00 dev {} dst {}", host.netns,
                             name, ip_of(other.links.front().data)));
    }
    maker.step(ip_in(host.netns, fmt::format("address add {} dev {}", address, name)));
    maker.step(ip_in(host.netns, fmt::format("link set {} up", name)));
    maker.plan.injected.host_file.push_back({host.name, "data", "[\"" + address + "\"]"});
    maker.plan.injected.host_file.push_back({host.name, "interface", ""});
    maker.plan.injected.host_file.push_back({host.name, "speed", ""});
    maker.plan.injected.other_hosts.push_back(host.name);
  }
  maker.how("the host file names the addresses of a tunnel over the data network");
  maker.expect({"path.slower_used"});
  maker.plan.injected.any_peer = true;
  maker.plan.injected.warn = true;
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

}  // namespace

std::vector<FaultRow> route_faults() {
  return {
      {"route_missing", "route", "the host has no route to the data subnet", needs_subnet_route,
       route_missing},
      {"gateway_route_missing", "route", "the host has no route to the subnet behind the router",
       needs_router, gateway_route_missing},
      {"route_blocked", "route", "a blackhole, unreachable or prohibit route to the peer",
       needs_global_addresses, route_blocked},
      {"route_rule", "route", "a routing rule on the host keeps it from the peer",
       needs_global_addresses, route_rule},
      {"route_wrong_interface", "route", "the host sends to the peer over another interface",
       needs_plain_v4, route_wrong_interface},
      {"default_leak", "route", "the data interface took over the host's default route",
       needs_plain_v4, default_leak},
      {"asymmetric_route", "route",
       "there over the control network, back over the data network, with strict reverse-path "
       "filter",
       needs_two_networks, asymmetric_route},
      {"router_closed", "route", "the router between the subnets forwards nothing", needs_router,
       router_closed},
      {"slower_path", "route", "the host file names the addresses of a tunnel",
       needs_v4_star_direct, slower_path},
  };
}

}  // namespace plumbline
