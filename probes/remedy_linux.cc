#include <fmt/format.h>

#include <algorithm>

#include "probes/remedy.h"

namespace plumbline {
namespace {

bool is_v6(const std::string& ip) { return ip.find(':') != std::string::npos; }

}  // namespace

std::string remedy_link_up(const std::string& interface) {
  return fmt::format("sudo ip link set {} up", interface);
}

std::string remedy_allow_ports(const std::string& from_ip, const std::string& to_ip,
                               const std::string& ports) {
  // The multiport match writes ranges with a colon.
  std::string list = ports;
  std::replace(list.begin(), list.end(), '-', ':');
  return fmt::format("sudo {} -I INPUT -s {} -d {} -p tcp -m multiport --dports {} -j ACCEPT",
                     is_v6(to_ip) ? "ip6tables" : "iptables", from_ip, to_ip, list);
}

std::string remedy_add_address(const std::string& ip, int prefix, const std::string& interface) {
  const int bits = prefix > 0 ? prefix : (is_v6(ip) ? 64 : 24);
  return fmt::format("sudo ip address add {}/{} dev {}", ip, bits, interface);
}

std::string remedy_socket_buffers(uint64_t bytes) {
  return fmt::format("sudo sysctl -w net.core.rmem_max={0} net.core.wmem_max={0}", bytes);
}

std::string remedy_reserve_ports(const std::string& ports) {
  return fmt::format("sudo sysctl -w net.ipv4.ip_local_reserved_ports={}", ports);
}

std::string remedy_show_listener(int port) {
  return fmt::format("sudo ss -tanp 'sport = :{}'", port);
}

std::string remedy_governor() { return "sudo cpupower frequency-set -g performance"; }

std::string remedy_clock_source() {
  return "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource";
}

std::string remedy_own_name(const std::string& name, const std::string& ip) {
  std::string pattern;
  for (const char c : name) pattern += c == '.' ? std::string("\\.") : std::string(1, c);
  // Takes the name off every loopback line of /etc/hosts and adds the right line at the end.
  return fmt::format(
      "sudo sed -i -E -e '/^(127\\.|::1)/ s/[[:space:]]+{}([[:space:]]|$)/\\1/g' -e '$a {} {}' "
      "/etc/hosts",
      pattern, ip, name);
}

}  // namespace plumbline
