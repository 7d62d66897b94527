// Where a Mac refuses our agent a connection at once, Apple's own tools try the same target from
// the same host, and it is looked up which programs started the agent: whether macOS keeps that
// program from the local network is told by the difference (probes/rules/pair_privacy.h). Nothing
// that a host says becomes a word of these commands, but for numbers of processes.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/diagnosis/remedy.h"
#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/gather/gather.h"
#include "probes/process_chain.h"

namespace plumbline {
namespace {

constexpr int64_t kRefusedAtOnceNs =
    200 * kMillisecond;                  // a neighbour that is not there takes longer
constexpr size_t kMostRefusedPairs = 4;  // of one host
constexpr int64_t kToolMs = 3000, kListMs = 2000;
constexpr int64_t kBesideTools = 1000;  // ms, for the way and for an agent's own bit
constexpr size_t kMostToolBytes = 1024;

// The attempt that macOS may have refused; null where something on this pair gets through.
const PortTry* refused_at_once(const PairEvidence& pair) {
  const bool open =
      any_of(pair.ports, [](const PortTry& attempt) { return attempt.result == "connected"; });
  if (open || !pair.skipped.empty() || pair.same_machine) return nullptr;
  return find_where(pair.ports, [](const PortTry& attempt) {
    return attempt.result == "unreachable" && attempt.error == "EHOSTUNREACH" && !attempt.icmp &&
           attempt.took_ns >= 0 && attempt.took_ns <= kRefusedAtOnceNs;
  });
}

std::vector<AskCommand> tools_towards(const std::string& ip, int port) {
  const std::string number = std::to_string(port);
  const AskCommand nc{"apple nc", {"/usr/bin/nc", "-z", "-v", "-w", "2", ip, number}, kToolMs};
  // ping6 has no option for how long it may take in all.
  const AskCommand ping{
      "apple ping",
      is_v6(ip) ? std::vector<std::string>{"/sbin/ping6", "-n", "-c", "1", ip}
                : std::vector<std::string>{"/sbin/ping", "-n", "-c", "1", "-t", "2", ip},
      kToolMs};
  return {nc, ping};
}

// Of the answer what the agent can know: what was asked is known here.
CommandEvidence answer_to(const AskCommand& asked, CommandEvidence reply) {
  reply.label = asked.label;
  reply.command = join_words(asked.command, " ");
  reply.out.resize(std::min(reply.out.size(), kMostToolBytes));
  return reply;
}

// The hosts on which something was asked.
std::set<size_t> try_tools(ProbeContext& context) {
  EvidenceSet& evidence = context.evidence;
  std::map<size_t, size_t> pairs;
  std::set<size_t> hosts;
  AgentBatch batch(context);
  for (const PairEvidence& pair : evidence.pairs) {
    const size_t from = index_of(evidence, pair.from);
    const PortTry* const refused = refused_at_once(pair);
    if (refused == nullptr || from == evidence.hosts.size() || context.agents[from] == nullptr ||
        evidence.hosts[from].system != "macos") {
      continue;
    }
    // A link-local address of IPv6 needs the name of an interface, which only the host tells.
    const bool zoned = is_v6(pair.to_ip) && is_link_local_ip(pair.to_ip);
    if (zoned || !fits(Slot::kAddress, pair.to_ip) || pairs[from]++ >= kMostRefusedPairs) continue;
    hosts.insert(from);
    for (const AskCommand& asked : tools_towards(pair.to_ip, refused->port)) {
      HostEvidence& host = evidence.hosts[from];
      batch.ask(from, asked, asked.timeout_ms + kBesideTools,
                [&host, asked](CommandEvidence reply) {
                  host.commands.push_back(answer_to(asked, std::move(reply)));
                });
    }
  }
  batch.collect();
  return hosts;
}

std::string ids_of(const std::vector<int64_t>& chain) {
  std::string out;
  for (const int64_t pid : chain) out += (out.empty() ? "" : ",") + std::to_string(pid);
  return out;
}

// All processes without their names first: with the paths of a Mac's hundreds of them the list
// would be longer than what an agent hands over, and what else runs there is nobody's business.
void look_up_starters(ProbeContext& context, const std::set<size_t>& hosts) {
  EvidenceSet& evidence = context.evidence;
  std::map<size_t, std::vector<int64_t>> chains;
  const AskCommand everything{"ps", {"/bin/ps", "-axo", "pid=,ppid="}, kListMs};
  AgentBatch parents(context);
  for (const size_t i : hosts) {
    const int64_t pid = evidence.hosts[i].agent_pid;
    if (pid <= 0) continue;
    parents.ask(i, everything, kListMs + kBesideTools, [&chains, i, pid](const auto& reply) {
      chains[i] = parents_of(parse_processes(reply.out), pid);
    });
  }
  parents.collect();
  AgentBatch names(context);
  for (const auto& each : chains) {
    const size_t i = each.first;
    const std::vector<int64_t>& chain = each.second;
    if (chain.empty()) continue;
    const AskCommand asked{
        "ps", {"/bin/ps", "-o", "pid=,ppid=,comm=", "-p", ids_of(chain)}, kListMs};
    names.ask(i, asked, kListMs + kBesideTools, [&evidence, &chain, i](const auto& reply) {
      const ProcessTable table = parse_processes(reply.out);
      evidence.hosts[i].started_by.clear();
      for (const int64_t pid : chain) {
        const auto row = table.find(pid);
        evidence.hosts[i].started_by.push_back(
            program_name(row == table.end() ? std::string() : row->second.command));
      }
    });
  }
  names.collect();
}

}  // namespace

void ask_apples_tools(ProbeContext& context) {
  if (is_over(context)) return;
  const std::set<size_t> hosts = try_tools(context);
  if (!hosts.empty() && !is_over(context)) look_up_starters(context, hosts);
}

}  // namespace plumbline
