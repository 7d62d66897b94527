// Addresses: missing, wrong, twice; on the hosts and in the host file. And the host's own name, in
// the file that stands for /etc/hosts in its namespace.
#include <fmt/format.h>

#include "lab/address.h"
#include "lab/create.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

std::string needs_plain_v4_star(const Lab& lab) {
  const bool direct = lab.topology.carrier == "direct" && lab.topology.family == "ipv4";
  return first_reason({needs_star(lab), direct ? "" : "needs plain IPv4"});
}
std::string needs_own_subnet(const Lab& lab) {
  const bool link_local = lab.topology.family.rfind("link_local", 0) == 0;
  return first_reason({needs_one_link(lab), link_local ? "needs addresses of a subnet" : ""});
}

// Takes the lab's address from the link and gives it others; the undo puts everything back. The new
// ones come first: the last address of an interface takes all its routes along.
void replace_address(FaultMaker& maker, const std::vector<std::string>& addresses) {
  const std::string& netns = maker.host.netns;
  const std::string dev = " dev " + maker.link.interface;
  const std::string flags = maker.v6() ? " nodad" : "";
  std::vector<std::string> undo = {address_command(maker.host, maker.link)};
  for (const std::string& address : addresses) {
    maker.step(ip_in(netns, "address add " + address + dev + flags));
    undo.push_back(ip_in(netns, "address del " + address + dev));
  }
  maker.step(ip_in(netns, "address del " + maker.link.data + dev));
  append(undo, route_commands(maker.lab, maker.host, maker.link));
  maker.undo(undo);
}

// An address of a subnet that has nothing to do with the lab.
std::string foreign_address(FaultMaker& maker) {
  if (maker.v6()) {
    return fmt::format("fd{}:{}::{}/64", maker.draw.hex(2), 1 + maker.draw.below(9999),
                       1 + maker.draw.below(200));
  }
  return fmt::format("{}.{}/{}", maker.draw.pick({"198.18.7", "198.19.20", "192.0.2"}),
                     maker.draw.between(1, 250), prefix_of(maker.link.data));
}

void address_missing(FaultMaker& maker) {
  replace_address(maker, {});
  maker.how("{} taken from {} on {}", maker.link.data, maker.link.interface, maker.host.name);
  maker.expect_host_cause({"ip.missing"});
}

void wrong_subnet(FaultMaker& maker) {
  const std::string other = foreign_address(maker);
  replace_address(maker, {other});
  maker.how("{} has {} instead of {}", maker.host.name, other, maker.link.data);
  maker.expect_host_cause({"ip.wrong_subnet"});
}

void link_local_only(FaultMaker& maker) {
  const std::string other =
      fmt::format("169.254.{}.{}/16", maker.draw.between(1, 254), maker.draw.between(1, 254));
  replace_address(maker, {other});
  maker.how("{} has only {}", maker.host.name, other);
  maker.expect_host_cause({"ip.link_local_only"});
}

std::string with_prefix(const std::string& address, int length) {
  return ip_of(address) + "/" + std::to_string(length);
}

// Shorter prefix: everybody is still in reach. Longer: some peer is not.
void wrong_mask(FaultMaker& maker) {
  const int right = prefix_of(maker.link.data);
  const bool shorter = maker.draw.coin();
  const int wrong = shorter ? right - maker.draw.between(2, 8) : 31;
  replace_address(maker, {with_prefix(maker.link.data, wrong)});
  maker.how("{} has {} instead of /{}", maker.host.name, with_prefix(maker.link.data, wrong),
            right);
  maker.expect_host_cause({"ip.mask_mismatch"});
  maker.plan.injected.warn = shorter;
}

void mask_in_file(FaultMaker& maker) {
  const int wrong = prefix_of(maker.link.data) - maker.draw.between(1, 8);
  const std::string written = with_prefix(maker.link.data, wrong);
  maker.plan.injected.host_file = {{maker.host.name, "data", "[\"" + written + "\"]"}};
  maker.how("the host file says {} for {}", written, maker.host.name);
  maker.expect_host_cause({"ip.mask_mismatch"}).warn().remedy_elsewhere();
}

void subnet_in_file(FaultMaker& maker) {
  const std::string written = foreign_address(maker);
  maker.plan.injected.host_file = {{maker.host.name, "data", "[\"" + written + "\"]"}};
  maker.how("the host file says {} for {}", written, maker.host.name);
  maker.expect_host_cause({"ip.wrong_subnet"}).remedy_elsewhere();
}

// A machine that nobody knows, or the peer, has the host's address too.
void duplicate_address(FaultMaker& maker) {
  const std::string flags = maker.v6() ? " nodad" : "";
  if (maker.draw.coin()) {
    const std::string command = maker.link.data + " dev " + maker.back.interface;
    maker.step(ip_in(maker.peer.netns, "address add " + command + flags),
               ip_in(maker.peer.netns, "address del " + command));
    maker.how("{} has the address of {} too", maker.peer.name, maker.host.name);
    maker.plan.injected.other_hosts = {maker.peer.name};
  } else {
    const std::string netns = "pl-" + maker.draw.hex(8) + "-stranger";
    const std::string port = "s" + maker.draw.hex(5);
    maker.plan.injected.netns = {netns};
    maker.step("ip netns add " + netns);
    maker.step(
        fmt::format("ip link add eth0 mtu {0} netns {1} type veth peer name {2} mtu {0} "
                    "netns {3}",
                    maker.lab.topology.mtu, netns, port, maker.lab.switch_netns));
    maker.step(ip_in(maker.lab.switch_netns, "link set {} master {} up", port, maker.link.bridge));
    maker.step(ip_in(netns, "address add " + maker.link.data + " dev eth0" + flags));
    maker.step(ip_in(netns, "link set eth0 up"));
    // Namespaces go away in their own time: the port leaves the switch at once.
    maker.undo(ip_in(maker.lab.switch_netns, "link del " + port));
    maker.how("a stranger has the address of " + maker.host.name + " too");
    maker.plan.injected.remedy_is_local = false;
  }
  maker.plan.injected.any_peer = true;
  maker.expect({"ip.duplicate"});
}

// A second interface in (part of) the data subnet.
void overlapping_interface(FaultMaker& maker) {
  const std::string name = "o" + maker.draw.hex(5), end = "o" + maker.draw.hex(6);
  const std::string& netns = maker.host.netns;
  const auto subnet = parse_subnet(maker.link.subnet);
  const bool harmless = maker.draw.coin();
  // The half of the subnet in which the peer is, or all of it behind the interface that is there.
  const Subnet low = nth_subnet(*subnet, subnet->prefix + 1, 0);
  const Subnet high = nth_subnet(*subnet, subnet->prefix + 1, 1);
  const Subnet half = contains(low, *parse_ip(maker.peer_ip())) ? low : high;
  const Subnet chosen = harmless ? *subnet : half;
  // An address of it that no host has.
  std::string address;
  for (uint64_t n = host_capacity(chosen); n > 0; --n) {
    address = nth_address(chosen, n);
    bool used = false;
    for (const LabHost& host : maker.lab.hosts) used |= ip_of(host.links.front().data) == address;
    if (!used) break;
  }
  address += "/" + std::to_string(chosen.prefix);
  maker.step(ip_in(netns, "link add {} type veth peer name {}", name, end),
             ip_in(netns, "link del {}", name));
  maker.step(ip_in(netns, "link set {} up", end));
  maker.step(ip_in(netns, "link set {} up", name));
  maker.step(ip_in(netns, "address add {} dev {}", address, name));
  maker.how("{} on {} has {}", name, maker.host.name, address);
  maker.expect_host_cause({"ip.overlap"}).any_peer();
  maker.plan.injected.warn = harmless;
}

void own_name(FaultMaker& maker, const std::string& own, const std::string& cause) {
  maker.names(maker.host, {{maker.host.name, own}});
  maker.how("the name of {} means {}", maker.host.name, own.empty() ? "nothing" : own);
  maker.expect({cause});
  // Labs share the machine's host name, and each host file tells of it alone.
  maker.plan.injected.any_peer = true;
}

void name_loopback(FaultMaker& maker) {
  const std::string loopback = maker.v6() ? "::1" : maker.draw.pick({"127.0.1.1", "127.0.0.1"});
  own_name(maker, loopback, "name.loopback");
}

void name_wrong_address(FaultMaker& maker) {
  const std::string control = ip_of(maker.host.control);
  const std::string other = !control.empty() && maker.draw.coin() ? control
                            : maker.v6() ? fmt::format("2001:db8::{}", maker.draw.between(2, 99))
                                         : fmt::format("192.0.2.{}", maker.draw.between(2, 250));
  own_name(maker, other, "name.wrong_address");
}

void name_unresolved(FaultMaker& maker) { own_name(maker, "", "name.unresolved"); }

}  // namespace

std::vector<FaultRow> address_faults() {
  return {
      {"address_missing", "the data address is not on the host", needs_own_subnet, address_missing},
      {"wrong_subnet", "the host has an address of another subnet", needs_own_subnet, wrong_subnet},
      {"link_local_only", "the host has nothing but a 169.254 address", needs_plain_v4_star,
       link_local_only},
      {"wrong_mask", "the host's prefix length is wrong", needs_plain_v4_star, wrong_mask},
      {"mask_in_file", "the host file gives the host a wrong prefix length", needs_plain_v4_star,
       mask_in_file},
      {"subnet_in_file", "the host file gives the host an address of another subnet",
       needs_plain_v4_star, subnet_in_file},
      {"duplicate_address", "another machine has the host's data address too", needs_plain_v4_star,
       duplicate_address},
      {"overlapping_interface", "another interface of the host covers the data subnet",
       needs_plain_v4_star, overlapping_interface},
  };
}

std::vector<FaultRow> name_faults() {
  return {
      {"name_loopback", "the host's own name means a loopback address", anywhere, name_loopback},
      {"name_wrong_address", "the host's own name means an address of another network", anywhere,
       name_wrong_address},
      {"name_unresolved", "the host's own name means nothing", anywhere, name_unresolved},
  };
}

}  // namespace plumbline
