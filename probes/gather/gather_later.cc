// What is asked once more behind the attempts to connect: the kernel's last word on neighbours that
// did not answer at once, and counters of both hosts around many connection attempts to one port
// that does not answer.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "probes/gather/gather.h"

namespace plumbline {
namespace {

// Three requests a second apart (retrans_time_ms and mcast_solicit, arp(7)), and a margin.
constexpr int64_t kResolveMs = 3500;
// An old entry is used for 5 s before it is tried again (delay_first_probe_time), then as above.
constexpr int64_t kRetryMs = 5000 + kResolveMs;
constexpr int64_t kCountersMs = 2000;
constexpr int64_t kAnswerMs = 1500;  // beyond the waiting; agents get 90 % of a request's time

const NeighbourProbe* kernel_word(const PairEvidence* pair) {
  const bool there = pair != nullptr && pair->skipped.empty() && pair->neighbour;
  if (!there || pair->neighbour->method != "kernel" || !pair->neighbour->on_link) return nullptr;
  return &*pair->neighbour;
}

bool is_old_entry(const NeighbourProbe& probe) {
  return probe.kernel_state == "DELAY" || probe.kernel_state == "PROBE";
}

// How long the kernel should be asked again for the peer of this pair, in ms; 0 = not at all.
int64_t patience_for(const EvidenceSet& evidence, const PairEvidence& pair) {
  const NeighbourProbe* probe = kernel_word(&pair);
  if (probe == nullptr || !probe->macs.empty()) return 0;
  const bool works = std::any_of(pair.ports.begin(), pair.ports.end(), [](const PortTry& attempt) {
    return attempt.result == "connected" || attempt.half_open;
  });
  if (works || pair.ports.empty()) return 0;
  if (probe->kernel_state == "INCOMPLETE") return kResolveMs;
  if (!is_old_entry(*probe)) return 0;
  // The peer's own question of this moment tells enough: it was answered, or it was not.
  const NeighbourProbe* back = kernel_word(find_pair(evidence, pair.to, pair.from));
  if (back != nullptr && (!back->macs.empty() || back->kernel_state == "INCOMPLETE")) return 0;
  return kRetryMs;
}

void ask_again(AgentBatch& batch, const EvidenceSet& evidence, PairEvidence& pair,
               int64_t patience_ms) {
  const size_t host = index_of(evidence, pair.from);
  if (host == evidence.hosts.size()) return;
  const AskNeighbour asked{{pair.from_ip, pair.neighbour->dev, pair.to_ip}, {false, patience_ms}};
  batch.ask(host, asked, patience_ms + kAnswerMs,
            [&pair](NeighbourProbe reply) { pair.neighbour = std::move(reply); });
}

// ---- who keeps the answers ----

bool gave_up(const NeighbourProbe* probe) {
  return probe != nullptr && probe->kernel_state == "FAILED" && probe->macs.empty();
}

// One end got no answer though the other end knows it, so that its questions arrive: either the
// answers do not leave, or they come and are dropped. The counters of the cards tell.
std::vector<PairEvidence*> one_way_pairs(EvidenceSet& evidence) {
  std::vector<PairEvidence*> out;
  for (PairEvidence& pair : evidence.pairs) {
    const NeighbourProbe* back = kernel_word(find_pair(evidence, pair.to, pair.from));
    const bool known = back != nullptr && !back->kernel_mac.empty();
    if (gave_up(kernel_word(&pair)) && known) out.push_back(&pair);
  }
  return out;
}

using Counts = std::map<std::string, int64_t>;
using HostCounters = std::map<std::string, Counts>;  // by host name

HostCounters read_counters(ProbeContext& context, const std::vector<PairEvidence*>& pairs) {
  HostCounters out;
  AgentBatch batch(context);
  for (const PairEvidence* pair : pairs) {
    for (const std::string& name : {pair->from, pair->to}) {
      const size_t host = index_of(context.evidence, name);
      if (host == context.evidence.hosts.size() || !out.emplace(name, Counts()).second) continue;
      batch.ask(host, AskCounters{}, kCountersMs,
                [&out, name](CountersReply reply) { out[name] = std::move(reply.counts); });
    }
  }
  batch.collect();
  return out;
}

Counts packets_between(const Counts& before, const Counts& after, const std::string& interface) {
  Counts out;
  for (const char* what : {"tx_packets", "rx_packets"}) {
    const std::string name = "if." + interface + "." + what;
    if (!before.contains(name) || !after.contains(name)) continue;
    out[what] = after.at(name) - before.at(name);
  }
  return out;
}

void count_answers(ProbeContext& context) {
  EvidenceSet& evidence = context.evidence;
  const std::vector<PairEvidence*> pairs = one_way_pairs(evidence);
  if (pairs.empty() || context.deadline.passed()) return;
  const HostCounters before = read_counters(context, pairs);
  AgentBatch batch(context);
  for (PairEvidence* pair : pairs) ask_again(batch, evidence, *pair, kResolveMs);
  batch.collect();
  const HostCounters after = read_counters(context, pairs);
  for (PairEvidence* pair : pairs) {
    const HostEvidence* peer = find_host(evidence, pair->to);
    const auto* carrier = peer == nullptr ? nullptr : carrier_of(*peer, pair->to_ip);
    if (!gave_up(&*pair->neighbour) || carrier == nullptr) continue;
    NeighbourProbe& probe = *pair->neighbour;
    probe.asker = packets_between(before.at(pair->from), after.at(pair->from), probe.dev);
    probe.asked = packets_between(before.at(pair->to), after.at(pair->to), carrier->name);
  }
}

// ---- burst ----

constexpr int64_t kShortMs = 3000;
constexpr int kAttempts = 40;

Counts counters_of(ProbeContext& context, size_t host) {
  Counts out;
  AgentBatch batch(context);
  batch.ask(host, AskCounters{}, kShortMs,
            [&out](CountersReply reply) { out = std::move(reply.counts); });
  batch.collect();
  return out;
}

void burst_one(ProbeContext& context, PairTask& task, int port) {
  BurstEvidence burst;
  burst.port = port;
  const auto before = counters_of(context, task.to);
  bool done = false;
  AgentBatch batch(context);
  const AskBurst asked{{task.way, port}, kAttempts};
  batch.ask(task.from, asked, kShortMs, [&](BurstReply reply) {
    burst.attempts = reply.attempts;
    burst.sender = std::move(reply.counters);
    done = true;
  });
  batch.collect();
  if (!done) return;
  for (const auto& [name, value] : counters_of(context, task.to)) {
    const auto was = before.find(name);
    if (was != before.end()) burst.receiver[name] = value - was->second;
  }
  task.pair->burst = std::move(burst);
}

}  // namespace

void settle_neighbours(ProbeContext& context) {
  EvidenceSet& evidence = context.evidence;
  AgentBatch batch(context);
  for (PairEvidence& pair : evidence.pairs) {
    const int64_t patience_ms = patience_for(evidence, pair);
    if (patience_ms == 0 || context.deadline.passed()) continue;
    ask_again(batch, evidence, pair, patience_ms);
  }
  batch.collect();
  count_answers(context);
}

void burst_silent_pairs(ProbeContext& context, std::vector<PairTask>& tasks) {
  for (PairTask& task : tasks) {
    const auto silent =
        std::find_if(task.pair->ports.begin(), task.pair->ports.end(),
                     [](const PortTry& attempt) { return attempt.result == "timeout"; });
    if (silent == task.pair->ports.end()) continue;
    if (silent->captured_here && silent->captured_there) continue;
    if (context.agents[task.to] == nullptr || context.deadline.passed()) continue;
    burst_one(context, task, silent->port);
  }
}

}  // namespace plumbline
