// Who has which MAC: wrong entries, ARP switched off, ARP lost.
#include <fmt/format.h>

#include "lab/address.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

std::string needs_v4_link(const Lab& lab) {
  return first_reason({needs_one_link(lab), needs_v4(lab)});
}
std::string needs_v4_nft(const Lab& lab) {
  return first_reason(
      {has_tool("nft") ? "" : "needs nft (Debian: package nftables)", needs_v4_link(lab)});
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

FaultPlan wrong_neighbour(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  // A MAC that nobody has, or that of a third host.
  std::string mac = "02:de:ad";
  for (int i = 0; i < 3; ++i) mac += ":" + maker.draw.hex(2);
  std::string whose = "nobody's";
  for (const LabHost& other : lab.hosts) {
    if (maker.mesh() || other.name == maker.host.name || other.name == maker.peer.name) continue;
    if (maker.draw.coin()) break;
    mac = other.links.front().mac;
    whose = other.name + "'s";
    break;
  }
  const std::string entry = fmt::format("{} dev {}", maker.peer_ip(), maker.link.interface);
  maker.step(ip_in(maker.host.netns,
                   fmt::format("neighbour replace {} lladdr {} nud permanent", entry, mac)),
             ip_in(maker.host.netns, "neighbour del " + entry));
  maker.how(
      fmt::format("static entry on {}: {} has {} MAC", maker.host.name, maker.peer_ip(), whose));
  return maker.expect({"neighbour.unresolved"}, maker.peer.name).done();
}

FaultPlan arp_off(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string command = fmt::format("link set {} arp ", maker.link.interface);
  maker.step(ip_in(maker.host.netns, command + "off"), ip_in(maker.host.netns, command + "on"));
  maker.how(fmt::format("ARP is off on {} of {}", maker.link.interface, maker.host.name));
  return maker.expect_host_cause({"neighbour.unresolved"}).done();
}

FaultPlan arp_dropped(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
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
  maker.step(in_netns(netns, "nft -f - <<'END'") +
                 fmt::format("\ntable {} {} {{\n"
                             "  chain quiet {{\n"
                             "    type filter hook {} priority 0; policy accept;\n"
                             "    {}\n"
                             "  }}\n"
                             "}}\n"
                             "END",
                             way.family, table, way.hook, way.rule),
             in_netns(netns, fmt::format("nft delete table {} {}", way.family, table)));
  forget_neighbours(maker);
  maker.how(fmt::format("nft {} {} drops ARP on {}", way.family, way.hook, maker.host.name));
  return maker.expect_host_cause({"neighbour.unresolved"}).done();
}

FaultPlan arp_lost(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string table = "quiet_" + maker.draw.hex(3);
  maker.step(in_netns(lab.switch_netns, "nft -f - <<'END'") +
                 fmt::format("\ntable bridge {0} {{\n"
                             "  chain forward {{\n"
                             "    type filter hook forward priority 0; policy accept;\n"
                             "    iifname \"{1}\" oifname \"{2}\" ether type arp drop\n"
                             "    iifname \"{2}\" oifname \"{1}\" ether type arp drop\n"
                             "  }}\n"
                             "}}\n"
                             "END",
                             table, maker.link.port, maker.back.port),
             in_netns(lab.switch_netns, "nft delete table bridge " + table));
  forget_neighbours(maker);
  maker.how(
      fmt::format("the switch drops ARP between {} and {}", maker.host.name, maker.peer.name));
  maker.expect({"neighbour.unresolved"}, maker.peer.name);
  maker.plan.injected.other_hosts = {maker.peer.name};
  maker.plan.injected.remedy_is_local = false;
  return maker.done();
}

}  // namespace

std::vector<FaultRow> neighbour_faults() {
  return {
      {"wrong_neighbour", "neighbour", "a static entry on the host gives the peer a wrong MAC",
       needs_one_link, wrong_neighbour},
      {"arp_off", "neighbour", "the host's data interface speaks no ARP", needs_v4_link, arp_off},
      {"arp_dropped", "neighbour", "the host's filter drops ARP", needs_v4_nft, arp_dropped},
      {"arp_lost", "neighbour", "the switch loses ARP between host and peer", needs_arp_switch,
       arp_lost},
  };
}

}  // namespace plumbline
