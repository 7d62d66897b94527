// Judges what was written down and what was started: files, options, port plan, names, agents.
#include <fmt/format.h>

#include <algorithm>

#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/judges/judges.h"
#include "probes/ports.h"
#include "probes/remedy.h"
#include "probes/rules/host_readiness.h"
#include "probes/rules/port_holders.h"

namespace plumbline {

using enum Standing;

namespace {

// The host in whose entry of the host file this problem lies, or the first one.
std::string host_of_problem(const EvidenceSet& evidence, const std::string& problem) {
  for (const JobHost& host : evidence.job.hosts) {
    if (!host.where.empty() && problem.rfind(host.where + ":", 0) == 0) return host.name;
  }
  return evidence.job.hosts.empty() ? std::string() : evidence.job.hosts[0].name;
}

void judge_files(const EvidenceSet& evidence, std::vector<Check>& checks) {
  if (evidence.job.hosts.empty()) return;
  int number = 0;
  for (const std::string& problem : evidence.job.problems) {
    checks.push_back(make_check(
        {"config", host_of_problem(evidence, problem), {}, {}, fmt::format("file {}", ++number)},
        kFail, problem));
  }
  if (number > 0) return;
  const std::string file = evidence.job.file.empty() ? "no file was needed" : evidence.job.file;
  checks.push_back(make_check(
      {"config", evidence.job.hosts[0].name, {}, {}, "file"}, kPass,
      fmt::format("{}: {} hosts, {} ranks", file, evidence.job.hosts.size(), evidence.job.ranks)));
}

// Options of one host against those of the job.
Check judge_options(const EvidenceSet& evidence, const HostEvidence& host) {
  const Subject subject = {"config", host.name, {}, {}, "options"};
  if (host.source != "agent") {
    return make_check(subject, kUnknown, "no agent told which options it sees on this host");
  }
  std::vector<std::string> different;
  for (const auto& [key, value] : evidence.job.config) {
    const auto own = host.config.find(key);
    if (own == host.config.end() || own->second == value) continue;
    different.push_back(fmt::format("{} = '{}' here, '{}' for the job", key, own->second, value));
  }
  if (!different.empty()) return make_check(subject, kFail, join_words(different));
  // The agent names what its environment sets otherwise than the other hosts'.
  return make_check(subject, kPass,
                    host.config.empty() ? "its environment sets no option apart from the others"
                                        : "what its environment sets is what the job has");
}

// Ports of the job that must be free on this host; those that stand for a range may be taken.
std::vector<int> wanted_ports(const EvidenceSet& evidence, const std::string& host) {
  if (!evidence.stack) return plan_of(evidence.job).all_ports();
  std::vector<int> out = ports_of(evidence.job, host);
  std::erase_if(out, [&](int port) {
    const auto range = range_of(evidence.job, host, port);
    return range.first != range.second;
  });
  return out;
}

Check judge_ephemeral(const HostEvidence& host, const std::vector<int>& ports) {
  const Subject subject = {"ports", host.name, {}, {}, "ephemeral"};
  const auto range = ephemeral_range(host);
  if (range.second == 0) {
    return make_check(subject, kSkipped, "this system does not show its ephemeral port range");
  }
  const std::vector<int> kept = kept_ports(host);
  std::vector<int> inside;
  for (const int port : ports) {
    const bool safe = is_in(kept, port);
    if (port >= range.first && port <= range.second && !safe) inside.push_back(port);
  }
  const std::string text = fmt::format("{}-{}", range.first, range.second);
  if (inside.empty()) {
    return make_check(subject, kPass,
                      fmt::format("no port may be taken from the ephemeral range {}", text));
  }
  const std::string list = format_port_list(inside);
  return make_check(subject, kWarn,
                    fmt::format("{} in the ephemeral range {}: any outgoing connection may take "
                                "them at any moment; {}",
                                list, text, remedy_reserve_ports(host.system, list).text()));
}

// What the host's agent said of its listener on this port, by the first pair that leads there.
const PortTry* listener_of(const EvidenceSet& evidence, const std::string& host, int port) {
  for (const PairEvidence& pair : evidence.pairs) {
    if (!pair.skipped.empty() || !same_host(evidence, pair.to, host)) continue;
    for (const PortTry& attempt : pair.ports) {
      if (attempt.port == port && attempt.listener != "absent") return &attempt;
    }
  }
  return nullptr;
}

Check judge_port(const EvidenceSet& evidence, const HostEvidence& host, int port) {
  const Subject subject = {"ports", host.name, {}, port, {}};
  if (const PortTry* attempt = listener_of(evidence, host.name, port)) {
    if (attempt->listener == "up") {
      return make_check(subject, kPass, "free: plumbline could listen there");
    }
    if (attempt->listener == "in_use") {
      const PortHolder holder = holder_of(evidence, host, *attempt);
      if (holder.harmless()) return make_check(subject, kSkipped, holder.words());
      return make_check(subject, kFail,
                        attempt->holder.empty()
                            ? "in use, though no listening process can be seen: perhaps an "
                              "outgoing connection has taken it"
                            : "held by " + attempt->holder);
    }
    return make_check(
        subject, kUnknown,
        "could not listen: " + (attempt->listener_error.empty() ? std::string("no reason given")
                                                                : attempt->listener_error));
  }
  for (const SocketEvidence& socket : host.sockets) {
    if (socket.port != port || socket.state != "LISTEN" || socket.protocol != "tcp") continue;
    return make_check(
        subject, kUnknown,
        fmt::format("{} (PID {}) listens there; whether it belongs to the job cannot "
                    "be told",
                    socket.process.empty() ? "a process" : socket.process, socket.pid));
  }
  if (!host.sockets.empty()) {
    return make_check(subject, kPass, "no socket of this host uses it");
  }
  return make_check(subject, kUnknown, "it was not tried to listen there");
}

}  // namespace

std::vector<Check> judge_config(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  judge_files(evidence, checks);
  for (const HostEvidence& host : evidence.hosts) checks.push_back(judge_options(evidence, host));
  return checks;
}

std::vector<Check> judge_ports(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  const PortPlan plan = plan_of(evidence.job);
  const PlanFault fault = plan_fault(evidence);
  for (size_t i = 0; i < evidence.hosts.size() && i < evidence.job.hosts.size(); ++i) {
    const HostEvidence& host = evidence.hosts[i];
    const Subject subject = {"ports", host.name, {}, {}, "plan"};
    const std::string earlier = same_as_earlier(evidence, evidence.job.hosts[i]);
    if (!earlier.empty()) {
      checks.push_back(make_check(subject, kSkipped, "same machine and addresses as " + earlier));
      continue;
    }
    if (!fault.wrong.empty()) {
      checks.push_back(make_check(subject, kFail, fault.wrong));
    } else if (evidence.stack) {
      checks.push_back(
          make_check(subject, kPass, "the ports are those of " + evidence.stack->stack));
    } else {
      checks.push_back(make_check(subject, kPass,
                                  fmt::format("ranks on {}, master port {}",
                                              format_port_list(plan.window()), plan.master)));
    }
    if (!has_facts(host)) {
      checks.push_back(make_check({"ports", host.name}, kUnknown, lack_of_facts(host)));
      continue;
    }
    checks.push_back(judge_ephemeral(host, wanted_ports(evidence, host.name)));
    for (const int port : ports_of(evidence.job, host.name)) {
      checks.push_back(judge_port(evidence, host, port));
    }
  }
  return checks;
}

std::vector<Check> judge_name(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  for (const JobHost& job : evidence.job.hosts) {
    const HostEvidence* host = find_host(evidence, job.name);
    if (host == nullptr) continue;
    const std::string earlier = same_as_earlier(evidence, job);
    if (!earlier.empty()) {
      checks.push_back(
          make_check({"name", job.name}, kSkipped, "same machine and addresses as " + earlier));
    } else if (!has_facts(*host)) {
      checks.push_back(make_check({"name", job.name}, kUnknown, lack_of_facts(*host)));
    } else {
      for (const HostVerdict& verdict : judge_names(evidence, job, *host)) {
        checks.push_back(verdict.check);
      }
    }
  }
  return checks;
}

// Whether the ssh login works; what then answers there is the question of `launch`.
std::vector<Check> judge_ssh(const EvidenceSet& evidence, const ProbeParams&) {
  constexpr const char* kNoLogin[] = {"name.unresolved", "ssh.unreachable", "ssh.refused",
                                      "ssh.auth",        "ssh.host_key",    "ssh.key_permissions"};
  constexpr const char* kLoggedIn[] = {"ssh.no_binary", "ssh.wrong_binary"};
  const auto among = [](const auto& causes, const std::string& cause) {
    return std::find(std::begin(causes), std::end(causes), cause) != std::end(causes);
  };
  std::vector<Check> checks;
  for (const HostEvidence& host : evidence.hosts) {
    const Subject subject = {"ssh", host.name};
    const JobHost* job = find_job_host(evidence, host.name);
    if (job == nullptr || job->reached_by != "ssh") {
      checks.push_back(make_check(subject, kSkipped, "it was reached without ssh"));
    } else if (among(kNoLogin, host.agent_cause)) {
      checks.push_back(make_check(subject, kFail,
                                  host.agent_error.empty() ? host.agent_cause : host.agent_error));
    } else if (among(kLoggedIn, host.agent_cause) ||
               (host.agent_cause.empty() && host.source == "agent")) {
      checks.push_back(make_check(subject, kPass, "the ssh login works: " + job->ssh));
    } else {
      checks.push_back(make_check(
          subject, kUnknown, "no agent answered, so it is not known whether the ssh login works"));
    }
  }
  return checks;
}

std::vector<Check> judge_launch(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  for (const HostEvidence& host : evidence.hosts) {
    const Subject subject = {"launch", host.name};
    if (!host.agent_cause.empty()) {
      checks.push_back(make_check(subject, kFail,
                                  host.agent_error.empty() ? host.agent_cause : host.agent_error));
    } else if (host.source == "agent") {
      checks.push_back(make_check(
          subject, kPass,
          host.version.empty() ? "an agent answers" : "an agent answers, version " + host.version));
    } else if (host.source == "collected") {
      checks.push_back(
          make_check(subject, kSkipped, "its evidence was collected without an agent"));
    } else {
      checks.push_back(make_check(subject, kUnknown, lack_of_facts(host)));
    }
  }
  if (!evidence.job_seen) return checks;
  // Where the job may be more than what was seen of it, "nothing is wrong" would be too much.
  for (const JobHostEvidence& host : evidence.job_seen->hosts) {
    const JobLook& look = host.second ? *host.second : host.first;
    const bool no_agent = find_host(evidence, host.host) != nullptr &&
                          !find_host(evidence, host.host)->agent_cause.empty();
    if ((!look.partial && host.error.empty()) || no_agent) continue;
    const std::string reason = !host.error.empty()   ? host.error
                               : look.unseen.empty() ? "not all of the job could be seen"
                                                     : join_words(look.unseen, "; ");
    checks.push_back(make_check({"launch", host.host, "", {}, "job"}, kUnknown, reason));
  }
  return checks;
}

}  // namespace plumbline
