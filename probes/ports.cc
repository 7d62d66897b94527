#include "probes/ports.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "core/host/host_parse.h"
#include "core/number.h"
#include "core/ranges.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr int kLastPort = 65535;
// Where suggested windows may lie: above the well-known services, below the usual ephemeral ranges.
constexpr int kFirstWindow = 20000, kLastWindow = 32000;

bool in_range(int port, std::pair<int, int> range) {
  return port >= range.first && port <= range.second;
}

// The first address on which the port is not free decides about it.
LocalPort try_port(const std::vector<NicAddress>& addresses, int port) {
  LocalPort state;
  state.port = port;
  state.free = true;
  for (const NicAddress& address : addresses) {
    auto where = make_socket_address(address.ip, static_cast<uint16_t>(port));
    if (where) {
      auto listener = listen_on(*where, {});
      if (listener) continue;
      state.error = listener.error();
    } else {
      state.error = where.error();
    }
    state.free = false;
    if (state.error.code == ErrorCode::kBusy) {
      state.owner = port_owner(static_cast<uint16_t>(port));
      return state;
    }
  }
  return state;
}

bool is_free(const std::vector<NicAddress>& addresses, const std::vector<int>& ports) {
  const auto states = try_ports(addresses, ports);
  return all_of(states, [](const LocalPort& s) { return s.free; });
}

}  // namespace

std::vector<int> PortPlan::window() const {
  std::vector<int> ports;
  for (int port = std::max(base, 1); port < base + ranks && port <= kLastPort; ++port) {
    ports.push_back(port);
  }
  return ports;
}

std::vector<int> PortPlan::all_ports() const {
  std::vector<int> ports = window();
  if (master >= 1 && master <= kLastPort) ports.push_back(master);
  sort_unique(ports);
  return ports;
}

PortPlan plan_of(const Job& job) { return {job.port_base, job.ranks, job.master_port}; }

PlanFault plan_fault(const PortPlan& plan) {
  const int last = plan.base + plan.ranks - 1;
  const std::string window = fmt::format("{}-{}", plan.base, last);
  if (plan.base < 1 || last > kLastPort) {
    return {
        fmt::format("the window {} of {} ranks leaves the port range 1-65535", window, plan.ranks),
        fmt::format("--port-base {}", std::max(1, std::min(29600, kLastPort + 1 - plan.ranks)))};
  }
  if (plan.master < 1 || plan.master > kLastPort) {
    return {fmt::format("master port {} is outside the port range 1-65535", plan.master),
            "--master-port 29500"};
  }
  if (plan.master < plan.base || plan.master > last) return {};
  const int above = plan.master + 100;
  const int free_base = above + plan.ranks - 1 <= kLastPort ? above : plan.master - plan.ranks;
  return {
      fmt::format("master port {} lies in the window {} where ranks listen", plan.master, window),
      fmt::format("--port-base {}", std::max(1, free_base))};
}

PlanFault plan_fault(const EvidenceSet& evidence) {
  return evidence.stack ? PlanFault{} : plan_fault(plan_of(evidence.job));
}

std::optional<std::pair<int, int>> port_span(const std::string& text, char mark) {
  const size_t between = text.find(mark);
  const auto first = parse_port(text.substr(0, between));
  const auto last = between == std::string::npos ? first : parse_port(text.substr(between + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair{*first, *last};
}

std::pair<int, int> ephemeral_range(const HostEvidence& host) {
  const auto linux_range = host.sysctls.find("net.ipv4.ip_local_port_range");
  if (linux_range != host.sysctls.end()) return parse_port_range(linux_range->second);
  const auto first = host.sysctls.find("net.inet.ip.portrange.first");
  const auto last = host.sysctls.find("net.inet.ip.portrange.last");
  if (first == host.sysctls.end() || last == host.sysctls.end()) return {0, 0};
  return parse_port_range(first->second + " " + last->second);
}

std::vector<int> kept_ports(const HostEvidence& host) {
  const auto kept = host.sysctls.find("net.ipv4.ip_local_reserved_ports");
  if (kept == host.sysctls.end()) return {};
  return parse_port_list(trimmed(kept->second)).value_or(std::vector<int>{});
}

std::string suggest_ports(const EvidenceSet& evidence, bool master_too) {
  const int ports = std::max(1, evidence.job.ranks) + (master_too ? 1 : 0);
  std::set<int> used = {evidence.job.master_port};
  std::vector<std::pair<int, int>> ephemeral;
  for (const HostEvidence& host : evidence.hosts) {
    ephemeral.push_back(ephemeral_range(host));
    for (const SocketEvidence& socket : host.sockets) used.insert(socket.port);
  }
  // From the usual base upwards, then from the first window on.
  for (const int start : {evidence.job.port_base + 100, kFirstWindow}) {
    for (int base = std::max(start, 1024); base + ports - 1 <= kLastWindow; base += ports) {
      bool good = true;
      for (int port = base; port < base + ports; ++port) {
        good = good && used.count(port) == 0 &&
               none_of(ephemeral, [&](const auto& range) { return in_range(port, range); });
      }
      if (!good) continue;
      if (!master_too) return fmt::format("--port-base {}", base);
      return fmt::format("--port-base {} --master-port {}", base, base + ports - 1);
    }
  }
  return {};
}

std::vector<LocalPort> try_ports(const std::vector<NicAddress>& addresses,
                                 const std::vector<int>& ports) {
  std::vector<LocalPort> states;
  for (const int port : ports) states.push_back(try_port(addresses, port));
  return states;
}

Expected<int> find_free_window(const std::vector<NicAddress>& addresses, int ranks, int master_port,
                               std::pair<int, int> ephemeral,
                               const std::function<bool(int base)>& usable) {
  const int places = ranks > 0 ? (kLastWindow - kFirstWindow) / ranks : 0;
  for (int i = 0; i < places; ++i) {
    const int place = static_cast<int>((getpid() + int64_t{i}) % places);
    const PortPlan plan = {kFirstWindow + place * ranks, ranks, master_port};
    const std::vector<int> window = plan.window();
    const bool apart =
        none_of(window, [&](int port) { return port == master_port || in_range(port, ephemeral); });
    if (apart && is_free(addresses, window) && (!usable || usable(plan.base))) return plan.base;
  }
  return fail(ErrorCode::kBusy,
              fmt::format("find {} free ports in a row between {} and {}", ranks, kFirstWindow,
                          kLastWindow),
              "choose a window with --port-base, or end what holds the ports");
}

Expected<std::vector<int>> parse_port_list(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c != ' ' && c != '[' && c != ']') plain += c;
  }
  std::vector<int> ports;
  for (std::string_view rest = plain; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const size_t dash = part.find('-');
    const auto first = parse_port(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_port(part.substr(dash + 1));
    if (!first || !last || *first > *last) {
      return fail(ErrorCode::kConfig, fmt::format("'{}' is no port and no range of ports", part),
                  "write ports from 1 to 65535 such as 29600-29603,65432");
    }
    for (int port = *first; port <= *last; ++port) ports.push_back(port);
  }
  sort_unique(ports);
  return ports;
}

std::string format_port_list(std::vector<int> ports) {
  std::sort(ports.begin(), ports.end());
  std::string out;
  for (size_t i = 0; i < ports.size();) {
    size_t last = i;
    while (last + 1 < ports.size() && ports[last + 1] <= ports[last] + 1) ++last;
    if (!out.empty()) out += ",";
    out += std::to_string(ports[i]);
    if (ports[last] != ports[i]) out += "-" + std::to_string(ports[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace plumbline
