// Causes at the ends of a connection: echo that is switched off, nobody or somebody else at a port,
// a system that refuses its own process.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/ports.h"
#include "probes/remedy.h"
#include "probes/rules/pair_blocks.h"
#include "probes/rules/pair_facts.h"
#include "probes/rules/pair_filters.h"
#include "probes/rules/pair_locate.h"
#include "probes/rules/pair_privacy.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

Candidate start(const char* cause, Severity severity, const std::string& host,
                const std::string& peer) {
  Candidate out;
  out.finding.cause = cause;
  out.finding.outcome = severity;
  out.finding.host = host;
  out.finding.peer = peer;
  return out;
}

void set_ports(Candidate& candidate, const PairEvidence& pair, std::vector<int> ports,
               const Job& job) {
  std::sort(ports.begin(), ports.end());
  Finding& finding = candidate.finding;
  finding.ports = std::move(ports);
  if (finding.ports.size() == 1) finding.port = finding.ports[0];
  for (const int port : finding.ports) {
    finding.explains.push_back(connect_key(pair, port));
    if (is_job_port(job, port)) candidate.breaks = {{pair.from, pair.to}};
  }
}

// ---- echo ----

bool echo_fails(const PairView& view) {
  const auto& ping = view.pair->ping;
  if (!ping || ping->sent <= 0 || ping->received > 0 || !ping->unavailable.empty()) return false;
  return has_open_job_port(view);
}

struct EchoBlock {
  std::string host, text;
  Remedy remedy;
};

// Who blocks it, where one pair shows that.
std::optional<EchoBlock> echo_blocked_by(const PairView& view) {
  const PairEvidence& pair = *view.pair;
  const bool v6 = pair.to_ip.find(':') != std::string::npos;
  const std::string key = v6 ? "net.ipv6.icmp.echo_ignore_all" : "net.ipv4.icmp_echo_ignore_all";
  if (view.to != nullptr) {
    if (sysctl_number(*view.to, key).value_or(0) != 0) {
      return EchoBlock{pair.to, key + " = 1", remedy_sysctl(key, "0")};
    }
    for (const FilterSource& source : view.to->filter_sources) {
      if (source.tool == "alf" && source.state.find("stealth") != std::string::npos) {
        return EchoBlock{pair.to, "stealth mode of the application firewall is on", ""};
      }
    }
  }
  const RuleHit* maybe = nullptr;
  const std::vector<RuleHit> hits = rule_hits(view, 0, 84, v6 ? "icmpv6" : "icmp");
  for (const RuleHit& hit : hits) {
    if (hit.rule == nullptr) continue;
    if (hit.certain) return EchoBlock{hit.host->name, describe(*hit.rule), ""};
    if (maybe == nullptr) maybe = &hit;
  }
  for (const std::string& error : pair.ping->errors) {
    if (error.rfind("from ", 0) != 0) continue;
    const HostEvidence* owner = owner_of(*view.evidence, error.substr(5, error.find(':', 5) - 5));
    if (error.find("::") == std::string::npos && owner != nullptr) {
      return EchoBlock{owner->name, error, ""};
    }
  }
  if (maybe == nullptr) return std::nullopt;
  return EchoBlock{maybe->host->name, "perhaps " + describe(*maybe->rule), ""};
}

}  // namespace

Candidates propose_icmp_blocked(const EvidenceSet& evidence, const Checks&) {
  Candidates out;
  // Where nothing else tells, the end that was asked is named: the "sender" of the answer.
  std::set<HostDirection> silent;
  const std::vector<PairView> views = pair_views(evidence);
  for (const PairView& view : views) {
    if (echo_fails(view)) silent.insert({view.pair->to, view.pair->from});
  }
  const PathOwners owners = owners_of_directions(evidence, silent);
  for (const PairView& view : views) {
    if (!echo_fails(view)) continue;
    const PairEvidence& pair = *view.pair;
    HostDirection named = owners.at({pair.to, pair.from});
    const auto block = echo_blocked_by(view);
    if (block) named = {block->host, block->host == pair.to ? pair.from : pair.to};
    Candidate candidate = start("icmp.blocked", Severity::kNote, named.first, named.second);
    const std::string check = key_of({"icmp", pair.from, pair.to});
    candidate.finding.evidence.push_back(
        {pair.from, check,
         fmt::format("none of {} echo requests to {} was answered, but TCP works", pair.ping->sent,
                     pair.to_ip)});
    if (block) candidate.finding.evidence.push_back({block->host, "", block->text});
    candidate.finding.confidence = block ? 0.9 : 0.7;
    candidate.finding.remedy =
        block && !block->remedy.empty()
            ? block->remedy
            : Remedy(
                  "# nothing needs it; for `ping` as a tool let ICMP echo requests and replies "
                  "pass");
    candidate.finding.explains = {check};
    out.push_back(std::move(candidate));
  }
  return out;
}

// ---- nobody, or somebody at another address ----

namespace {

std::string who(const SocketEvidence& socket) {
  std::string out = socket.process.empty() ? "a process" : socket.process;
  if (socket.pid > 0) out += fmt::format(" (PID {})", socket.pid);
  return fmt::format("{} listens on {} port {}", out, socket.ip, socket.port);
}

Candidate wrong_address(const PairView& view, const SocketEvidence& socket, bool refused) {
  const PairEvidence& pair = *view.pair;
  // The whole host is at fault: everybody meets the same listener.
  Candidate out = start("tcp.listener_wrong_address", Severity::kFail, pair.to, "");
  out.proven = true;
  out.finding.confidence = refused ? 0.9 : 0.7;
  out.finding.evidence.push_back(
      {pair.to, "", fmt::format("{}, not on {}", who(socket), pair.to_ip)});
  // Whose process it is nobody here knows: only its owner can say whether it may end.
  out.finding.remedy =
      Remedy(fmt::format("start what listens on {} port {} with {} as its address", socket.ip,
                         socket.port, pair.to_ip))
          .say(fmt::format(
              "only if nobody needs it: end {} by hand",
              socket.pid > 0
                  ? fmt::format("process {}", socket.pid)
                  : fmt::format("the process that `{}` shows",
                                remedy_show_listener(view.to == nullptr ? "" : view.to->system,
                                                     socket.port))));
  return out;
}

Candidate no_listener(const PairView& view, const std::vector<int>& ports, Bound bound) {
  const PairEvidence& pair = *view.pair;
  Candidate out = start("tcp.no_listener", Severity::kFail, pair.to, "");
  out.proven = bound == Bound::kNowhere;
  out.finding.confidence = bound == Bound::kNowhere ? 0.9 : 0.6;
  out.finding.evidence.push_back(
      {pair.from, connect_key(pair, ports[0]),
       fmt::format("{} refused {} with RST", pair.to_ip, ports_text(ports))});
  out.finding.evidence.push_back(
      {pair.to, connect_key(pair, ports[0]),
       bound == Bound::kNowhere
           ? "no socket listens there"
           : "nothing is known from that end: a filter that answers with RST looks the same"});
  out.finding.remedy =
      fmt::format("# start what should listen on {} {}", pair.to, ports_text(ports));
  return out;
}

// Without an agent there nobody knows whether something should listen.
Candidate nobody_yet(const PairView& view, const std::vector<int>& ports) {
  const PairEvidence& pair = *view.pair;
  Candidate out = start("tcp.no_listener", Severity::kNote, pair.to, "");
  out.finding.confidence = 0.6;
  out.finding.evidence.push_back(
      {pair.from, connect_key(pair, ports[0]),
       fmt::format("{} refused {}: the path is open, and nothing listens on these ports now (a "
                   "filter that answers with RST looks the same)",
                   pair.to_ip, ports_text(ports))});
  out.finding.remedy = fmt::format(
      "# no failure where nothing should listen there yet; `plumbline agent --listen` on {} lets "
      "both ends be looked at",
      pair.to);
  return out;
}

bool is_data_address(const Job& job, const std::string& host, const std::string& ip) {
  for (const JobHost& entry : job.hosts) {
    if (entry.name != host) continue;
    return any_of(entry.data,
                  [&](const std::string& text) { return text.substr(0, text.find('/')) == ip; });
  }
  return false;
}

}  // namespace

Candidates propose_no_listener(const EvidenceSet& evidence, const Checks&) {
  Candidates out;
  for (const PairView& view : pair_views(evidence)) {
    const PairEvidence& pair = *view.pair;
    std::map<Bound, std::vector<int>> missing;
    for (const PortTry& attempt : pair.ports) {
      const PortState state = state_of(attempt);
      const SocketEvidence* socket = nullptr;
      const Bound bound = listener_at(view.to, pair.to_ip, attempt.port, &socket);
      if (state == PortState::kNoListener && bound != Bound::kThere && bound != Bound::kElsewhere) {
        missing[bound].push_back(attempt.port);
      }
      if (bound != Bound::kElsewhere || !is_job_port(evidence.job, attempt.port)) continue;
      // On another data address of the host the port is simply taken.
      if (is_data_address(evidence.job, pair.to, socket->ip)) continue;
      const bool refused =
          attempt.result == "refused" && icmp_of(attempt) == nullptr && attempt.listener != "up";
      if (!refused && (state != PortState::kOpen || socket->process == "plumbline")) continue;
      Candidate candidate = wrong_address(view, *socket, refused);
      set_ports(candidate, pair, {attempt.port}, evidence.job);
      if (!refused) {
        candidate.breaks.clear();
        candidate.finding.explains.clear();
      }
      out.push_back(std::move(candidate));
    }
    for (const auto& [bound, ports] : missing) {
      const bool unknown = bound == Bound::kUnknown && seen_from_one_side(view);
      Candidate candidate = unknown ? nobody_yet(view, ports) : no_listener(view, ports, bound);
      set_ports(candidate, pair, ports, evidence.job);
      if (unknown) candidate.breaks.clear();
      out.push_back(std::move(candidate));
    }
  }
  return out;
}

// ---- somebody else ----

namespace {

// What of a stranger's bytes can be shown: printable, short.
std::string shown(const std::string& bytes) {
  constexpr size_t kMost = 40;
  std::string out;
  for (const char c : bytes.substr(0, kMost)) out += c >= ' ' && c <= '~' ? c : '.';
  return out;
}

}  // namespace

Candidates propose_wrong_service(const EvidenceSet& evidence, const Checks&) {
  Candidates out;
  for (const PairView& view : pair_views(evidence)) {
    const PairEvidence& pair = *view.pair;
    for (const PortTry& attempt : pair.ports) {
      if (state_of(attempt) != PortState::kStranger) continue;
      if (attempt.answer == "silent" && silent_by_chance(view, attempt.port)) continue;
      const RuleHit* redirect = nullptr;
      const std::vector<RuleHit> hits = rule_hits(view, attempt.port);
      for (const RuleHit& hit : hits) {
        if (hit.redirects && hit.rule != nullptr && redirect == nullptr) redirect = &hit;
      }
      // Its listeners took connections until it died, and nobody is left to tell of them.
      const bool died = view.to != nullptr && !view.to->agent_cause.empty();
      if (died && redirect == nullptr && attempt.answer != "stranger") continue;
      const bool at_sender = redirect != nullptr && redirect->host == view.from;
      Candidate candidate = start("tcp.wrong_service", Severity::kFail,
                                  at_sender ? pair.from : pair.to, at_sender ? pair.to : pair.from);
      Finding& finding = candidate.finding;
      set_ports(candidate, pair, {attempt.port}, evidence.job);
      candidate.proven = true;
      finding.confidence = redirect != nullptr ? 0.97 : attempt.answer == "stranger" ? 0.9 : 0.7;
      const std::string said = attempt.stranger_bytes.empty()
                                   ? std::string("says nothing that we know")
                                   : "says \"" + shown(attempt.stranger_bytes) + "\"";
      finding.evidence.push_back(
          {pair.from, connect_key(pair, attempt.port),
           fmt::format("who accepts on {} port {} {}", pair.to_ip, attempt.port, said)});
      if (attempt.listener == "up") {
        finding.evidence.push_back(
            {pair.to, "", "the listener of " + pair.to + " never saw the connection"});
      }
      const std::string system = view.to == nullptr ? "" : view.to->system;
      finding.remedy = "# end who answers there, or move the job's ports:";
      finding.remedy.say(remedy_show_listener(system, attempt.port));
      if (redirect != nullptr) {
        finding.evidence.push_back({redirect->host->name, "", describe(*redirect->rule)});
        RemedyFor what;
        what.incoming = !at_sender;
        what.own_ip = at_sender ? pair.from_ip : pair.to_ip;
        what.peer_ip = at_sender ? pair.to_ip : pair.from_ip;
        what.ports = {attempt.port};
        finding.remedy = remedy_for_rule(*redirect->rule, what).on(redirect->host->name);
        if (finding.remedy.empty()) finding.remedy = "# take away: " + describe(*redirect->rule);
      }
      out.push_back(std::move(candidate));
    }
  }
  return out;
}

// ---- macOS ----

Candidates propose_local_network_privacy(const EvidenceSet& evidence, const Checks&) {
  Candidates out;
  for (const PairView& view : pair_views(evidence)) {
    if (!refused_by_privacy(view)) continue;
    const PairEvidence& pair = *view.pair;
    Candidate candidate = start("macos.local_network_privacy", Severity::kFail, pair.from, pair.to);
    candidate.proven = true;
    candidate.needs_way_back = true;
    std::vector<int> ports;
    for (const PortTry& attempt : pair.ports) {
      if (state_of(attempt) == PortState::kUnreachable) ports.push_back(attempt.port);
    }
    Finding& finding = candidate.finding;
    const PrivacyWords words = privacy_words(*view.from);
    finding.confidence = words.confidence;
    finding.evidence = {
        {pair.from, ports.empty() ? "" : connect_key(pair, ports[0]),
         fmt::format("connecting to {} {}: EHOSTUNREACH (65)", pair.to_ip, ports_text(ports))},
        {pair.from, "",
         fmt::format("the system's own tool reaches the same address: {}",
                     tool_that_reached(view))}};
    if (!words.started.empty()) finding.evidence.push_back({pair.from, "", words.started});
    finding.remedy = words.remedy;
    set_ports(candidate, pair, ports, evidence.job);
    out.push_back(std::move(candidate));
  }
  return out;
}

}  // namespace plumbline
