// ip(8), bridge(8), sysctl(8) on Linux; ifconfig(8), route(8), arp(8) on macOS.
#include "probes/remedy.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"
#include "core/ranges.h"

namespace plumbline {
namespace {

using CommandWords = std::vector<Word>;

bool is_macos(const std::string& system) { return system == "macos"; }

int usual_prefix(const std::string& ip, int prefix) {
  return prefix > 0 ? prefix : customary_prefix(ip);
}

Word card(const std::string& interface) { return slot(Slot::kInterface, interface); }
Word address(const std::string& ip) { return slot(Slot::kAddress, ip); }
Word destination(const std::string& text) { return slot(Slot::kDestination, text); }
Word with_prefix(const std::string& ip, int prefix) {
  return address(ip) + "/" + number(prefix, 0, address_bits(ip));
}
Word mtu_word(int mtu) { return number(mtu, 68, 1 << 20); }

// "ip" or "ip -6", for what the address family does not show by itself.
CommandWords ip_words(bool v6, const CommandWords& more) {
  CommandWords words = {"ip"};
  if (v6) words.emplace_back("-6");
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Selectors of a Linux route after its destination.
void add_linux_route(CommandWords& words, const RouteEvidence& route) {
  const bool unicast = route.type.empty() || route.type == "unicast";
  if (!unicast) {
    words.push_back(one_of(route.type, {"blackhole", "unreachable", "prohibit", "throw", "local",
                                        "broadcast", "multicast", "anycast", "nat"}));
  }
  words.push_back(destination(route.destination));
  const auto add = [&](const Word& key, const Word& value) {
    words.insert(words.end(), {key, value});
  };
  if (!route.via.empty()) add("via", address(route.via));
  if (!route.dev.empty() && unicast) add("dev", card(route.dev));
  const bool main = route.table.empty() || route.table == "main";
  if (!main) add("table", slot(Slot::kRoutingTable, route.table));
  if (route.metric > 0) add("metric", number(route.metric, 0, UINT32_MAX));
}

bool is_v6_route(const RouteEvidence& route) {
  return is_v6(route.destination) || is_v6(route.via) || is_v6(route.source);
}

CommandWords macos_route(const Word& verb, const RouteEvidence& route) {
  CommandWords words = {"route", "-n", verb};
  words.push_back(is_v6_route(route) ? Word("-inet6") : Word("-inet"));
  words.push_back(destination(route.destination));
  if (!route.via.empty()) {
    words.push_back(address(route.via));
  } else if (!route.dev.empty()) {
    words.insert(words.end(), {"-interface", card(route.dev)});
  }
  return words;
}

}  // namespace

Command remedy_link_up(const std::string& system, const std::string& interface) {
  if (is_macos(system)) return {"ifconfig", card(interface), "up"};
  return {"ip", "link", "set", "dev", card(interface), "up"};
}

Command remedy_set_mtu(const std::string& system, const std::string& interface, int mtu) {
  if (is_macos(system)) return {"ifconfig", card(interface), "mtu", mtu_word(mtu)};
  return {"ip", "link", "set", "dev", card(interface), "mtu", mtu_word(mtu)};
}

Command remedy_arp_on(const std::string& system, const std::string& interface) {
  if (is_macos(system)) return {"ifconfig", card(interface), "arp"};
  return {"ip", "link", "set", "dev", card(interface), "arp", "on"};
}

Command remedy_add_address(const std::string& system, const std::string& ip, int prefix,
                           const std::string& interface) {
  const Word whole = with_prefix(ip, usual_prefix(ip, prefix));
  if (is_macos(system)) {
    return {"ifconfig", card(interface), is_v6(ip) ? Word("inet6") : Word("inet"), whole, "alias"};
  }
  CommandWords words = {"ip", "address", "add", whole, "dev", card(interface)};
  // It was this host's before: to look for another owner would only keep it unusable for a second.
  if (is_v6(ip)) words.emplace_back("nodad");
  return words;
}

Command remedy_delete_address(const std::string& system, const std::string& ip, int prefix,
                              const std::string& interface) {
  if (is_macos(system)) {
    return {"ifconfig", card(interface), is_v6(ip) ? Word("inet6") : Word("inet"), address(ip),
            "-alias"};
  }
  return {"ip", "address", "del", with_prefix(ip, prefix), "dev", card(interface)};
}

Remedy remedy_replace_prefix(const std::string& system, const InterfaceEvidence& interface,
                             const std::string& ip, int wrong, int right) {
  const Command add = remedy_add_address(system, ip, right, interface.name);
  const Command remove = remedy_delete_address(system, ip, wrong, interface.name);
  if (is_macos(system)) return Remedy(remove).run(add);
  // IPv6 knows an address only once; IPv4 may have it twice for a moment, and so keeps routes that
  // name it as their source.
  Remedy remedy = is_v6(ip) ? Remedy(remove).run(add) : Remedy(add).run(remove);
  for (const AddressEvidence& other : interface.addresses) {
    const bool secondary = is_in(other.flags, "secondary");
    if (other.ip == ip || is_v6(ip) || !secondary || other.prefix != wrong) continue;
    if (!same_subnet(other.ip, ip, wrong)) continue;
    remedy.run(remedy_add_address(system, other.ip, other.prefix, interface.name).may_fail());
  }
  return remedy;
}

Command remedy_delete_route(const std::string& system, const RouteEvidence& route) {
  if (is_macos(system)) return macos_route("delete", route);
  CommandWords words = ip_words(is_v6_route(route), {"route", "del"});
  add_linux_route(words, route);
  return words;
}

Command remedy_add_route(const std::string& system, const RouteEvidence& route) {
  if (is_macos(system)) return macos_route("add", route);
  CommandWords words = ip_words(is_v6_route(route), {"route", "add"});
  add_linux_route(words, route);
  if (!route.source.empty()) words.insert(words.end(), {"src", address(route.source)});
  return words;
}

Command remedy_connected_route(const std::string& system, const std::string& ip, int prefix,
                               const std::string& interface) {
  const Word network = destination(network_of(ip, usual_prefix(ip, prefix)));
  if (is_macos(system)) {
    return {"route", "-n",         "add",          is_v6(ip) ? Word("-inet6") : Word("-inet"),
            network, "-interface", card(interface)};
  }
  if (is_v6(ip)) {
    return ip_words(true, {"route", "add", network, "dev", card(interface), "proto", "kernel",
                           "metric", "256"});
  }
  return {"ip",    "route",  "add",   network, "dev", card(interface),
          "proto", "kernel", "scope", "link",  "src", address(ip)};
}

Command remedy_delete_rule(const PolicyRule& rule, bool v6) {
  CommandWords words =
      ip_words(v6, {"rule", "del", "priority", number(rule.priority, 0, UINT32_MAX)});
  const auto add = [&](const Word& key, const std::string& value) {
    if (!value.empty() && value != "all") words.insert(words.end(), {key, destination(value)});
  };
  add("from", rule.from);
  add("to", rule.to);
  return words;
}

Command remedy_delete_neighbour(const std::string& system, const std::string& ip,
                                const std::string& interface) {
  if (is_macos(system)) return {is_v6(ip) ? Word("ndp") : Word("arp"), "-d", address(ip)};
  return {"ip", "neigh", "del", address(ip), "dev", card(interface)};
}

Command remedy_add_vlan(const std::string& parent, const std::string& interface,
                        const std::string& tag) {
  return {"ip",
          "link",
          "add",
          "link",
          card(parent),
          "name",
          card(interface),
          "type",
          "vlan",
          "id",
          slot(Slot::kMatchValue, tag)};
}

Command remedy_add_to_bridge(const std::string& system, const std::string& port,
                             const std::string& bridge) {
  if (is_macos(system)) return {"ifconfig", card(bridge), "addm", card(port)};
  return {"ip", "link", "set", "dev", card(port), "master", card(bridge)};
}

Command remedy_leave_bridge(const std::string& system, const std::string& port,
                            const std::string& bridge) {
  if (is_macos(system)) return {"ifconfig", card(bridge), "deletem", card(port)};
  return {"ip", "link", "set", "dev", card(port), "nomaster"};
}

Command remedy_forward_on_port(const std::string& port) {
  return {"bridge", "link", "set", "dev", card(port), "state", "3"};
}

Remedy remedy_join_ports(const std::vector<std::string>& ports) {
  Remedy remedy;
  for (const std::string& port : ports) {
    remedy.run({"bridge", "link", "set", "dev", card(port), "isolated", "off"});
  }
  return remedy;
}

Command remedy_negotiate_duplex(const std::string& interface) {
  return {"ethtool", "-s", card(interface), "autoneg", "on"};
}

Command remedy_sysctl(const std::string& key, const std::string& value) {
  Word setting = slot(Slot::kSysctlKey, key) + "=";
  for (size_t at = 0; at <= value.size();) {  // some take several numbers with blanks between them
    const size_t end = std::min(value.find(' ', at), value.size());
    if (at > 0) setting = setting + " ";
    setting = setting + slot(Slot::kSysctlValue, value.substr(at, end - at));
    at = end + 1;
  }
  return {"sysctl", "-w", setting};
}

Command remedy_kill(int64_t pid) { return {"kill", pid_word(pid)}; }

Remedy remedy_reserve_ports(const std::string& system, const std::string& ports) {
  if (is_macos(system)) return "choose a window outside the ephemeral range: --port-base 29600";
  return remedy_sysctl("net.ipv4.ip_local_reserved_ports", ports);
}

Command remedy_set_clock(const std::string& system) {
  if (is_macos(system)) return {"sntp", "-sS", "time.apple.com"};
  return {"timedatectl", "set-ntp", "true"};
}

Command remedy_own_name(const std::string& name, const std::string& ip) {
  // Takes the name off every line of /etc/hosts and adds the right line. Written in place, because
  // the file may be a mount of its own that nothing can be moved over. A name's dots mean dots.
  static constexpr char kScript[] =
      "name=$(printf '%s' \"$2\" | sed 's/[.]/\\\\./g') && "
      "hosts=$(sed -E -e \"/^[[:space:]]*#/! s/[[:space:]]+$name([[:space:]]|\\$)/\\\\1/g\" "
      "/etc/hosts) && printf '%s\\n' \"$hosts\" \"$1 $2\" > /etc/hosts";
  return {"sh", "-c", kScript, "sh", address(ip), slot(Slot::kHostName, name)};
}

std::string remedy_show_listener(const std::string& system, int port) {
  if (is_macos(system)) return fmt::format("lsof -nP -iTCP:{}", port);
  return fmt::format("ss -tanp 'sport = :{}'", port);
}

}  // namespace plumbline
