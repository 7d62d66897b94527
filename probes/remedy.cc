// ip(8), bridge(8), sysctl(8) on Linux; ifconfig(8), route(8), arp(8) on macOS.
#include "probes/remedy.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/shell_words.h"
#include "probes/subnet.h"

namespace plumbline {
namespace {

bool is_macos(const std::string& system) { return system == "macos"; }

int usual_prefix(const std::string& ip, int prefix) {
  return prefix > 0 ? prefix : (is_v6(ip) ? 64 : 24);
}

// "ip" or "ip -6", for what the address family does not show by itself.
const char* ip_command(bool v6) { return v6 ? "ip -6" : "ip"; }

bool is_main(const std::string& table) { return table.empty() || table == "main"; }

// Selectors of a Linux route after its destination.
std::string linux_route(const RouteEvidence& route) {
  const bool unicast = route.type.empty() || route.type == "unicast";
  std::string text = unicast ? "" : shell_word(route.type) + " ";
  text += shell_word(route.destination);
  if (!route.via.empty()) text += " via " + shell_word(route.via);
  if (!route.dev.empty() && unicast) text += " dev " + shell_word(route.dev);
  if (!is_main(route.table)) text += " table " + shell_word(route.table);
  if (route.metric > 0) text += fmt::format(" metric {}", route.metric);
  return text;
}

bool is_v6_route(const RouteEvidence& route) {
  return is_v6(route.destination) || is_v6(route.via) || is_v6(route.source);
}

std::string macos_route(const char* verb, const RouteEvidence& route) {
  std::string text = fmt::format("route -n {} {} {}", verb, is_v6_route(route) ? "-inet6" : "-inet",
                                 shell_word(route.destination));
  if (!route.via.empty()) {
    text += " " + shell_word(route.via);
  } else if (!route.dev.empty()) {
    text += " -interface " + shell_word(route.dev);
  }
  return text;
}

}  // namespace

std::string remedy_link_up(const std::string& system, const std::string& interface) {
  if (is_macos(system)) return fmt::format("ifconfig {} up", shell_word(interface));
  return fmt::format("ip link set {} up", shell_word(interface));
}

std::string remedy_set_mtu(const std::string& system, const std::string& interface, int mtu) {
  if (is_macos(system)) return fmt::format("ifconfig {} mtu {}", shell_word(interface), mtu);
  return fmt::format("ip link set {} mtu {}", shell_word(interface), mtu);
}

std::string remedy_arp_on(const std::string& system, const std::string& interface) {
  if (is_macos(system)) return fmt::format("ifconfig {} arp", shell_word(interface));
  return fmt::format("ip link set {} arp on", shell_word(interface));
}

std::string remedy_add_address(const std::string& system, const std::string& ip, int prefix,
                               const std::string& interface) {
  const int bits = usual_prefix(ip, prefix);
  if (is_macos(system)) {
    return fmt::format("ifconfig {} {} {}/{} alias", shell_word(interface),
                       is_v6(ip) ? "inet6" : "inet", shell_word(ip), bits);
  }
  // It was this host's before: to look for another owner would only keep it unusable for a second.
  return fmt::format("ip address add {}/{} dev {}{}", shell_word(ip), bits, shell_word(interface),
                     is_v6(ip) ? " nodad" : "");
}

std::string remedy_delete_address(const std::string& system, const std::string& ip, int prefix,
                                  const std::string& interface) {
  if (is_macos(system)) {
    return fmt::format("ifconfig {} {} {} -alias", shell_word(interface),
                       is_v6(ip) ? "inet6" : "inet", shell_word(ip));
  }
  return fmt::format("ip address del {}/{} dev {}", shell_word(ip), prefix, shell_word(interface));
}

std::string remedy_replace_prefix(const std::string& system, const InterfaceEvidence& interface,
                                  const std::string& ip, int wrong, int right) {
  if (is_macos(system)) {
    return remedy_delete_address(system, ip, wrong, interface.name) + "\n" +
           remedy_add_address(system, ip, right, interface.name);
  }
  const std::string add = remedy_add_address(system, ip, right, interface.name);
  const std::string remove = remedy_delete_address(system, ip, wrong, interface.name);
  // IPv6 knows an address only once; IPv4 may have it twice for a moment, and so keeps routes that
  // name it as their source.
  std::string text = is_v6(ip) ? remove + "\n" + add : add + "\n" + remove;
  for (const AddressEvidence& other : interface.addresses) {
    const bool secondary =
        std::find(other.flags.begin(), other.flags.end(), "secondary") != other.flags.end();
    if (other.ip == ip || is_v6(ip) || !secondary || other.prefix != wrong) continue;
    if (!same_subnet(other.ip, ip, wrong)) continue;
    text += "\n" + remedy_add_address(system, other.ip, other.prefix, interface.name) +
            " 2>/dev/null || true";
  }
  return text;
}

std::string remedy_delete_route(const std::string& system, const RouteEvidence& route) {
  if (is_macos(system)) return macos_route("delete", route);
  return fmt::format("{} route del {}", ip_command(is_v6_route(route)), linux_route(route));
}

std::string remedy_add_route(const std::string& system, const RouteEvidence& route) {
  if (is_macos(system)) return macos_route("add", route);
  std::string text =
      fmt::format("{} route add {}", ip_command(is_v6_route(route)), linux_route(route));
  if (!route.source.empty()) text += " src " + shell_word(route.source);
  return text;
}

std::string remedy_connected_route(const std::string& system, const std::string& ip, int prefix,
                                   const std::string& interface) {
  const std::string network = network_of(ip, usual_prefix(ip, prefix));
  if (is_macos(system)) {
    return fmt::format("route -n add {} {} -interface {}", is_v6(ip) ? "-inet6" : "-inet", network,
                       shell_word(interface));
  }
  if (is_v6(ip)) {
    return fmt::format("ip -6 route add {} dev {} proto kernel metric 256", network,
                       shell_word(interface));
  }
  return fmt::format("ip route add {} dev {} proto kernel scope link src {}", network,
                     shell_word(interface), shell_word(ip));
}

std::string remedy_delete_rule(const PolicyRule& rule, bool v6) {
  std::string text = fmt::format("{} rule del priority {}", ip_command(v6), rule.priority);
  if (!rule.from.empty() && rule.from != "all") text += " from " + shell_word(rule.from);
  if (!rule.to.empty() && rule.to != "all") text += " to " + shell_word(rule.to);
  return text;
}

std::string remedy_delete_neighbour(const std::string& system, const std::string& ip,
                                    const std::string& interface) {
  if (is_macos(system)) {
    return is_v6(ip) ? fmt::format("ndp -d {}", shell_word(ip))
                     : fmt::format("arp -d {}", shell_word(ip));
  }
  return fmt::format("ip neigh del {} dev {}", shell_word(ip), shell_word(interface));
}

std::string remedy_add_to_bridge(const std::string& system, const std::string& port,
                                 const std::string& bridge) {
  if (is_macos(system)) {
    return fmt::format("ifconfig {} addm {}", shell_word(bridge), shell_word(port));
  }
  return fmt::format("ip link set {} master {}", shell_word(port), shell_word(bridge));
}

std::string remedy_forward_on_port(const std::string& port) {
  return fmt::format("bridge link set dev {} state 3", shell_word(port));
}

std::string remedy_join_ports(const std::vector<std::string>& ports) {
  std::string text;
  for (const std::string& port : ports) {
    text += (text.empty() ? "" : "\n") +
            fmt::format("bridge link set dev {} isolated off", shell_word(port));
  }
  return text;
}

std::string remedy_sysctl(const std::string& key, const std::string& value) {
  return fmt::format("sysctl -w {}", shell_word(key) + "=" + shell_word(value));
}

std::string remedy_kill(int64_t pid) { return fmt::format("kill {}", pid); }

std::string remedy_socket_buffers(const std::string& system, int64_t bytes) {
  // On macOS the limit covers both directions of a socket and the kernel's own bookkeeping.
  if (is_macos(system)) return remedy_sysctl("kern.ipc.maxsockbuf", std::to_string(2 * bytes));
  return fmt::format("sysctl -w net.core.rmem_max={0} net.core.wmem_max={0}", bytes);
}

std::string remedy_reserve_ports(const std::string& system, const std::string& ports) {
  if (is_macos(system)) return "choose a window outside the ephemeral range: --port-base 29600";
  return fmt::format("sysctl -w net.ipv4.ip_local_reserved_ports={}", ports);
}

std::string remedy_show_listener(const std::string& system, int port) {
  if (is_macos(system)) return fmt::format("lsof -nP -iTCP:{}", port);
  return fmt::format("ss -tanp 'sport = :{}'", port);
}

std::string remedy_set_clock(const std::string& system) {
  if (is_macos(system)) return "sntp -sS time.apple.com";
  return "timedatectl set-ntp true";
}

std::string remedy_own_name(const std::string& name, const std::string& ip) {
  std::string pattern;
  for (const char c : name) pattern += c == '.' ? std::string("\\.") : std::string(1, c);
  // Takes the name off every line of /etc/hosts and adds the right line. Written in place, because
  // the file may be a mount of its own that nothing can be moved over.
  return fmt::format(
      "hosts=$(sed -E -e '/^[[:space:]]*#/! s/[[:space:]]+{}([[:space:]]|$)/\\1/g' /etc/hosts) && "
      "printf '%s\\n' \"$hosts\" '{} {}' > /etc/hosts",
      pattern, ip, name);
}

}  // namespace plumbline
