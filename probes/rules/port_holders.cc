#include "probes/rules/port_holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/host/process_facts.h"
#include "core/number.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/rules/pair_facts.h"

namespace plumbline {
namespace {

// SocketEvidence::role, and what it says of the holder.
constexpr const char* kBusyRank = "busy rank";
constexpr std::array<std::pair<const char*, HolderKind>, 3> kRoles = {
    {{"waiting agent", HolderKind::kWaitingAgent},
     {"busy agent", HolderKind::kBusyAgent},
     {kBusyRank, HolderKind::kBusyRun}}};

// The number in "PID 4711 (python3)"; 0 when there is none.
int64_t pid_of(const std::string& holder) {
  const size_t at = holder.find("PID ");
  if (at == std::string::npos) return 0;
  return leading_whole(std::string_view(holder).substr(at + 4)).value_or(0);
}

// The program, or the static one; systems cut names of processes at 15 characters.
bool is_ours(const std::string& process) {
  return process == "plumbline" || process.rfind("plumbline-linux", 0) == 0;
}

// Process names are free text: the whole of what stands in the outer brackets is compared.
bool names_us(const std::string& holder) {
  const size_t begin = holder.find('('), end = holder.rfind(')');
  return begin != std::string::npos && end != std::string::npos && begin < end &&
         is_ours(holder.substr(begin + 1, end - begin - 1));
}

const SocketEvidence* socket_on(const HostEvidence& host, int port) {
  const SocketEvidence* best = nullptr;
  for (const SocketEvidence& socket : host.sockets) {
    if (socket.protocol != "tcp" || socket.port != port) continue;
    if (best == nullptr || socket.state == "LISTEN") best = &socket;
  }
  return best;
}

// Tried for a range, or for a part of one that filters treat alike, be it of one port.
bool is_sample(const EvidenceSet& evidence, const std::string& host, int port) {
  const JobHost* job = find_job_host(evidence, host);
  return job != nullptr &&
         any_of(job->samples, [&](const PortSample& sample) { return sample.port == port; });
}

// An agent that was asked for this evidence, on the machine of `host`.
bool is_asked_agent(const EvidenceSet& evidence, const HostEvidence& host, int64_t pid) {
  return any_of(evidence.hosts, [&](const HostEvidence& other) {
    const bool here =
        other.name == host.name || (!host.boot_id.empty() && other.boot_id == host.boot_id);
    return here && pid > 0 && other.agent_pid == pid;
  });
}

// What the host's own list of sockets tells of a process: role and run.
const SocketEvidence* socket_of(const HostEvidence& host, int64_t pid) {
  return find_where(host.sockets, [&](const SocketEvidence& socket) {
    return pid > 0 && socket.pid == pid && !(socket.role.empty() && socket.run.empty());
  });
}

HolderKind kind_of(const EvidenceSet& evidence, const HostEvidence& host, const PortHolder& holder,
                   const std::string& role, bool ours) {
  // What `launch` started may be any program.
  if (!ours) return role == kBusyRank ? HolderKind::kBusyRun : HolderKind::kStranger;
  if (is_asked_agent(evidence, host, holder.pid)) return HolderKind::kOwnAgent;
  for (const auto& [word, kind] : kRoles) {
    if (role == word) return kind;
  }
  return HolderKind::kLeftover;
}

}  // namespace

std::string PortHolder::words() const {
  const std::string who = text.empty() ? "a process that cannot be seen" : text;
  switch (kind) {
    case HolderKind::kOwnAgent:
      return "held by " + who + ", an agent of this check itself: it ends with it";
    case HolderKind::kWaitingAgent:
      return "held by " + who +
             ", an agent --listen of this user that waits for its coordinator: it ends by itself";
    case HolderKind::kBusyAgent:
      return "held by " + who +
             ", an agent of another diagnosis or run of this user that goes on now: it ends with "
             "it";
    case HolderKind::kBusyRun:
      return fmt::format("busy: held by {}, a process of {} that is alive: it ends with it", who,
                         run.empty() ? "a run" : "run " + run);
    case HolderKind::kAnyPort:
      return "held by " + who + " by now; the job takes another one of its range";
    case HolderKind::kLeftover:
    case HolderKind::kStranger:
      break;
  }
  return "held by " + who;
}

bool same_host(const EvidenceSet& evidence, const std::string& other, const std::string& host) {
  if (other == host) return true;
  const JobHost* job = find_job_host(evidence, other);
  return job != nullptr && same_as_earlier(evidence, *job) == host;
}

bool has_living_run(const HostEvidence& host) {
  return any_of(host.sockets,
                [](const SocketEvidence& socket) { return socket.role == kBusyRank; });
}

PortHolder holder_of(const EvidenceSet& evidence, const HostEvidence& host,
                     const PortTry& attempt) {
  PortHolder holder;
  const SocketEvidence* socket = socket_on(host, attempt.port);
  holder.text = attempt.holder;
  holder.pid = pid_of(holder.text);
  if (holder.pid == 0 && socket != nullptr && socket->pid > 0) {
    holder.pid = socket->pid;
    holder.text = fmt::format("PID {} ({})", holder.pid, socket->process);
  }
  const bool ours = names_us(holder.text) || (socket != nullptr && is_ours(socket->process));
  // An older agent tells no role with the attempt.
  const SocketEvidence* told = socket_of(host, holder.pid);
  const bool with_attempt = !attempt.role.empty() || !attempt.run.empty() || told == nullptr;
  const std::string& run = with_attempt ? attempt.run : told->run;
  if (is_run_id(run)) holder.run = run;
  holder.kind =
      is_sample(evidence, host.name, attempt.port)
          ? HolderKind::kAnyPort
          : kind_of(evidence, host, holder, with_attempt ? attempt.role : told->role, ours);
  holder.ports = {attempt.port};
  return holder;
}

std::vector<PortHolder> holders_of(const EvidenceSet& evidence, const HostEvidence& host) {
  std::vector<PortHolder> holders;
  for (const PairEvidence& pair : evidence.pairs) {
    if (!pair.skipped.empty() || !same_host(evidence, pair.to, host.name)) continue;
    for (const PortTry& attempt : pair.ports) {
      if (attempt.listener != "in_use" || !is_job_port(evidence.job, attempt.port)) continue;
      const PortHolder holder = holder_of(evidence, host, attempt);
      if (holder.kind == HolderKind::kAnyPort) continue;
      const auto known = std::find_if(holders.begin(), holders.end(), [&](const PortHolder& other) {
        return other.text == holder.text && other.pid == holder.pid;
      });
      if (known == holders.end()) {
        holders.push_back(holder);
      } else if (!is_in(known->ports, attempt.port)) {
        known->ports.push_back(attempt.port);
      }
    }
  }
  return holders;
}

bool meets_holder(const EvidenceSet& evidence, const Check& check, const PortHolder& holder) {
  if (!check.port || !is_in(holder.ports, *check.port)) {
    return false;
  }
  return any_of(evidence.pairs, [&](const PairEvidence& pair) {
    if (pair.from != check.host || pair.to != check.peer) return false;
    return any_of(pair.ports, [&](const PortTry& attempt) {
      return attempt.port == *check.port && state_of(attempt) == PortState::kHeld;
    });
  });
}

}  // namespace plumbline
