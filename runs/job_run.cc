#include "runs/job_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"
#include "probes/stacks/job_plan.h"
#include "probes/stacks/stack_gather.h"

namespace plumbline {
namespace {

constexpr int64_t kListenMs = 3000;
constexpr int kFirstPort = 1024, kPorts = 65535 - kFirstPort + 1;

// Rungs below and up to TCP; what a port of the job itself would need is judged by its rules.
const char* const kLadder[] = {"launch", "link", "ip", "neighbour", "route", "tcp.connect", "mtu"};

std::set<int> ports_in_use(const JobEvidence& job) {
  std::set<int> ports;
  for (const JobHostEvidence& host : job.hosts) {
    for (const JobLook* look : {&host.first, host.second ? &*host.second : nullptr}) {
      if (look == nullptr) continue;
      for (const JobSocket& socket : look->sockets) ports.insert({socket.port, socket.peer_port});
    }
  }
  return ports;
}

// Beside the stuck port, which may lie in a range that filters treat alike.
std::vector<int> candidate_ports(const JobEvidence& job, int beside) {
  constexpr size_t kCandidates = 6;
  const std::set<int> used = ports_in_use(job);
  std::vector<int> out;
  for (int step = 1; step < kPorts && out.size() < kCandidates; ++step) {
    const int port = kFirstPort + (std::max(beside, kFirstPort) - kFirstPort + step) % kPorts;
    if (used.count(port) == 0) out.push_back(port);
  }
  return out;
}

// One on which all of these hosts can listen; the agents try, for a moment.
int free_port(ProbeContext& context, const std::vector<size_t>& hosts, int beside) {
  std::vector<int> candidates = candidate_ports(*context.evidence.job_seen, beside);
  std::set<int> taken;
  constexpr const char* kId = "free port";
  AgentBatch batch(context), after(context);
  for (const size_t host : hosts) {
    const JobHost& job = context.evidence.job.hosts[host];
    AskListen request;
    request.id = kId;
    for (const std::string& data : job.data) {
      request.addresses.push_back({data_address(data).ip, job.interface});
    }
    request.ports = candidates;
    batch.ask(
        host, request, kListenMs,
        [&taken](const ListenReply& reply) {
          for (const ListenState& state : reply.ports) {
            if (state.listener != "up") taken.insert(state.port);
          }
        },
        [](const Error&) {});
  }
  batch.collect();
  AskUnlisten close;
  close.id = kId;
  for (const size_t host : hosts) {
    after.ask(
        host, close, kListenMs, [](NothingSaid) {}, [](const Error&) {});
  }
  after.collect();
  for (const int port : candidates) {
    if (taken.count(port) == 0) return port;
  }
  return candidates.empty() ? 0 : candidates.front();
}

// "10.0.0.1/24" of an address that the host has.
std::string with_prefix(const JobEvidence& job, const std::string& host, const std::string& ip) {
  const JobHostEvidence* seen = find_job_host_seen(job, host);
  if (seen == nullptr) return {};
  const JobAddress* own =
      find_where(seen->addresses, [&](const JobAddress& each) { return each.ip == ip; });
  return own == nullptr ? std::string() : fmt::format("{}/{}", ip, own->prefix);
}

// The addresses that the stuck connections use; the host file's where there is no connection.
void point_at(Job& job, const JobEvidence& seen, const std::vector<StuckPair>& stuck) {
  for (JobHost& host : job.hosts) {
    std::vector<std::string> data;
    bool concerned = false;
    for (const StuckPair& pair : stuck) {
      const bool from = pair.from == host.name;
      if (!from && pair.to != host.name) continue;
      concerned = true;
      const std::string address = with_prefix(seen, host.name, from ? pair.from_ip : pair.to_ip);
      if (!address.empty() && !is_in(data, address)) data.push_back(address);
    }
    if (!data.empty()) {
      host.data = data;
      host.interface.clear();
    } else if (!concerned) {
      host.data.clear();
      host.interface.clear();
    }
    for (const JobHost& other : job.hosts) {
      const bool between = any_of(stuck, [&](const StuckPair& pair) {
        return (pair.from == host.name && pair.to == other.name) ||
               (pair.to == host.name && pair.from == other.name);
      });
      if (!between && other.name != host.name) {
        host.apart[other.name] = "the job gets on between them, or has nothing there";
      }
    }
  }
}

std::vector<ProbeCallSpec> ladder(const std::vector<StuckPair>& stuck) {
  std::vector<ProbeCallSpec> calls;
  for (const char* name : kLadder) calls.push_back({name, {}});
  // What has never been answered is small.
  const bool stood = any_of(stuck, [](const StuckPair& pair) {
    return pair.connection != nullptr && loses_packets(*pair.connection);
  });
  if (stood) calls.push_back({"mtu", {}});
  return calls;
}

std::vector<JobSelection::End> stuck_ends(const std::vector<StuckPair>& stuck) {
  std::vector<JobSelection::End> out;
  for (const StuckPair& pair : stuck) {
    if (pair.connection == nullptr) continue;
    const JobSocket& socket = *pair.connection->socket;
    out.push_back({socket.ip, socket.peer_ip, socket.port, socket.peer_port});
  }
  return out;
}

// What every host says about itself is enough: a filter's rule, or where ranks listen.
bool explains_all(const ProbeResult& result, const std::vector<StuckPair>& stuck) {
  return all_of(stuck, [&](const StuckPair& pair) {
    return any_of(result.findings, [&](const Finding& finding) {
      const auto is_end = [&](const std::string& host) {
        return host == pair.from || host == pair.to;
      };
      const bool known = finding.cause.starts_with("firewall.")
                             ? finding.confidence >= 1
                             : finding.cause == "stack.interface";
      return known && is_end(finding.host) && (finding.peer.empty() || is_end(finding.peer));
    });
  });
}

// Where a choice of the job's own library leaves no trace: connections that it gave up again.
std::optional<ProbeResult> judge_by_stack(ProbeContext context, const ProbeResult& quick) {
  std::optional<StackPlan> plan = plan_of_job(quick.evidence);
  if (!plan) return std::nullopt;
  context.evidence = quick.evidence;
  try_given_addresses(context, *plan, true);
  const bool fails =
      any_of(plan->traps, [](const StackTrap& trap) { return trap.severity == "fail"; });
  if (!fails) return std::nullopt;
  ask_installed(context, *plan);
  context.evidence.stack = std::move(plan);
  return judge_evidence(context.evidence, std::vector<ProbeCallSpec>{{"launch", {}}});
}

}  // namespace

std::vector<ProbeCallSpec> job_calls(const EvidenceSet& evidence) {
  const auto facts = job_facts(evidence);
  if (!facts || evidence.pairs.empty()) return {{"launch", {}}};
  return ladder(stuck_pairs(*facts));
}

Expected<ProbeResult> diagnose_job(const DiagnoseRequest& request, const JobQuestion& question,
                                   bool alone, const AgentSet& agents) {
  ProbeContext context = probe_context(request, agents);
  if (const Status found = gather_job(context, question, alone); !found) {
    return fail(found.error());
  }
  Job& job = context.evidence.job;
  job.ports.clear();
  const auto facts = job_facts(context.evidence);
  const std::vector<StuckPair> stuck = facts ? stuck_pairs(*facts) : std::vector<StuckPair>();
  const std::vector<ProbeCallSpec> hosts_alone = {{"launch", {}}};
  const bool refused = facts && !refused_pairs(*facts).empty();
  const bool apart = facts && is_apart(*facts);
  if (stuck.empty() && !refused && !apart && propose_job_places(context.evidence, {}).empty()) {
    return judge_evidence(std::move(context.evidence), hosts_alone);
  }
  ProbeResult quick = run_probes(context, hosts_alone);
  if (apart && !has_failure(quick)) {
    if (auto by_stack = judge_by_stack(context, quick)) return *std::move(by_stack);
  }
  if (explains_all(quick, stuck)) return quick;
  capture_job(context, stuck_ends(stuck));
  point_at(job, *context.evidence.job_seen, stuck);
  std::vector<size_t> hosts;
  for (size_t i = 0; i < job.hosts.size(); ++i) {
    const std::string& name = job.hosts[i].name;
    const bool concerned =
        any_of(stuck, [&](const StuckPair& pair) { return pair.from == name || pair.to == name; });
    if (concerned) hosts.push_back(i);
  }
  const int port = free_port(context, hosts, stuck.front().port);
  if (port > 0) job.ports = {port};
  job.port_base = job.master_port = port;
  const std::vector<ProbeCallSpec> calls = ladder(stuck);
  return run_probes(std::move(context), calls);
}

std::optional<DoctorJob> shown_job(const EvidenceSet& evidence) {
  const auto facts = job_facts(evidence);
  if (!facts) return std::nullopt;
  DoctorJob out;
  out.asked = facts->job->asked;
  out.size = world_size(facts->members);
  for (const JobMember& member : facts->members) {
    const JobProcess& process = member.process();
    DoctorJobRank rank;
    if (member.place) rank.rank = member.place->rank;
    rank.host = member.host->host;
    rank.pid = process.pid;
    rank.program = process.program.empty() ? process.name : process.program;
    rank.doing = member.last == nullptr && member.host->second ? "has ended" : doing_of(member);
    for (const JobSocket* socket : member.sockets) {
      if (socket->state == "LISTEN") {
        rank.listens.push_back(fmt::format("{}:{}", socket->ip, socket->port));
      } else {
        const std::string peer = fmt::format("{}:{}", socket->peer_ip, socket->peer_port);
        if (!is_in(rank.peers, peer)) rank.peers.push_back(peer);
        ++rank.connections;
      }
    }
    out.ranks.push_back(std::move(rank));
  }
  for (const JobHostEvidence& host : facts->job->hosts) {
    if (!host.error.empty()) out.unseen.push_back(host.host + ": " + host.error);
    for (const std::string& line : last_look(host).unseen) {
      out.unseen.push_back(host.host + ": " + line);
    }
  }
  const bool meet_here = any_of(facts->members, [](const JobMember& member) {
    const auto& variables = member.process().environment;
    const auto master = variables.find("MASTER_ADDR");
    return master != variables.end() &&
           (master->second == "localhost" || is_loopback_ip(master->second));
  });
  const bool lacks = out.size && out.ranks.size() < static_cast<size_t>(*out.size);
  if (facts->job->alone && lacks && !meet_here) {
    out.unseen.push_back(
        "ranks on other machines: name them with a host file (plumbline doctor FILE --job ...)");
  }
  return out;
}

}  // namespace plumbline
