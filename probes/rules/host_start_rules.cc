// Causes that are there before a packet is sent: files, options, ports, names, agents, readiness.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

#include "core/ranges.h"
#include "core/usual.h"
#include "probes/ports.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/host_readiness.h"
#include "probes/rules/port_holders.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

void propose_file_problems(const EvidenceSet& evidence, const Checks& checks,
                           std::vector<Candidate>& out) {
  for (const Check& check : checks) {
    if (check.id != "config" || check.outcome != CheckOutcome::kFail) continue;
    if (!check.detail.starts_with("file ")) continue;
    out.push_back(Proposal("config.mismatch", Severity::kFail, check.host)
                      .see(check.host, check.key, check.reason)
                      .remedy("correct this line of " + evidence.job.file)
                      .proven()
                      .take(checks));
  }
}

void propose_options(const EvidenceSet& evidence, const Checks& checks,
                     std::vector<Candidate>& out) {
  struct Difference {
    std::vector<std::string> texts, remedies;
  };
  std::map<std::string, Difference> by_host;
  for (const auto& [key, wanted] : evidence.job.config) {
    std::vector<std::string> words;
    for (const HostEvidence& host : evidence.hosts) {
      const auto own = host.config.find(key);
      // An agent that does not name an option leaves it to the job.
      if (own != host.config.end()) words.push_back(own->second);
      if (own == host.config.end() && host.source == "agent") words.push_back(wanted);
    }
    const std::string usual = usual_of(words, wanted);
    for (const HostEvidence& host : evidence.hosts) {
      const auto own = host.config.find(key);
      if (own == host.config.end() || own->second == usual) continue;
      Difference& difference = by_host[host.name];
      difference.texts.push_back(
          fmt::format("{} = '{}' on this host, '{}' on the others", key, own->second, usual));
      difference.remedies.push_back(fmt::format("{} to '{}'", key, usual));
    }
  }
  for (const HostEvidence& host : evidence.hosts) {
    const auto it = by_host.find(host.name);
    if (it == by_host.end()) continue;
    Proposal proposal("config.mismatch", Severity::kFail, host.name);
    for (const std::string& text : it->second.texts) {
      proposal.see(host.name, key_of({"config", host.name, {}, {}, "options"}), text);
    }
    out.push_back(proposal
                      .remedy(fmt::format("set {} on {}: a variable of its environment "
                                          "(PLUMBLINE_* or MCCL_*) says otherwise",
                                          join_words(it->second.remedies), host.name))
                      .proven()
                      .take(checks));
  }
}

void propose_versions(const EvidenceSet& evidence, const Checks& checks,
                      std::vector<Candidate>& out) {
  const auto compare = [&](const char* what, std::string HostEvidence::*field,
                           const std::string& favourite) {
    std::vector<std::string> words;
    for (const HostEvidence& host : evidence.hosts) {
      if (host.source == "agent" && !(host.*field).empty()) words.push_back(host.*field);
    }
    const std::string usual = usual_of(words, favourite);
    for (const HostEvidence& host : evidence.hosts) {
      if (host.source != "agent" || (host.*field).empty() || host.*field == usual) continue;
      const bool known = any_of(out, [&](const Candidate& c) {
        return c.finding.cause == "config.version_mismatch" && c.finding.host == host.name;
      });
      if (known) continue;
      out.push_back(Proposal("config.version_mismatch", Severity::kFail, host.name)
                        .see(host.name, key_of({"launch", host.name}),
                             fmt::format("{} '{}' on this host, '{}' on the others", what,
                                         host.*field, usual))
                        .remedy(fmt::format("install plumbline {} on {}", usual, host.name))
                        .proven()
                        .take(checks));
    }
  };
  compare("version", &HostEvidence::version, evidence.suite_version);
  compare("build", &HostEvidence::build, "");
}

// What to do about a held port. Other ports come first; of a process that nobody here knows only
// its owner can say whether it may end.
Remedy remedy_for(const EvidenceSet& evidence, const PortHolder& holder,
                  const std::string& system) {
  const bool master = is_in(holder.ports, evidence.job.master_port);
  const std::string seen_by = remedy_show_listener(system, holder.ports.front());
  switch (holder.kind) {
    case HolderKind::kOwnAgent:
    case HolderKind::kAnyPort:
      return {};
    case HolderKind::kLeftover:
      if (holder.pid > 0) return remedy_kill(holder.pid);
      return fmt::format("end the process that `{}` shows", seen_by);
    case HolderKind::kBusyAgent:
      return "wait until the other diagnosis or run has ended, then ask again";
    case HolderKind::kWaitingAgent:
      return "leave the job's ports to the job: plumbline agent --listen without --port, or with "
             "another one";
    case HolderKind::kBusyRun:
      return fmt::format("wait until {} has ended, or choose other ports: --port-base auto{}",
                         holder.run.empty() ? "that run" : "run " + holder.run,
                         holder.run.empty() ? "" : ", or end it: plumbline stop " + holder.run);
    case HolderKind::kStranger:
      break;
  }
  if (evidence.stack && !evidence.stack->port_variable.empty()) {
    return Remedy(fmt::format("choose another port for the job: {}",
                              master ? "MASTER_PORT" : evidence.stack->port_variable))
        .say("or end what holds it: " + seen_by + " shows it");
  }
  const std::string other = suggest_ports(evidence, master);
  return Remedy("choose other ports: " + (other.empty() ? "--port-base auto" : other))
      .say(fmt::format("only if nobody needs it: end {} by hand",
                       holder.pid > 0 ? fmt::format("process {}", holder.pid)
                                      : fmt::format("the process that `{}` shows", seen_by)));
}

void propose_holder(const EvidenceSet& evidence, const Checks& checks, const PortHolder& holder,
                    const std::string& host, std::vector<Candidate>& out) {
  if (holder.kind == HolderKind::kOwnAgent) return;
  const bool stranger = holder.kind == HolderKind::kStranger;
  const Severity severity = stranger            ? Severity::kFail
                            : holder.harmless() ? Severity::kNote
                                                : Severity::kWarn;
  // Nothing is left behind by a run that is alive.
  const bool in_use = stranger || holder.kind == HolderKind::kBusyRun;
  Proposal proposal(in_use ? "tcp.port_in_use" : "host.stale_process", severity, host);
  proposal.ports(holder.ports).proven();
  for (const int port : holder.ports) {
    proposal.see(host, key_of({"ports", host, {}, port, {}}),
                 fmt::format("port {} is {}", port, holder.words()));
  }
  const HostEvidence* asked = find_host(evidence, host);
  const Remedy remedy = remedy_for(evidence, holder, asked == nullptr ? "" : asked->system);
  Candidate candidate = proposal.remedy(remedy).take(checks);
  // Connections to a port that somebody else holds fail for that, and for nothing else.
  for (const Check& check : checks) {
    const bool held = check.id == "tcp.connect" && check.outcome == CheckOutcome::kFail &&
                      same_host(evidence, check.peer, host) && check.port &&
                      meets_holder(evidence, check, holder);
    if (held) candidate.finding.explains.push_back(check.key);
  }
  out.push_back(std::move(candidate));
}

}  // namespace

Candidates propose_config(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  propose_file_problems(evidence, checks, out);
  propose_options(evidence, checks, out);
  propose_versions(evidence, checks, out);
  return out;
}

Candidates propose_ports(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const PortPlan plan = plan_of(evidence.job);
  const PlanFault fault = plan_fault(evidence);
  if (!fault.wrong.empty() && !evidence.job.hosts.empty()) {
    const std::string& first = evidence.job.hosts[0].name;
    Proposal proposal("tcp.port_collision", Severity::kFail, first);
    proposal.see(first, key_of({"ports", first, {}, {}, "plan"}), fault.wrong);
    out.push_back(proposal.ports(plan.all_ports()).remedy(fault.remedy).proven().take(checks));
    for (const Check& check : checks) {  // the same on every host
      auto& explains = out.back().finding.explains;
      if (check.id == "ports" && check.detail == "plan" && check.outcome == CheckOutcome::kFail &&
          !is_in(explains, check.key)) {
        explains.push_back(check.key);
      }
    }
  }
  for (const HostEvidence& host : evidence.hosts) {
    const JobHost* job = find_job_host(evidence, host.name);
    if (job == nullptr || !same_as_earlier(evidence, *job).empty()) continue;
    for (const PortHolder& holder : holders_of(evidence, host)) {
      propose_holder(evidence, checks, holder, host.name, out);
    }
  }
  return out;
}

Candidates propose_names(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostView& view : host_views(evidence)) {
    for (const HostVerdict& verdict : judge_names(evidence, *view.job, *view.host)) {
      if (verdict.cause.empty()) continue;
      out.push_back(Proposal(verdict.cause, Severity::kFail, view.job->name)
                        .peer(verdict.check.peer)
                        .see(view.job->name, verdict.check.key, verdict.check.reason)
                        .remedy(verdict.remedy)
                        .proven()
                        .take(checks));
    }
  }
  return out;
}

Candidates propose_readiness(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  for (const HostVerdict& row : readiness_of(evidence)) {
    if (row.cause.empty()) continue;
    Proposal proposal(row.cause, row.severity, row.check.host);
    proposal.see(row.check.host, row.check.key, row.check.reason).remedy(row.remedy).proven();
    // A full table drops new connections: what does not work on this host is its doing.
    if (row.severity == Severity::kFail) {
      proposal.breaks(not_working(evidence, pairs_of(evidence, row.check.host)));
    }
    out.push_back(proposal.take(checks));
  }
  return out;
}

Candidates propose_rdma(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const Severity severity = !evidence.job.rdma         ? Severity::kNote
                            : evidence.job.rdma_or_tcp ? Severity::kWarn
                                                       : Severity::kFail;
  for (const HostVerdict& verdict : rdma_verdicts(evidence)) {
    if (verdict.cause.empty()) continue;
    out.push_back(Proposal(verdict.cause, severity, verdict.check.host)
                      .see(verdict.check.host, verdict.check.key, verdict.check.reason)
                      .remedy(verdict.remedy)
                      .proven()
                      .take(checks));
  }
  return out;
}

}  // namespace plumbline
