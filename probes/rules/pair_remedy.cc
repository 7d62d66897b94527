#include "probes/rules/pair_remedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "probes/filters/evaluate.h"
#include "probes/port_list.h"

namespace plumbline {
namespace {

bool is_v6(const std::string& ip) { return ip.find(':') != std::string::npos; }

// firewalld says "running", ufw "active", the application firewall "enabled", perhaps with more
// behind it: "enabled, stealth".
bool says_on(const FilterSource& source) {
  const std::string word = source.state.substr(0, source.state.find(','));
  return word == "active" || word == "enabled" || word == "running";
}
bool runs(const HostEvidence* host, const std::string& tool) {
  if (host == nullptr) return false;
  return std::any_of(
      host->filter_sources.begin(), host->filter_sources.end(),
      [&](const FilterSource& s) { return s.tool == tool && s.present && says_on(s); });
}
bool present(const HostEvidence* host, const std::string& tool) {
  return host != nullptr &&
         std::any_of(host->filter_sources.begin(), host->filter_sources.end(),
                     [&](const FilterSource& s) { return s.tool == tool && s.present; });
}

// "29600:29603,29500": ranges with another sign between their ends.
std::string ports_with(const std::vector<int>& ports, char range_sign) {
  std::string text = format_port_list(ports);
  std::replace(text.begin(), text.end(), '-', range_sign);
  return text;
}

std::string for_firewalld(const Passage& passage) {
  std::string out;
  std::stringstream list(format_port_list(passage.ports));
  for (std::string range; std::getline(list, range, ',');) {
    out += fmt::format(
        "{}firewall-cmd --add-rich-rule='rule family=\"{}\" source "
        "address=\"{}\" port port=\"{}\" protocol=\"tcp\" accept'",
        out.empty() ? "" : "\n", is_v6(passage.peer_ip) ? "ipv6" : "ipv4", passage.peer_ip, range);
  }
  return out;
}

std::string for_ufw(const Passage& passage) {
  const std::string ports = ports_with(passage.ports, ':');
  if (passage.own_ports) {
    return fmt::format("ufw insert 1 allow proto tcp from {} to {} port {}", passage.peer_ip,
                       passage.own_ip, ports);
  }
  return fmt::format("ufw insert 1 allow out proto tcp from {} to {} port {}", passage.own_ip,
                     passage.peer_ip, ports);
}

std::string for_macos(const HostEvidence* host, const Passage& passage) {
  if (passage.incoming && passage.own_ports && runs(host, "alf")) {
    return "/usr/libexec/ApplicationFirewall/socketfilterfw --add \"$(command -v "
           "python3)\"\n/usr/libexec/ApplicationFirewall/socketfilterfw --unblockapp "
           "\"$(command -v python3)\"\n# the same for every program of the job that listens";
  }
  return fmt::format(
      "echo 'pass {} quick proto tcp from {} to {} port {{ {} }}' | pfctl -a "
      "com.apple/plumbline -f -",
      passage.own_ports ? "in" : "out", passage.own_ports ? passage.peer_ip : passage.own_ip,
      passage.own_ports ? passage.own_ip : passage.peer_ip, ports_with(passage.ports, ':'));
}

std::string for_iptables(const Passage& passage) {
  // The ports are the destination on the way to their owner, the source on the way back.
  const bool to_owner = passage.incoming == passage.own_ports;
  return fmt::format("{} -I {} -s {} -d {} -p tcp -m multiport --{} {} -j ACCEPT",
                     is_v6(passage.peer_ip) ? "ip6tables" : "iptables",
                     passage.incoming ? "INPUT" : "OUTPUT",
                     passage.incoming ? passage.peer_ip : passage.own_ip,
                     passage.incoming ? passage.own_ip : passage.peer_ip,
                     to_owner ? "dports" : "sports", ports_with(passage.ports, ':'));
}

}  // namespace

std::string remedy_open(const HostEvidence* host, const FilterRule* rule, const Passage& passage) {
  if (rule == nullptr) return remedy_open(host, passage);
  RemedyFor what;
  what.incoming = passage.own_ports;
  what.own_ip = passage.own_ip;
  what.peer_ip = passage.peer_ip;
  what.ports = passage.ports;
  for (const char* tool : {"ufw", "firewalld"}) {
    if (runs(host, tool)) what.front_ends.emplace_back(tool);
  }
  std::string out;
  std::stringstream lines(remedy_for_rule(*rule, what));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) out += (out.empty() ? "" : "\n") + line;
  }
  if (!out.empty()) return out;
  return "# take away or narrow: " + describe(*rule);
}

std::string remedy_open(const HostEvidence* host, const Passage& passage) {
  if (host != nullptr && host->system == "macos") return for_macos(host, passage);
  if (runs(host, "ufw")) return for_ufw(passage);
  if (runs(host, "firewalld") && passage.own_ports) return for_firewalld(passage);
  const std::string look = fmt::format(
      "# find the rule that stops TCP {} {} on {} {} and let it pass there:\nnft -a list "
      "ruleset; iptables-save; tc filter show",
      passage.incoming ? "from" : "to", passage.peer_ip,
      passage.ports.size() == 1 ? "port" : "ports", format_port_list(passage.ports));
  if (present(host, "iptables") || host == nullptr) {
    return look + "\n# for iptables:\n" + for_iptables(passage);
  }
  return look;
}

std::string remedy_route_mtu(const HostEvidence* host, const std::string& peer_ip,
                             const std::string& own_ip, const std::string& via,
                             const std::string& dev, int mtu) {
  if (host != nullptr && host->system == "macos") {
    return dev.empty() ? fmt::format("route change -host {} -mtu {}", peer_ip, mtu)
                       : fmt::format("ifconfig {} mtu {}", dev, mtu);
  }
  return fmt::format("ip {}route replace {}/{}{}{} src {} mtu {}", is_v6(peer_ip) ? "-6 " : "",
                     peer_ip, is_v6(peer_ip) ? 128 : 32, via.empty() ? "" : " via " + via,
                     dev.empty() ? "" : " dev " + dev, own_ip, mtu);
}

std::string join_remedies(const std::string& first, const std::string& second) {
  std::vector<std::string> lines;
  for (const std::string* text : {&first, &second}) {
    std::stringstream stream(*text);
    for (std::string line; std::getline(stream, line);) {
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
    }
  }
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "\n") + line;
  return out;
}

}  // namespace plumbline
