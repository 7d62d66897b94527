#include "probes/gather/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/units.h"
#include "probes/evidence_query.h"
#include "probes/rules/host_signal.h"
#include "probes/sources/source.h"
#include "transport/address.h"

namespace plumbline {
namespace {

constexpr int64_t kSnapshotMs = 10000;
// To find out whether an agent that was late still lives; one that hangs is given up sooner by its
// connection (launch/agent_connection.cc).
constexpr int64_t kAliveMs = 5000;
constexpr int64_t kCountersMs = 2000;
// How often an agent may wait for a silent server, and what comes beside.
constexpr int64_t kEndpointLooks = 2, kEndpointQuestions = 5, kEndpointBesideMs = 12'000;
constexpr int64_t kSignalMs = 200;       // between two looks at a signal that may be flapping
constexpr int64_t kSteadyMs = 10'500;    // a little more than the slowest rhythm that is looked for
constexpr int64_t kHalfRhythmMs = 5200;  // in which its signal changes once

TcpEndpoint endpoint_of(const JobHost& host) {
  TcpEndpoint endpoint;
  endpoint.host = host.name;
  for (const std::string& text : host.data) {
    endpoint.addresses.push_back(rank_address(text, host.interface));
  }
  return endpoint;
}

std::string first_ip(const JobHost& host) {
  return host.data.empty() ? std::string() : host.data[0].substr(0, host.data[0].find('/'));
}

void take_snapshots(ProbeContext& context) {
  EvidenceSet& evidence = context.evidence;
  AgentBatch batch(context);
  for (size_t i = 0; i < evidence.hosts.size(); ++i) {
    AskSnapshot request;
    request.host = evidence.hosts[i].name;
    request.ports = evidence.job.ports;
    request.names = evidence.job.names;
    request.own_data_ip = first_ip(evidence.job.hosts[i]);
    // Cables and devices of Macs are told by slow tools only.
    request.deep = evidence.job.deep || evidence.job.rdma;
    const auto bytes = evidence.job.config.find("sock_bufsize");
    if (bytes != evidence.job.config.end()) {
      request.buffer_bytes = static_cast<int64_t>(parse_bytes(bytes->second).value_or(0));
    }
    batch.ask(i, request, kSnapshotMs, [&evidence, i](HostEvidence fresh) {
      // What the coordinator knows itself stays.
      HostEvidence& host = evidence.hosts[i];
      fresh.name = host.name;
      fresh.source = "agent";
      fresh.version = host.version;
      fresh.build = host.build;
      fresh.agent_pid = host.agent_pid;
      fresh.started_by = host.started_by;
      fresh.config = host.config;
      fresh.clock_offset_ns = host.clock_offset_ns;
      fresh.clock_uncertainty_ns = host.clock_uncertainty_ns;
      host = std::move(fresh);
    });
  }
  batch.collect();
}

// Counters once more, to see what grew while the check ran.
void take_later_counters(ProbeContext& context, bool first) {
  EvidenceSet& evidence = context.evidence;
  AgentBatch batch(context);
  for (size_t i = 0; i < evidence.hosts.size(); ++i) {
    batch.ask(
        i, AskCounters{}, kCountersMs,
        [&evidence, i, first](const CountersReply& reply) {
          for (InterfaceEvidence& interface : evidence.hosts[i].interfaces) {
            const std::string prefix = "if." + interface.name + ".";
            auto& into = first ? interface.counters : interface.counters_later;
            for (const auto& [name, count] : reply.counts) {
              if (name.rfind(prefix, 0) != 0) continue;
              const std::string what = name.substr(prefix.size());
              if (what != "carrier_changes") {
                into[what] = count;
              } else if (first) {
                // The snapshot's own count is older, and so tells more.
                if (!interface.carrier_changes) interface.carrier_changes = count;
              } else {
                interface.carrier_changes_later = count;
              }
            }
          }
        },
        [](const Error&) {});
  }
  batch.collect();
}

// Changes of the signals that may be flapping; -1 = no interface may be.
int64_t changes_that_may_flap(const EvidenceSet& evidence) {
  int64_t out = -1;
  for (const HostView& view : host_views(evidence)) {
    for (const InterfaceEvidence* interface : signal_interfaces(view)) {
      if (may_flap(*interface)) {
        out = std::max<int64_t>(out, 0) + signal_changes(*interface).during;
      }
    }
  }
  return out;
}

bool any_may_flap_slowly(const EvidenceSet& evidence) {
  for (const HostView& view : host_views(evidence)) {
    for (const InterfaceEvidence* interface : signal_interfaces(view)) {
      if (may_flap_slowly(*interface)) return true;
    }
  }
  return false;
}

// A signal that is there but has a past: looked at until one change of the slowest rhythm must have
// come. Links that were plugged in and restarted a few times have none, and nobody waits for them.
void watch_slow_signals(ProbeContext& context, const Deadline& enough,
                        const std::function<bool()>& stop) {
  while (any_may_flap_slowly(context.evidence) && !enough.passed() && !stop()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kSignalMs));
    take_later_counters(context, false);
  }
}

// A signal that changed once while the check ran, or is gone after it had changed often: watched on
// until it changes again, or has been steady for longer than a slow rhythm takes. A network without
// such a signal is not kept waiting.
void watch_signals(ProbeContext& context, const std::function<bool()>& stop) {
  Deadline steady = Deadline::after_ms(kSteadyMs);
  int64_t known = changes_that_may_flap(context.evidence);
  while (known >= 0 && !steady.passed() && !stop()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kSignalMs));
    take_later_counters(context, false);
    const int64_t now = changes_that_may_flap(context.evidence);
    if (now > known) steady = Deadline::after_ms(kSteadyMs);
    known = now;
  }
}

void run_commands(ProbeContext& context, const std::vector<ProbeCallSpec>& calls) {
  EvidenceSet& evidence = context.evidence;
  for (const ProbeCallSpec& call : calls) {
    if (call.command.empty() || !call.permitted) continue;
    const auto run = call.params.find("run");
    const AskCommand asked{run == call.params.end() ? "" : run->second, call.command};
    AgentBatch batch(context);
    for (size_t i = 0; i < evidence.hosts.size(); ++i) {
      batch.ask(i, asked, 15'000, [&evidence, i](CommandEvidence reply) {
        evidence.hosts[i].commands.push_back(std::move(reply));
      });
    }
    batch.collect();
  }
}

// Reachability from everywhere at once; the questions from one host alone, because such servers
// answer one at a time, and would be full of ours.
void ask_endpoint(ProbeContext& context, const AskEndpoint& asked) {
  EvidenceSet& evidence = context.evidence;
  AgentBatch everywhere(context);
  std::optional<size_t> reached;
  for (size_t i = 0; i < evidence.hosts.size(); ++i) {
    if (!same_as_earlier(evidence, evidence.job.hosts[i]).empty()) continue;
    everywhere.ask(i, asked, kEndpointLooks * asked.silence_ms + kEndpointBesideMs,
                   [&evidence, &reached, i](EndpointEvidence reply) {
                     const bool came =
                         !reply.tries.empty() && reply.tries.front().end != "unreachable";
                     if (came && !reached) reached = i;
                     evidence.hosts[i].endpoints.push_back(std::move(reply));
                   });
  }
  everywhere.collect();
  if (!reached || is_over(context)) return;
  AskEndpoint questions = asked;
  questions.questions = true;
  AgentBatch one(context);
  one.ask(*reached, questions, kEndpointQuestions * asked.silence_ms + kEndpointBesideMs,
          [&evidence, &reached](EndpointEvidence reply) {
            auto& tries = evidence.hosts[*reached].endpoints.back().tries;
            tries.insert(tries.end(), reply.tries.begin(), reply.tries.end());
          });
  one.collect();
}

void ask_endpoints(ProbeContext& context, const std::vector<ProbeCallSpec>& calls) {
  constexpr int64_t kDefaultSilence = 20;
  for (const ProbeCallSpec& call : calls) {
    const auto param = [&](const char* name) {
      const auto found = call.params.find(name);
      return found == call.params.end() ? std::string() : found->second;
    };
    if (call.probe != "endpoint" || param("url").empty()) continue;
    AskEndpoint asked;
    asked.url = param("url");
    asked.model = param("model");
    asked.key = call.key;
    asked.silence_ms =
        1000 * parse_whole<int64_t>(param("silence"), 1, 600).value_or(kDefaultSilence);
    ask_endpoint(context, asked);
  }
}

}  // namespace

HostAgent* AgentBatch::agent_on(size_t host, const Failed& failed) {
  HostAgent* agent = context_.agents[host];
  if (agent == nullptr && failed) failed(Error{ErrorCode::kPeerLost, "no agent", 0, "", ""});
  return agent;
}

void AgentBatch::collect() {
  for (Pending& pending : pending_) give(pending);
  pending_.clear();
}

void AgentBatch::give(Pending& pending) {
  HostAgent* agent = context_.agents[pending.host];
  if (agent == nullptr) return;  // lost a moment ago: nothing will come
  const Status given = pending.receive(*agent);
  if (given) return;
  const Error& error = given.error();
  const bool hung = error.code == ErrorCode::kTimeout &&
                    !ask_agent(*agent, AskTime{}, Deadline::after_ms(kAliveMs));
  if (hung || error.code == ErrorCode::kPeerLost || error.code == ErrorCode::kWrongData) {
    lose(pending.host, pending.request, error);
  } else if (!pending.failed) {
    context_.evidence.hosts[pending.host].unreadable.push_back(pending.request + ": " +
                                                               error.message());
  }
  if (pending.failed) pending.failed(error);
}

void AgentBatch::lose(size_t host, const std::string& request, const Error& error) {
  context_.agents[host] = nullptr;
  HostEvidence& evidence = context_.evidence.hosts[host];
  evidence.agent_cause = "rank.agent_lost";
  evidence.agent_error = "while it was asked for '" + request + "': " + error.message();
}

const InterfaceEvidence* carrier_of(const HostEvidence& host, const std::string& ip) {
  for (const InterfaceEvidence& interface : host.interfaces) {
    for (const AddressEvidence& address : interface.addresses) {
      if (address.ip == ip) return &interface;
    }
  }
  return nullptr;
}

bool is_over(const ProbeContext& context) {
  return context.deadline.passed() || (context.interrupted && context.interrupted());
}

bool is_ours(const PortTry& attempt) {
  return attempt.result == "connected" && attempt.answer == "ours";
}

size_t index_of(const EvidenceSet& evidence, const std::string& host) {
  const auto found = std::find_if(evidence.hosts.begin(), evidence.hosts.end(),
                                  [&](const HostEvidence& h) { return h.name == host; });
  return static_cast<size_t>(found - evidence.hosts.begin());
}

AskedWay way_of(const EvidenceSet& evidence, const PairEvidence& pair) {
  const HostEvidence* host = find_host(evidence, pair.from);
  const InterfaceEvidence* carrier = host == nullptr ? nullptr : carrier_of(*host, pair.from_ip);
  return {pair.from_ip, carrier == nullptr ? std::string() : carrier->name, pair.to_ip};
}

std::vector<PairEvidence> pairs_to_try(const EvidenceSet& evidence) {
  std::vector<PairEvidence> pairs;
  const std::vector<JobHost>& hosts = evidence.job.hosts;
  for (size_t i = 0; i < hosts.size(); ++i) {
    for (size_t k = 0; k < hosts.size(); ++k) {
      if (i == k) continue;
      PairEvidence pair;
      pair.from = hosts[i].name;
      pair.to = hosts[k].name;
      pair.same_machine = hosts[i].reached_by == "local" && hosts[k].reached_by == "local";
      const auto addresses = address_pairs(endpoint_of(hosts[i]), endpoint_of(hosts[k]));
      if (addresses && !addresses->empty()) {
        pair.from_ip = (*addresses)[0].local.ip;
        pair.to_ip = (*addresses)[0].remote.ip;
      } else {
        pair.skipped = hosts[i].data.empty() || hosts[k].data.empty()
                           ? "a host without a data address"
                           : "no two addresses of one family";
      }
      // One try stands for all pairs of places on this machine.
      if (pair.same_machine && (i != 0 || k != 1)) {
        pair.skipped =
            "both ends are this machine, as for " + hosts[0].name + " and " + hosts[1].name;
      }
      const auto apart = hosts[i].apart.find(hosts[k].name);
      if (apart != hosts[i].apart.end()) {
        // Without addresses no rule takes it for a pair that is broken.
        pair.from_ip.clear();
        pair.to_ip.clear();
        pair.skipped = "not supposed to talk: " + apart->second;
      }
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

void gather_evidence(ProbeContext& context, unsigned needs, const std::vector<ProbeCallSpec>& calls,
                     std::vector<std::string>& traces) {
  const auto say = [&](const std::string& text) {
    if (context.progress) context.progress(text);
  };
  const auto stop = [&] { return is_over(context); };
  EvidenceSet& evidence = context.evidence;
  say(fmt::format("{} hosts: asking what they are", evidence.hosts.size()));
  take_snapshots(context);
  const Deadline half_rhythm = Deadline::after_ms(kHalfRhythmMs);
  take_later_counters(context, true);
  evidence.pairs = pairs_to_try(evidence);
  constexpr unsigned kPairs = kNeedRoutes | kNeedNeighbours | kNeedPing | kNeedConnect;
  if ((needs & (kPairs | kNeedMtu | kNeedQuality)) != 0 && !stop()) {
    gather_pairs(context, needs, traces);
  }
  if ((needs & kNeedCommand) != 0 && !stop()) run_commands(context, calls);
  if ((needs & kNeedRdma) != 0 && !stop()) gather_rdma(context);
  if ((needs & kNeedSoftware) != 0 && !stop()) ask_software(context, calls);
  if ((needs & kNeedEndpoint) != 0 && !stop()) {
    say("asking the server of language models");
    ask_endpoints(context, calls);
  }
  if ((needs & kNeedArtifact) != 0 && !stop()) {
    say("comparing files");
    ask_artifacts(context, calls);
  }
  take_later_counters(context, false);
  if (any_may_flap_slowly(evidence)) {
    say("watching a signal that has come and gone before");
    watch_slow_signals(context, half_rhythm, stop);
  }
  if (changes_that_may_flap(evidence) >= 0) {
    say("watching a signal that comes and goes");
    watch_signals(context, stop);
  }
}

}  // namespace plumbline
