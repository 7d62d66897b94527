#include "probes/job/job_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "core/text.h"

namespace plumbline {
namespace {

const JobProcess* process_in(const JobLook& look, int64_t pid) {
  for (const JobProcess& process : look.processes) {
    if (process.pid == pid) return &process;
  }
  return nullptr;
}

// The same process, not one that got its number.
const JobProcess* same_in(const JobLook& look, const JobProcess& process) {
  const JobProcess* found = process_in(look, process.pid);
  return found != nullptr && found->started == process.started ? found : nullptr;
}

bool is_peer_only(const JobProcess& process) {
  return process.why == "other job" || (process.why == "peer" && !place_of(process.environment));
}

bool is_own_socket(const JobSocket& socket, const std::set<int64_t>& pids) {
  return pids.count(socket.pid) != 0;
}

// The process to which a rank's number was given first: what it starts inherits the number.
int64_t top_of(const JobLook& look, const JobProcess& process, int rank) {
  const JobProcess* at = &process;
  for (size_t steps = 0; steps < look.processes.size(); ++steps) {
    const JobProcess* above = process_in(look, at->parent);
    if (above == nullptr || above == at) break;
    const auto place = place_of(above->environment);
    if (!place || place->rank != rank) break;
    at = above;
  }
  return at->pid;
}

void take_sockets(JobMember& member, const JobLook& look, const std::set<int64_t>& pids) {
  std::set<int> listening;  // ports
  for (const JobSocket& socket : look.sockets) {
    if (!is_own_socket(socket, pids)) continue;
    member.sockets.push_back(&socket);
    if (socket.state == "LISTEN") listening.insert(socket.port);
  }
  for (const JobSocket& socket : look.sockets) {
    if (socket.pid == 0 && listening.count(socket.port) != 0) member.sockets.push_back(&socket);
  }
}

// Which of a rank's processes stands for it.
const JobProcess* spokesman(const std::vector<const JobProcess*>& group, const JobLook& look) {
  const auto sockets = [&](const JobProcess* process) {
    return std::count_if(look.sockets.begin(), look.sockets.end(),
                         [&](const JobSocket& socket) { return socket.pid == process->pid; });
  };
  return *std::max_element(group.begin(), group.end(), [&](const auto* a, const auto* b) {
    return std::tuple(sockets(a), a->cpu_ns, -a->pid) < std::tuple(sockets(b), b->cpu_ns, -b->pid);
  });
}

void take_members(const JobHostEvidence& host, std::vector<JobMember>& out) {
  const JobLook& first = host.first.processes.empty() ? last_look(host) : host.first;
  const JobLook& last = last_look(host);
  std::map<int64_t, std::vector<const JobProcess*>> groups;  // by the topmost process
  for (const JobProcess& process : first.processes) {
    const auto place = place_of(process.environment);
    groups[place ? top_of(first, process, place->rank) : process.pid].push_back(&process);
  }
  for (const auto& [top, group] : groups) {
    JobMember member;
    member.host = &host;
    member.first = spokesman(group, first);
    member.last = same_in(last, *member.first);
    member.outside = is_peer_only(*member.first);
    // That of another job is none of this one.
    if (member.first->why != "other job") member.place = place_of(member.first->environment);
    std::set<int64_t> pids;
    for (const JobProcess* process : group) {
      if (same_in(last, *process) != nullptr) pids.insert(process->pid);
    }
    take_sockets(member, last, pids);
    // A launcher or a shell that has nothing to do with the network.
    const bool silent = !member.place && member.sockets.empty() && member.first->why != "asked";
    if (!silent) out.push_back(std::move(member));
  }
}

// A connection as both of its ends would name it. What goes over loopback, or from an address to
// itself, stays on its host, whose address others may have as well.
using ConnectionKey = std::tuple<std::string, std::string, int, std::string, int>;

ConnectionKey key_of_end(const JobHostEvidence& host, const std::string& ip, int port,
                         const std::string& peer_ip, int peer_port) {
  const bool local = is_loopback_ip(ip) || is_loopback_ip(peer_ip) || ip == peer_ip;
  return {local ? host.host : std::string(), ip, port, peer_ip, peer_port};
}

struct EndSeen {
  const JobMember* member = nullptr;
  const JobSocket* socket = nullptr;
};

const JobSocket* socket_before(const JobHostEvidence& host, const JobSocket& socket) {
  if (!host.second) return nullptr;
  for (const JobSocket& before : host.first.sockets) {
    const bool same = before.port == socket.port && before.peer_port == socket.peer_port &&
                      before.ip == socket.ip && before.peer_ip == socket.peer_ip &&
                      (before.pid == socket.pid || before.pid == 0);
    if (same) return &before;
  }
  return nullptr;
}

}  // namespace

const JobLook& last_look(const JobHostEvidence& host) {
  return host.second ? *host.second : host.first;
}

const JobHostEvidence* find_job_host_seen(const JobEvidence& job, const std::string& host) {
  for (const JobHostEvidence& each : job.hosts) {
    if (each.host == host) return &each;
  }
  return nullptr;
}

std::vector<JobMember> members_of(const JobEvidence& job) {
  std::vector<JobMember> out;
  for (const JobHostEvidence& host : job.hosts) take_members(host, out);
  std::stable_sort(out.begin(), out.end(), [](const JobMember& a, const JobMember& b) {
    const auto number = [](const JobMember& member) {
      return member.place ? member.place->rank : INT32_MAX;
    };
    return std::tuple(a.outside, number(a)) < std::tuple(b.outside, number(b));
  });
  return out;
}

std::string describe(const JobMember& member) {
  const JobProcess& process = member.process();
  const std::string program =
      escaped_short(process.program.empty() ? process.name : process.program);
  if (!member.place) return fmt::format("PID {} ({})", process.pid, program);
  return fmt::format("rank {} (PID {}, {})", member.place->rank, process.pid, program);
}

std::vector<JobConnection> connections_of(const JobEvidence& job,
                                          const std::vector<JobMember>& members) {
  std::map<ConnectionKey, EndSeen> ends;
  for (const JobMember& member : members) {
    for (const JobSocket* socket : member.sockets) {
      if (socket->state == "LISTEN") continue;
      ends[key_of_end(*member.host, socket->ip, socket->port, socket->peer_ip, socket->peer_port)] =
          {&member, socket};
    }
  }
  std::vector<JobConnection> out;
  for (const auto& [key, end] : ends) {
    JobConnection connection;
    connection.owner = end.member;
    connection.socket = end.socket;
    connection.before = socket_before(*end.member->host, *end.socket);
    connection.peer_host = owner_of_address(job, *end.member->host, end.socket->peer_ip);
    const auto other =
        ends.find(key_of_end(*end.member->host, end.socket->peer_ip, end.socket->peer_port,
                             end.socket->ip, end.socket->port));
    if (other != ends.end()) {
      connection.peer = other->second.member;
      connection.across = other->second.socket;
      connection.across_before = socket_before(*connection.peer->host, *connection.across);
      connection.peer_host = connection.peer->host;
    }
    out.push_back(connection);
  }
  return out;
}

const JobHostEvidence* owner_of_address(const JobEvidence& job, const JobHostEvidence& asking,
                                        const std::string& ip) {
  if (is_loopback_ip(ip)) return &asking;
  const JobHostEvidence* owner = nullptr;
  for (const JobHostEvidence& host : job.hosts) {
    const bool has = any_of(host.addresses, [&](const JobAddress& each) { return each.ip == ip; });
    if (!has) continue;
    if (owner != nullptr) return nullptr;
    owner = &host;
  }
  return owner;
}

std::optional<int> world_size(const std::vector<JobMember>& members) {
  std::map<int, int> votes;
  for (const JobMember& member : members) {
    if (member.place && member.place->size) ++votes[*member.place->size];
  }
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == votes.end() ? std::nullopt : std::optional<int>(most->first);
}

std::vector<std::string> hosts_with_members(const std::vector<JobMember>& members) {
  std::vector<std::string> out;
  for (const JobMember& member : members) {
    if (!member.outside && !is_in(out, member.host->host)) out.push_back(member.host->host);
  }
  return out;
}

}  // namespace plumbline
