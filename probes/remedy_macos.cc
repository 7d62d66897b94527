#include <fmt/format.h>

#include <algorithm>

#include "probes/remedy.h"

namespace plumbline {

std::string remedy_link_up(const std::string& interface) {
  return fmt::format("sudo ifconfig {} up", interface);
}

std::string remedy_allow_ports(const std::string& from_ip, const std::string& to_ip,
                               const std::string& ports) {
  // pf writes ranges with a colon and lists in braces; the system's own rules include all anchors
  // below com.apple.
  std::string list = ports;
  std::replace(list.begin(), list.end(), '-', ':');
  return fmt::format(
      "echo 'pass in quick proto tcp from {} to {} port {{ {} }}' | sudo pfctl -a "
      "com.apple/plumbline -f -",
      from_ip, to_ip, list);
}

std::string remedy_add_address(const std::string& ip, int prefix, const std::string& interface) {
  const bool v6 = ip.find(':') != std::string::npos;
  const int bits = prefix > 0 ? prefix : (v6 ? 64 : 24);
  return fmt::format("sudo ifconfig {} {} {}/{} alias", interface, v6 ? "inet6" : "inet", ip, bits);
}

std::string remedy_socket_buffers(uint64_t bytes) {
  // The limit covers both directions of a socket and the kernel's own bookkeeping.
  return fmt::format("sudo sysctl -w kern.ipc.maxsockbuf={}", 2 * bytes);
}

std::string remedy_reserve_ports(const std::string& ports) {
  return fmt::format("choose a window outside the ephemeral range instead of {}: --port-base 29600",
                     ports);
}

std::string remedy_show_listener(int port) { return fmt::format("sudo lsof -nP -iTCP:{}", port); }

std::string remedy_governor() { return "sudo pmset -a lowpowermode 0"; }

std::string remedy_clock_source() { return "restart the machine"; }

std::string remedy_own_name(const std::string& name, const std::string& ip) {
  return fmt::format("echo '{} {}' | sudo tee -a /etc/hosts", ip, name);
}

}  // namespace plumbline
