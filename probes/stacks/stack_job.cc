#include "probes/stacks/stack_job.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/evidence_query.h"
#include "probes/stacks/choice.h"

namespace plumbline {
namespace {

constexpr int kLargestPart = 8192;  // larger parts are tried more than once

// Where a rule begins to speak of ports, or ends to: "29600", "32768-60999".
void add_cuts(const FilterRule& rule, int first, int last, std::set<int>& cuts) {
  for (const FilterMatch& match : rule.matches) {
    if (match.key != "dport" && match.key != "sport") continue;
    for (const std::string& value : match.values) {
      const size_t dash = value.find('-');
      const auto from = parse_port(value.substr(0, dash));
      const auto to = dash == std::string::npos ? from : parse_port(value.substr(dash + 1));
      if (from && *from > first && *from <= last) cuts.insert(*from);
      if (to && *to >= first && *to < last) cuts.insert(*to + 1);
    }
  }
}

bool in_use(const HostEvidence& host, int port) {
  return any_of(host.sockets, [&](const SocketEvidence& socket) { return socket.port == port; });
}

// A free port about the middle of this part.
int free_port(const HostEvidence& host, int first, int last) {
  const int middle = first + (last - first) / 2;
  for (int away = 0; away <= last - first; ++away) {
    for (const int port : {middle + away, middle - away}) {
      if (port >= first && port <= last && !in_use(host, port)) return port;
    }
  }
  return 0;
}

// The first rank of this host that found an address.
const StackRank* rank_on(const StackPlan& plan, const std::string& host) {
  return find_where(plan.ranks,
                    [&](const StackRank& rank) { return rank.host == host && !rank.ip.empty(); });
}

std::string with_prefix(const std::string& ip, const HostEvidence& host) {
  const auto carrier = carrier_on(host, ip);
  return carrier ? ip + "/" + std::to_string(carrier->address->prefix) : ip;
}

// Addresses that cannot be tried between machines leave the host file's in place: the plan's traps
// say what is wrong with them.
void take_address(const StackPlan& plan, const HostEvidence& host, bool one_machine, JobHost& job) {
  const StackRank* rank = rank_on(plan, job.name);
  std::string ip = rank == nullptr ? std::string() : rank->ip;
  if (ip.empty() && !plan.rendezvous_ip.empty()) {
    // It calls the meeting point from wherever it can.
    const auto near = first_address(
        host, [&](const StackAddress& at) { return shares_subnet(at, plan.rendezvous_ip); });
    if (near && !is_loopback(*near)) ip = near->address->ip;
  }
  if (ip.empty() || (is_loopback_ip(ip) && !one_machine)) return;
  // Where peers have it themselves, it leads nowhere.
  if (any_of(plan.traps, [&](const StackTrap& trap) {
        return trap.host == job.name && trap.cause == "stack.interface" && trap.severity == "fail";
      })) {
    return;
  }
  const auto carrier = carrier_on(host, ip);
  if (!carrier) return;
  job.data = {with_prefix(ip, host)};
  job.interface = is_loopback(*carrier) ? "" : carrier->interface->name;
}

std::set<std::string> callers_of(const StackListener& listener,
                                 const std::vector<HostEvidence>& hosts, const std::string& own) {
  if (listener.callers) return {listener.callers->begin(), listener.callers->end()};
  std::set<std::string> out;
  for (const HostEvidence& host : hosts) {
    if (host.name != own) out.insert(host.name);
  }
  return out;
}

void take_ports(const StackPlan& plan, const std::vector<HostEvidence>& hosts,
                const HostEvidence& host, JobHost& job) {
  std::map<std::pair<int, int>, std::set<std::string>> ranges;  // and who calls there
  std::map<int, std::set<std::string>> called;                  // by port
  for (const StackRank& rank : plan.ranks) {
    if (rank.host != job.name) continue;
    for (const StackListener& listener : rank.listeners) {
      const bool local = is_loopback_ip(listener.ip) && !is_loopback_ip(rank.ip);
      const std::set<std::string> callers = callers_of(listener, hosts, job.name);
      if (listener.first == 0 || local || callers.empty()) continue;
      if (listener.kind == "ephemeral") {
        ranges[{listener.first, listener.last}].insert(callers.begin(), callers.end());
        continue;
      }
      for (int port = listener.first; port <= listener.last; ++port) {
        called[port].insert(callers.begin(), callers.end());
      }
    }
  }
  for (const auto& [range, callers] : ranges) {
    for (const PortSample& sample : sample_ports(hosts, host, range.first, range.second)) {
      if (called.count(sample.port) != 0) continue;
      called[sample.port] = callers;
      job.samples.push_back(sample);
    }
  }
  job.ports.emplace();
  for (const auto& [port, callers] : called) {
    job.ports->push_back(port);
    for (const HostEvidence& other : hosts) {
      if (callers.count(other.name) == 0) job.uncalled[other.name].push_back(port);
    }
  }
}

}  // namespace

std::vector<PortSample> sample_ports(const std::vector<HostEvidence>& hosts,
                                     const HostEvidence& host, int first, int last) {
  if (first < 1 || last < first) return {};
  std::set<int> cuts = {first, last + 1};
  for (const HostEvidence& each : hosts) {
    for (const FilterRule& rule : each.filters) add_cuts(rule, first, last, cuts);
  }
  std::vector<PortSample> parts;  // port 0 until chosen
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    parts.push_back({0, *cut, *std::next(cut) - 1});
  }
  std::stable_sort(parts.begin(), parts.end(), [](const PortSample& a, const PortSample& b) {
    return a.last - a.first > b.last - b.first;
  });
  if (parts.size() > kMostSamples) parts.resize(kMostSamples);
  std::vector<PortSample> out;
  for (const PortSample& part : parts) {
    const int pieces = std::min<int>((part.last - part.first) / kLargestPart + 1,
                                     static_cast<int>(kMostSamples + 1 - parts.size()));
    const int width = (part.last - part.first + 1) / pieces;
    for (int i = 0; i < pieces; ++i) {
      const int from = part.first + i * width;
      const int to = i + 1 == pieces ? part.last : from + width - 1;
      const int port = free_port(host, from, to);
      if (port != 0) out.push_back({port, part.first, part.last});
    }
  }
  return out;
}

Job job_of_stack(const EvidenceSet& evidence) {
  Job job = evidence.job;
  const StackPlan& plan = *evidence.stack;
  const bool one_machine = all_of(job.hosts, only_loopback);
  job.ranks = static_cast<int>(plan.ranks.size());
  job.master_port = plan.rendezvous_port;
  job.ports.clear();
  if (!plan.rendezvous_ip.empty() && !parse_ip(plan.rendezvous_ip)) {
    job.names.push_back(plan.rendezvous_ip);
  }
  for (JobHost& host : job.hosts) {
    const HostEvidence* facts = find_host(evidence, host.name);
    host.ports.reset();
    host.samples.clear();
    host.uncalled.clear();
    if (facts == nullptr) continue;
    take_address(plan, *facts, one_machine, host);
    take_ports(plan, evidence.hosts, *facts, host);
    job.ports.insert(job.ports.end(), host.ports->begin(), host.ports->end());
  }
  sort_unique(job.ports);
  return job;
}

}  // namespace plumbline
