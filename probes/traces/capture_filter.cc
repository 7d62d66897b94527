#include <fmt/format.h>

#include <algorithm>

#include "probes/traces/capture.h"

namespace plumbline {
namespace {

// "(host 10.0.0.1 or host fe80::1)"; empty for no addresses. Scopes are not of the language.
std::string any_host(const std::vector<std::string>& ips) {
  std::string text;
  for (const std::string& ip : ips) {
    text += fmt::format("{}host {}", text.empty() ? "(" : " or ", ip.substr(0, ip.find('%')));
  }
  return text.empty() ? text : text + ")";
}

// "(port 29500 or portrange 29600-29603)"; empty for no ports.
std::string any_port(std::vector<int> ports) {
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  std::string text;
  for (size_t i = 0; i < ports.size();) {
    size_t last = i;
    while (last + 1 < ports.size() && ports[last + 1] == ports[last] + 1) ++last;
    text += text.empty() ? "(" : " or ";
    text += last == i ? fmt::format("port {}", ports[i])
                      : fmt::format("portrange {}-{}", ports[i], ports[last]);
    i = last + 1;
  }
  return text.empty() ? text : text + ")";
}

std::string both(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a + b;
  return a + " and " + b;
}

}  // namespace

std::string capture_filter(const std::vector<std::string>& own,
                           const std::vector<std::string>& peers, const std::vector<int>& ports) {
  const std::string between = both(any_host(own), any_host(peers));
  // "host" means ARP's addresses too. ICMP errors come from routers as well, and neighbour
  // solicitations go to a group: one end is enough for these.
  return fmt::format("({}) or ({}) or ({})", both("(tcp or udp)", both(any_port(ports), between)),
                     both("arp", between), both("(icmp or icmp6)", any_host(own)));
}

}  // namespace plumbline
