// Ranks of a job that are stopped, have ended, or never came: job.stopped, rank.dead, rank.missing.
#include <fmt/format.h>

#include <map>
#include <set>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/remedy.h"
#include "probes/rules/host_common.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

constexpr int64_t kStartSeconds = 5;  // in which a launcher may start its ranks one by one

Candidate stopped(const JobMember& member, const Checks& checks) {
  const bool traced = member.process().state == "traced";
  const std::string seen =
      traced ? "is held by a debugger" : "is stopped (SIGSTOP, SIGTSTP, Ctrl-Z)";
  Remedy remedy(Command{"kill", "-CONT", pid_word(member.process().pid)});
  if (traced) remedy = fmt::format("let {} go on in its debugger", describe(member));
  return Proposal("job.stopped", Severity::kFail, member.host->host)
      .see(member.host->host, "", fmt::format("{} {}, in two looks", describe(member), seen))
      .remedy(remedy)
      .proven()
      .take(checks);
}

// Ended, and nobody has asked for its status yet, or gone between the looks while others go on.
bool has_ended(const JobMember& member) {
  return member.last == nullptr ? member.host->second.has_value() : member.last->state == "zombie";
}

// How many ranks should be on the machines that were asked, and which are there.
struct RollCall {
  int size = 0;
  std::set<int> present, ended;
  int64_t oldest_s = 0;
};

RollCall call_roll(const JobFacts& facts) {
  RollCall roll;
  roll.size = world_size(facts.members).value_or(0);
  for (const JobMember& member : facts.members) {
    if (!member.place || member.outside) continue;
    (has_ended(member) ? roll.ended : roll.present).insert(member.place->rank);
    roll.oldest_s = std::max(roll.oldest_s, member.process().age_s.value_or(0));
  }
  for (const int rank : roll.present) roll.ended.erase(rank);
  return roll;
}

// Connections that their other end has closed, by the host where it was.
std::map<std::string, std::string> closed_by(const JobFacts& facts) {
  std::map<std::string, std::string> out;
  for (const JobConnection& connection : facts.connections) {
    if (connection.socket->state != "CLOSE-WAIT" || connection.peer_host == nullptr) continue;
    if (connection.peer != nullptr && connection.peer->place) continue;
    out.emplace(connection.peer_host->host,
                fmt::format("the other end of a connection of {} was closed: {}:{}",
                            describe(*connection.owner), connection.socket->peer_ip,
                            connection.socket->peer_port));
  }
  return out;
}

// Ranks that meet at MASTER_PORT (torch, gloo) wait there for all others, with a listener for each
// that has not come yet; afterwards they have none. So they tell whether one was there once.
bool have_met(const JobFacts& facts) {
  return any_of(facts.members, [&](const JobMember& member) {
    const auto& variables = member.process().environment;
    const auto master = variables.find("MASTER_PORT");
    if (!member.place || member.outside || master == variables.end()) return false;
    bool joined = false;
    for (const JobSocket* socket : member.sockets) {
      const bool at_master = std::to_string(socket->port) == master->second ||
                             std::to_string(socket->peer_port) == master->second;
      if (socket->state == "LISTEN" && !at_master) return false;
      joined = joined || (socket->state == "ESTABLISHED" && !at_master);
    }
    return joined;
  });
}

// A rank that is there, does nothing, and has not a single socket, while others wait in theirs: it
// never came to where they are. One that loads its model works.
Candidate never_joined(const JobMember& member, const Checks& checks) {
  const std::string& host = member.host->host;
  return Proposal("rank.missing", Severity::kFail, host)
      .confidence(0.8)
      .see(
          host, "",
          fmt::format("{} has not joined the others: it has no socket, uses no processor time, and "
                      "{}",
                      describe(member), doing_of(member)))
      .remedy(fmt::format("see what {} waits for before it joins: its log, or py-spy dump --pid {}",
                          describe(member), member.process().pid))
      .proven()
      .take(checks);
}

bool is_at_rest(const JobMember& member) {
  if (member.last == nullptr || member.last->state != "sleeping" || is_working(member))
    return false;
  return member.last->sockets_seen && member.process().age_s.value_or(0) >= kStartSeconds;
}

// Before the ranks of Hydra's launcher have met, each asks it for the others, over no TCP. Those
// that rest elsewhere, while some do wait there. On one machine shared memory may be all they need.
std::vector<const JobMember*> not_at_the_launcher(const JobFacts& facts) {
  if (hosts_with_members(facts.members).size() < 2) return {};
  constexpr const char* kCalls[] = {"read", "recvfrom", "recvmsg", "poll"};
  std::vector<const JobMember*> out;
  bool anybody_waits = false;
  for (const JobMember& member : facts.members) {
    if (!member.place || member.outside) continue;
    if (!is_at_rest(member) || member.place->rank_name != "PMI_RANK") return {};
    const bool waits = is_in(kCalls, member.process().system_call);
    anybody_waits = anybody_waits || waits;
    if (!waits) out.push_back(&member);
  }
  return anybody_waits ? out : std::vector<const JobMember*>();
}

void propose_never_joined(const JobFacts& facts, const Checks& checks,
                          std::vector<Candidate>& out) {
  std::vector<const JobMember*> silent;
  size_t joined = 0;
  for (const JobMember& member : facts.members) {
    if (!member.place || member.outside) continue;
    const bool has = !member.sockets.empty();
    joined += has ? 1 : 0;
    if (!has && is_at_rest(member)) silent.push_back(&member);
  }
  if (joined == 0) {
    silent = not_at_the_launcher(facts);
    joined = silent.size();
  }
  // More than a few are no laggards: the job's ranks have nothing to do with sockets.
  if (joined < silent.size()) return;
  for (const JobMember* member : silent) out.push_back(never_joined(*member, checks));
}

Candidate dead(const std::string& host, int rank, const std::string& seen, const Checks& checks) {
  return Proposal("rank.dead", Severity::kFail, host)
      .see(host, "", fmt::format("rank {}: {}", rank, seen))
      .remedy(fmt::format("look for the last words of rank {} on {}, and whether the system ended "
                          "it for memory (dmesg); then start the job again",
                          rank, host))
      .proven()
      .take(checks);
}

Candidate missing(const std::string& host, int rank, const RollCall& roll, const Checks& checks) {
  const std::string where = host.empty() ? "any of the hosts" : host;
  return Proposal("rank.missing", Severity::kFail, host)
      .see(host, "",
           fmt::format("rank {} of {} is not on {}; ranks that are there: {}", rank, roll.size,
                       where, roll.present.size()))
      .remedy(fmt::format("start rank {} on {}, or give all ranks the size {}", rank,
                          host.empty() ? "its host" : host, roll.present.size()))
      .proven()
      .take(checks);
}

}  // namespace

Candidates propose_job_processes(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto facts = job_facts(evidence);
  if (!facts) return out;
  for (const JobMember& member : facts->members) {
    if (is_stopped(member) && !is_lone(member)) out.push_back(stopped(member, checks));
  }
  const RollCall roll = call_roll(*facts);
  if (roll.present.empty()) return out;  // it is over
  for (const JobMember& member : facts->members) {
    if (!member.place || member.outside || roll.ended.count(member.place->rank) == 0) continue;
    if (is_lone(member)) continue;
    out.push_back(dead(member.host->host, member.place->rank,
                       fmt::format("PID {} has ended, the others go on", member.first->pid),
                       checks));
  }
  // Ranks that found no way to one that hangs have given up, and are gone.
  if (!propose_job_places(evidence, checks).empty()) return out;
  const std::vector<Candidate> kept_away = propose_job_network(evidence, checks);
  const auto is_kept_away = [&](const std::string& host) {
    return any_of(kept_away, [&](const Candidate& each) {
      return each.proven && (each.finding.host == host || each.finding.peer == host);
    });
  };
  if (kept_away.empty()) propose_never_joined(*facts, checks, out);
  if (roll.oldest_s < kStartSeconds || !saw_everything(*facts)) return out;
  const bool met = have_met(*facts);
  const std::map<std::string, std::string> closed = closed_by(*facts);
  constexpr size_t kMostNamed = 64;
  for (int rank = 0; rank < roll.size && out.size() < kMostNamed; ++rank) {
    if (roll.present.count(rank) != 0 || roll.ended.count(rank) != 0) continue;
    const std::string host = host_of_absent(*facts, rank);
    if (is_kept_away(host)) continue;
    const auto ended = closed.find(host);
    if (ended != closed.end()) {
      out.push_back(dead(host, rank, "it is gone; " + ended->second, checks));
    } else if (met) {
      out.push_back(dead(host, rank, "it is gone, though the others have met it", checks));
    } else {
      out.push_back(missing(host, rank, roll, checks));
    }
  }
  return out;
}

}  // namespace plumbline
