#include "lab/firewall.h"

#include <fmt/format.h>

#include <set>

#include "core/number.h"
#include "lab/address.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

std::string nft_file(const std::string& netns, const std::string& rules) {
  return in_netns(netns, "nft -f - <<'END'") + "\n" + rules + "END";
}

// Everything is dropped but what was asked for: no ping either.
std::string default_deny(const Lab& lab) {
  std::string sources;
  std::set<std::string> seen;
  for (const LabHost& host : lab.hosts) {
    for (const LabLink& link : host.links) {
      if (!seen.insert(link.subnet).second) continue;
      sources +=
          fmt::format("    {} saddr {} tcp dport {{ {} }} accept\n",
                      is_v6(link.subnet) ? "ip6" : "ip", link.subnet, port_words(lab.ports, ", "));
    }
  }
  return fmt::format(
      "table inet filter {{\n"
      "  chain input {{\n"
      "    type filter hook input priority 0; policy drop;\n"
      "    iif \"lo\" accept\n"
      "    ct state established,related accept\n"
      "    icmpv6 type {{ nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert }} accept\n"
      "    tcp dport 22 accept\n"
      "{}"
      "  }}\n"
      "  chain forward {{\n"
      "    type filter hook forward priority 0; policy drop;\n"
      "  }}\n"
      "}}\n",
      sources);
}

// The rules that firewalld 1.3 writes for its zone "public" with the ports added, less its empty
// chains.
std::string firewalld(const Lab& lab) {
  std::string ports;
  for (const auto& [first, last] : runs_of(lab.ports)) {
    ports += fmt::format("    tcp dport {} accept\n",
                         first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
  }
  return fmt::format(
      "table inet firewalld {{\n"
      "  chain filter_PREROUTING {{\n"
      "    type filter hook prerouting priority filter + 10; policy accept;\n"
      "    icmpv6 type {{ nd-router-advert, nd-neighbor-solicit }} accept\n"
      "    meta nfproto ipv6 fib saddr . mark . iif oif missing drop\n"
      "  }}\n"
      "  chain filter_IN_public_allow {{\n"
      "    tcp dport 22 accept\n"
      "    ip6 daddr fe80::/64 udp dport 546 accept\n"
      "{}"
      "  }}\n"
      "  chain filter_IN_public {{\n"
      "    jump filter_IN_public_allow\n"
      "    meta l4proto {{ icmp, ipv6-icmp }} accept\n"
      "    reject with icmpx type admin-prohibited\n"
      "  }}\n"
      "  chain filter_INPUT_ZONES {{\n"
      "    goto filter_IN_public\n"
      "  }}\n"
      "  chain filter_INPUT {{\n"
      "    type filter hook input priority filter + 10; policy accept;\n"
      "    ct state {{ established, related }} accept\n"
      "    ct status dnat accept\n"
      "    iifname \"lo\" accept\n"
      "    ct state invalid drop\n"
      "    jump filter_INPUT_ZONES\n"
      "    reject with icmpx type admin-prohibited\n"
      "  }}\n"
      "  chain filter_OUTPUT {{\n"
      "    type filter hook output priority filter + 10; policy accept;\n"
      "    ct state {{ established, related }} accept\n"
      "    oifname \"lo\" accept\n"
      "  }}\n"
      "}}\n",
      ports);
}

}  // namespace

std::vector<std::string> healthy_firewall_commands(const Lab& lab, size_t index) {
  std::vector<std::string> out;
  const std::string& netns = lab.hosts[index].netns;
  if (lab.topology.firewall == "default_deny") out.push_back(nft_file(netns, default_deny(lab)));
  if (lab.topology.firewall == "firewalld") out.push_back(nft_file(netns, firewalld(lab)));
  if (lab.topology.ping != "blocked") return out;
  // By a rule on one host, by the kernel's own switch on the next.
  if (index % 2 == 0) {
    out.push_back(nft_file(netns,
                           "table inet quiet {\n"
                           "  chain input {\n"
                           "    type filter hook input priority -5; policy accept;\n"
                           "    icmp type echo-request drop\n"
                           "    icmpv6 type echo-request drop\n"
                           "  }\n"
                           "}\n"));
  } else {
    out.push_back(in_netns(netns, "sysctl -qw net.ipv4.icmp_echo_ignore_all=1"));
    out.push_back(in_netns(netns, "sysctl -qw net.ipv6.icmp.echo_ignore_all=1"));
  }
  return out;
}

}  // namespace plumbline
