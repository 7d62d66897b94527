// Counters of both hosts around many connection attempts to one port that does not answer.
#include <algorithm>

#include "probes/gather/gather.h"
#include "probes/gather/gather_tasks.h"

namespace plumbline {
namespace {

constexpr int64_t kShortMs = 3000;
constexpr int kAttempts = 40;

std::map<std::string, int64_t> counters_of(ProbeContext& context, size_t host) {
  std::map<std::string, int64_t> out;
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
