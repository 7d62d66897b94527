#include "probes/evidence_query.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/number.h"
#include "core/ranges.h"

namespace plumbline {

const JobHost* find_job_host(const EvidenceSet& evidence, const std::string& name) {
  return find_where(evidence.job.hosts, [&](const JobHost& host) { return host.name == name; });
}

const InterfaceEvidence* find_interface(const HostEvidence& host, const std::string& name) {
  const auto it = std::find_if(host.interfaces.begin(), host.interfaces.end(),
                               [&](const InterfaceEvidence& i) { return i.name == name; });
  return name.empty() || it == host.interfaces.end() ? nullptr : &*it;
}

const AddressEvidence* find_address(const InterfaceEvidence& interface, const std::string& ip) {
  return find_where(interface.addresses, [&](const AddressEvidence& a) { return a.ip == ip; });
}

const InterfaceEvidence* interface_of(const HostEvidence& host, const std::string& ip) {
  const InterfaceEvidence* best = nullptr;
  for (const InterfaceEvidence& interface : host.interfaces) {
    if (find_address(interface, ip) == nullptr) continue;
    // The same address twice: the card rather than the dummy, what is up rather than what is down.
    const auto worth = [](const InterfaceEvidence& i) { return 2 * is_wired(i) + i.up; };
    if (best == nullptr || worth(interface) > worth(*best)) best = &interface;
  }
  if (best != nullptr) return best;
  for (const InterfaceEvidence& interface : host.interfaces) {
    if (interface.kind != "loopback" || !interface.up || !is_loopback_ip(ip)) continue;
    for (const AddressEvidence& own : interface.addresses) {
      if (own.prefix > 0 && same_subnet(own.ip, ip, own.prefix)) return &interface;
    }
  }
  return nullptr;
}

const InterfaceEvidence* data_interface(const JobHost& job, const HostEvidence& host,
                                        const std::string& ip) {
  if (const InterfaceEvidence* carrier = interface_of(host, ip)) return carrier;
  return find_interface(host, job.interface);
}

std::vector<Cidr> data_of(const JobHost& job) {
  std::vector<Cidr> out;
  for (const std::string& text : job.data) out.push_back(parse_cidr(text));
  return out;
}

const std::vector<int>& ports_of(const Job& job, const std::string& host) {
  for (const JobHost& each : job.hosts) {
    if (each.name == host && each.ports) return *each.ports;
  }
  return job.ports;
}

std::vector<int> ports_between(const Job& job, const std::string& from, const std::string& to) {
  std::vector<int> out = ports_of(job, to);
  for (const JobHost& each : job.hosts) {
    const auto never = each.uncalled.find(from);
    if (each.name != to || never == each.uncalled.end()) continue;
    std::erase_if(out, [&](int port) { return is_in(never->second, port); });
  }
  return out;
}

bool calls_nobody(const EvidenceSet& evidence, const PairEvidence& pair) {
  return evidence.stack && ports_between(evidence.job, pair.from, pair.to).empty();
}

std::pair<int, int> range_of(const Job& job, const std::string& host, int port) {
  for (const JobHost& each : job.hosts) {
    if (each.name != host) continue;
    for (const PortSample& sample : each.samples) {
      if (sample.port == port) return {sample.first, sample.last};
    }
  }
  return {port, port};
}

bool only_loopback(const JobHost& job) {
  const auto data = data_of(job);
  return !data.empty() && all_of(data, [](const Cidr& cidr) { return is_loopback_ip(cidr.ip); });
}

bool has_facts(const HostEvidence& host) { return !host.interfaces.empty(); }

std::string lack_of_facts(const HostEvidence& host) {
  if (!host.agent_error.empty()) return "nothing is known of this host: " + host.agent_error;
  return "nothing is known of this host: there was no agent to ask";
}

std::string same_as_earlier(const EvidenceSet& evidence, const JobHost& job) {
  for (const JobHost& earlier : evidence.job.hosts) {
    if (&earlier == &job || earlier.name == job.name) return {};
    if (earlier.reached_by == "local" && job.reached_by == "local" && earlier.data == job.data) {
      return earlier.name;
    }
  }
  return {};
}

bool is_socket_beside_ethernet(const HostEvidence& host, const std::string& rdma_device) {
  const bool studio = host.model == "Mac15,14" || host.model == "Mac16,9";
  return studio && rdma_device == "rdma_en2";
}

bool is_usable(const InterfaceEvidence& interface) {
  return interface.up && interface.carrier.value_or(true);
}

bool is_wired(const InterfaceEvidence& interface) {
  if (interface.kind == "virtual") return !interface.parent.empty();  // macvlan, not dummy
  return interface.kind != "loopback" && interface.kind != "tunnel";
}

std::string describe_bit_rate(int64_t bits_per_second) {
  constexpr int64_t kGiga = 1'000'000'000, kMega = 1'000'000;
  if (bits_per_second >= kGiga && bits_per_second % kGiga == 0) {
    return fmt::format("{} Gbit/s", bits_per_second / kGiga);
  }
  return fmt::format("{} Mbit/s", bits_per_second / kMega);
}

std::string describe_interface(const InterfaceEvidence& interface) {
  const bool signal = interface.carrier.value_or(true);
  std::string text = fmt::format("{}: {}, {}", interface.name, interface.kind,
                                 !interface.up ? "down"
                                 : !signal     ? "up, no carrier"
                                               : "up");
  if (interface.speed_bps) text += ", " + describe_bit_rate(*interface.speed_bps);
  if (interface.mtu > 0) text += fmt::format(", MTU {}", interface.mtu);
  if (!interface.master.empty()) text += ", member of " + interface.master;
  for (const AddressEvidence& address : interface.addresses) {
    text += fmt::format(", {}/{}", address.ip, address.prefix);
  }
  return text;
}

std::optional<bool> reaches(const PairEvidence& pair) {
  if (!pair.skipped.empty()) return std::nullopt;
  bool tried = false;
  for (const PortTry& attempt : pair.ports) {
    if (attempt.result == "not_tried") continue;
    tried = true;
    // A refusal that no ICMP error brought is the peer's own RST.
    const bool refused = attempt.result == "refused" && !attempt.icmp;
    if (attempt.result == "connected" || attempt.result == "reset" || refused) return true;
  }
  if (pair.ping && pair.ping->unavailable.empty() && pair.ping->sent > 0) {
    tried = true;
    if (pair.ping->received > 0) return true;
  }
  if (!tried) return std::nullopt;
  return false;
}

std::optional<bool> reaches(const EvidenceSet& evidence, const std::string& a,
                            const std::string& b) {
  const PairEvidence* there = find_pair(evidence, a, b);
  const PairEvidence* back = find_pair(evidence, b, a);
  const auto first = there != nullptr ? reaches(*there) : std::nullopt;
  const auto second = back != nullptr ? reaches(*back) : std::nullopt;
  if (!first) return second;
  return second ? *first || *second : *first;
}

const RouteLookup* route_lookup(const PairEvidence& pair) {
  const RouteLookup* best = nullptr;
  for (const RouteLookup& lookup : pair.routes) {
    if (best == nullptr || lookup.with_source) best = &lookup;
  }
  return best;
}

const RouteEvidence* matching_route(const HostEvidence& host, const std::string& ip) {
  const RouteEvidence* best = nullptr;
  int longest = -1;
  for (const RouteEvidence& route : host.routes) {
    if (!route.table.empty() && route.table != "main") continue;
    if (route.type == "local" || route.type == "broadcast" || route.type == "multicast") continue;
    // "default" says nothing of its family; a gateway does.
    if (!route.via.empty() && is_v6(route.via) != is_v6(ip)) continue;
    const int length = covers(route.destination, ip);
    if (length < 0) continue;
    if (length > longest || (length == longest && route.metric < best->metric)) {
      best = &route;
      longest = length;
    }
  }
  return best;
}

std::optional<int64_t> sysctl_number(const HostEvidence& host, const std::string& key) {
  const auto it = host.sysctls.find(key);
  if (it == host.sysctls.end()) return std::nullopt;
  return leading_whole(it->second);
}

std::string join_words(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

bool share_machine(const EvidenceSet& evidence, const std::string& a, const std::string& b) {
  const auto here = [&evidence](const std::string& name) {
    const JobHost* entry = find_job_host(evidence, name);
    return entry != nullptr && (entry->reached_by == "netns" || entry->reached_by == "local");
  };
  if (here(a) && here(b)) return true;
  const HostEvidence* one = find_host(evidence, a);
  const HostEvidence* other = find_host(evidence, b);
  return one != nullptr && other != nullptr && !one->boot_id.empty() &&
         one->boot_id == other->boot_id;
}

}  // namespace plumbline
