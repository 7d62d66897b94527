// The pair part of gathering: listeners and captures on all hosts, then everything that one host
// can try towards another.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/encode.h"
#include "probes/evidence_query.h"
#include "probes/gather/gather.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

constexpr const char* kSession = "doctor";  // id of our listeners and captures at each agent
constexpr int64_t kShortMs = 3000;          // requests that only open or close something
constexpr int kPings = 10, kPingsDeep = 100;
constexpr int64_t kIdleAnswerMs = 5000;  // for a connection to answer again

// Of what a caller says about its connection, what it can know. Who holds the port at the other end
// and what arrived there is for the other end to say: a caller that lies must not be able to have
// somebody's process there ended.
PortTry own_part(PortTry said) {
  PortTry own;
  own.port = said.port;
  own.result = std::move(said.result);
  own.error = std::move(said.error);
  own.took_ns = said.took_ns;
  own.icmp = std::move(said.icmp);
  own.answer = std::move(said.answer);
  own.stranger_bytes = std::move(said.stranger_bytes);
  return own;
}

class PairGatherer {
 public:
  PairGatherer(ProbeContext& context, unsigned needs)
      : context_(context), evidence_(context.evidence), job_(context.evidence.job), needs_(needs) {
    ports_ = job_.ports;
    ports_.insert(ports_.end(), job_.extra_ports.begin(), job_.extra_ports.end());
    for (PairEvidence& pair : evidence_.pairs) {
      if (!pair.skipped.empty()) continue;
      PairTask task;
      task.pair = &pair;
      task.from = index_of(evidence_, pair.from);
      task.to = index_of(evidence_, pair.to);
      if (context_.agents[task.from] == nullptr) {
        pair.skipped = "no agent on " + pair.from;
        continue;
      }
      task.way = way_of(evidence_, pair);
      task.nonce = to_hex(random_token()).substr(0, 16);
      tasks_.push_back(std::move(task));
    }
  }

  void run(std::vector<std::string>& traces) {
    say("listening and capturing");
    listen();
    std::vector<std::vector<std::string>> own;
    for (size_t i = 0; i < evidence_.hosts.size(); ++i) own.push_back(own_addresses(i));
    HostCaptures captures(context_, kSession, std::move(own), ports_);
    if ((needs_ & kNeedConnect) != 0) captures.start();
    look_up_routes();
    say("connecting");
    try_all();
    collect_listeners();
    match_captures(captures, traces);
    settle_neighbours(context_);
    burst_silent_pairs(context_, tasks_);
    if ((needs_ & kNeedConnect) != 0) ask_apples_tools(context_);
    // Connections lie idle while others are measured.
    AgentBatch idle(context_);
    if (job_.idle_s > 0 && (needs_ & kNeedConnect) != 0) leave_idle(idle);
    if ((needs_ & (kNeedMtu | kNeedQuality)) != 0) gather_quality(context_, needs_);
    if (job_.idle_s > 0) say(fmt::format("connections lie idle for {} s", job_.idle_s));
    idle.collect();
    close_all();
  }

 private:
  void say(const std::string& what) const {
    if (context_.progress) {
      context_.progress(
          fmt::format("{} hosts, {} pairs: {}", evidence_.hosts.size(), tasks_.size(), what));
    }
  }

  // Data addresses of a host that are under test in some pair.
  std::vector<std::string> own_addresses(size_t host) const {
    std::vector<std::string> out;
    for (const PairTask& task : tasks_) {
      for (const auto& [index, ip] :
           {std::pair{task.from, task.pair->from_ip}, std::pair{task.to, task.pair->to_ip}}) {
        if (index == host && std::find(out.begin(), out.end(), ip) == out.end()) out.push_back(ip);
      }
    }
    return out;
  }

  // On one machine only the first place listens: the others have the same addresses.
  bool listens(size_t host) const {
    const std::vector<JobHost>& hosts = job_.hosts;
    for (size_t i = 0; i < host; ++i) {
      if (hosts[i].reached_by == "local" && hosts[host].reached_by == "local" &&
          hosts[i].data == hosts[host].data) {
        return false;
      }
    }
    return true;
  }
  size_t listener_of(size_t host) const {
    while (host > 0 && !listens(host)) --host;
    return host;
  }

  // On which a host waits, and those that were asked for besides.
  std::vector<int> ports_on(size_t host) const {
    std::vector<int> out = ports_of(job_, job_.hosts[host].name);
    out.insert(out.end(), job_.extra_ports.begin(), job_.extra_ports.end());
    return out;
  }

  void listen() {
    AgentBatch batch(context_);
    for (size_t i = 0; i < evidence_.hosts.size(); ++i) {
      if (!listens(i)) continue;
      AskListen asked{kSession, {}, ports_on(i)};
      for (const std::string& ip : own_addresses(i)) {
        const auto* carrier = carrier_of(evidence_.hosts[i], ip);
        asked.addresses.push_back({ip, carrier != nullptr ? carrier->name : ""});
      }
      if (asked.addresses.empty()) continue;
      batch.ask(i, asked, kShortMs, [this, i](const ListenReply& reply) {
        for (const ListenState& said : reply.ports) {
          ListenState& state = listeners_[{i, said.ip, said.port}];
          state = said;
          // The only words for it: an agent that says another one listens nowhere.
          if (said.listener != "up" && said.listener != "in_use") state.listener = "failed";
        }
      });
    }
    batch.collect();
  }

  void look_up_routes() {
    if ((needs_ & (kNeedRoutes | kNeedNeighbours | kNeedConnect)) == 0) return;
    AgentBatch batch(context_);
    for (PairTask& task : tasks_) {
      for (const bool with_source : {true, false}) {
        AskRoute asked{task.way};
        if (!with_source) asked.from_ip.clear();
        batch.ask(task.from, asked, kShortMs, [&task, with_source](RouteLookup lookup) {
          lookup.with_source = with_source;
          task.pair->routes.push_back(std::move(lookup));
        });
      }
    }
    batch.collect();
  }

  // Everything that is light, at the same time.
  void try_all() {
    AgentBatch batch(context_);
    for (PairTask& task : tasks_) {
      if (task.pair->same_machine) continue;
      if ((needs_ & kNeedNeighbours) != 0) ask_neighbour(batch, task);
      if ((needs_ & kNeedPing) != 0) ask_ping(batch, task);
    }
    for (PairTask& task : tasks_) {
      if ((needs_ & (kNeedConnect | kNeedMtu | kNeedQuality)) != 0) ask_connect(batch, task);
    }
    batch.collect();
  }

  void ask_neighbour(AgentBatch& batch, PairTask& task) {
    const RouteLookup* route = nullptr;
    for (const RouteLookup& lookup : task.pair->routes) {
      if (lookup.error.empty() && (route == nullptr || lookup.with_source)) route = &lookup;
    }
    if (route != nullptr && !route->via.empty()) {
      task.pair->neighbour = NeighbourProbe{};
      task.pair->neighbour->on_link = false;
      return;
    }
    const std::string dev =
        route != nullptr && route->type != "local" ? route->dev : task.way.interface;
    if (dev.empty()) return;
    const AskNeighbour asked{{task.pair->from_ip, dev, task.pair->to_ip}, {false, 700}};
    batch.ask(task.from, asked, kShortMs,
              [&task](NeighbourProbe reply) { task.pair->neighbour = std::move(reply); });
  }

  void ask_ping(AgentBatch& batch, PairTask& task) {
    const AskPing asked{task.way, {job_.deep ? kPingsDeep : kPings, 40, 1000, 56}};
    batch.ask(task.from, asked, job_.deep ? 20'000 : 5'000,
              [&task](PingEvidence reply) { task.pair->ping = std::move(reply); });
  }

  void ask_connect(AgentBatch& batch, PairTask& task) {
    // Ports on which plumbline does not listen are tried all the same: who answers there is
    // evidence.
    const auto timeout_ms = static_cast<int64_t>(threshold(Threshold::kConnectMs));
    std::vector<int> ports = ports_between(job_, task.pair->from, task.pair->to);
    ports.insert(ports.end(), job_.extra_ports.begin(), job_.extra_ports.end());
    const AskConnect asked{task.way, ports, timeout_ms, task.nonce};
    batch.ask(task.from, asked, timeout_ms + kShortMs,
              [this, &task, ports](const ConnectReply& reply) {
                for (const ConnectAttempt& said : reply.ports) {
                  PortTry attempt = own_part(said.attempt);
                  if (std::count(ports.begin(), ports.end(), attempt.port) == 0) continue;
                  task.source_ports[attempt.port] = said.source_port;
                  const auto state =
                      listeners_.find({listener_of(task.to), task.pair->to_ip, attempt.port});
                  if (state != listeners_.end()) {
                    attempt.listener = state->second.listener;
                    attempt.listener_error = state->second.error;
                    attempt.holder = state->second.holder;
                    attempt.role = state->second.role;
                    attempt.run = state->second.run;
                  }
                  task.pair->ports.push_back(std::move(attempt));
                }
              });
  }

  void collect_listeners() {
    AgentBatch batch(context_);
    for (size_t i = 0; i < evidence_.hosts.size(); ++i) {
      if (!listens(i)) continue;
      batch.ask(i, AskListened{kSession}, kShortMs, [this, i](const Heard& heard) {
        for (const AcceptedConnection& one : heard.accepted) {
          mark(i, [&](PairTask& task, PortTry& attempt) {
            if (task.nonce == one.nonce && attempt.port == one.port) attempt.accepted = true;
          });
        }
        for (const HalfOpenConnection& one : heard.half_open) {
          mark(i, [&](PairTask& task, PortTry& attempt) {
            if (attempt.port == one.port && one.peer_ip == task.pair->from_ip &&
                task.source_ports[attempt.port] == one.peer_port) {
              attempt.half_open = true;
            }
          });
        }
      });
    }
    batch.collect();
  }

  template <typename Marker>
  void mark(size_t listener, const Marker& marker) {
    for (PairTask& task : tasks_) {
      if (listener_of(task.to) != listener) continue;
      for (PortTry& attempt : task.pair->ports) marker(task, attempt);
    }
  }

  void match_captures(HostCaptures& captures, std::vector<std::string>& traces) {
    bool failed = false;
    for (const PairTask& task : tasks_) {
      for (const PortTry& attempt : task.pair->ports) {
        failed = failed || !is_ours(attempt);
      }
    }
    const bool keep =
        !context_.trace_folder.empty() &&
        (context_.keep_traces == "always" || (context_.keep_traces == "failures" && failed));
    const std::map<size_t, TraceSummary> summaries = captures.stop(keep);
    for (PairTask& task : tasks_) match_flows(task, summaries);
    if (keep) traces = captures.fetch(context_.trace_folder);
  }

  static const TraceFlow* flow_of(const TraceSummary& summary, const PairTask& task, int source,
                                  int port) {
    for (const TraceFlow& flow : summary.flows) {
      const bool there = flow.a_ip == task.pair->from_ip && flow.b_ip == task.pair->to_ip &&
                         flow.a_port == source && flow.b_port == port;
      // A capture that missed the SYN may take the answerer for the first.
      const bool back = flow.b_ip == task.pair->from_ip && flow.a_ip == task.pair->to_ip &&
                        flow.b_port == source && flow.a_port == port;
      if (flow.protocol == "tcp" && (there || back)) return &flow;
    }
    return nullptr;
  }

  static void match_flows(PairTask& task, const std::map<size_t, TraceSummary>& summaries) {
    for (PortTry& attempt : task.pair->ports) {
      // Without its own port a flow cannot be told from others.
      const auto source = task.source_ports.find(attempt.port);
      if (source == task.source_ports.end() || source->second == 0) continue;
      const auto match = [&](size_t host, bool& captured, std::optional<TraceFlow>& flow) {
        const auto summary = summaries.find(host);
        if (summary == summaries.end()) return;
        captured = true;
        const TraceFlow* found = flow_of(summary->second, task, source->second, attempt.port);
        if (found != nullptr) flow = *found;
      };
      match(task.from, attempt.captured_here, attempt.here);
      match(task.to, attempt.captured_there, attempt.there);
    }
  }

  void leave_idle(AgentBatch& batch) {
    for (PairTask& task : tasks_) {
      const auto open = std::find_if(task.pair->ports.begin(), task.pair->ports.end(),
                                     [](const PortTry& attempt) { return attempt.accepted; });
      if (open == task.pair->ports.end() || task.pair->same_machine) continue;
      const AskIdle asked{{task.way, open->port}, {job_.idle_s * 1000, kIdleAnswerMs}};
      batch.ask(task.from, asked, asked.idle_ms + 3 * kIdleAnswerMs, [this, &task](PortTry reply) {
        task.pair->idle = own_part(std::move(reply));
        task.pair->idle_s = job_.idle_s;
      });
    }
  }

  void close_all() {
    AgentBatch batch(context_);
    for (size_t i = 0; i < evidence_.hosts.size(); ++i) {
      batch.ask(i, AskUnlisten{kSession}, kShortMs, [](NothingSaid) {});
    }
    batch.collect();
  }

  ProbeContext& context_;
  EvidenceSet& evidence_;
  const Job& job_;
  unsigned needs_;
  std::vector<int> ports_;
  std::vector<PairTask> tasks_;
  std::map<std::tuple<size_t, std::string, int>, ListenState> listeners_;
};

}  // namespace

void gather_pairs(ProbeContext& context, unsigned needs, std::vector<std::string>& traces) {
  PairGatherer(context, needs).run(traces);
}

}  // namespace plumbline
