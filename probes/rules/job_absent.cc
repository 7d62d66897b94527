// Ranks that are not there, and hosts from which nobody has come to a listener of the job.
#include <map>
#include <set>
#include <tuple>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/rules/job_facts.h"

namespace plumbline {

bool saw_everything(const JobFacts& facts) {
  for (const JobHostEvidence& host : facts.job->hosts) {
    if (!host.error.empty() || last_look(host).partial) return false;
  }
  if (facts.job->alone) {
    // On this machine alone are those whose meeting place is loopback, or whose launcher says so.
    return all_of(facts.members, [&](const JobMember& member) {
      const auto& variables = member.process().environment;
      const auto master = variables.find("MASTER_ADDR");
      const bool here = master != variables.end() &&
                        (master->second == "localhost" || is_loopback_ip(master->second));
      const bool by_launcher = member.place && member.place->local_size &&
                               member.place->size == member.place->local_size;
      return member.outside || here || by_launcher;
    });
  }
  // Connections to machines that are none of these may lead to more ranks.
  return none_of(facts.connections, [](const JobConnection& connection) {
    const JobSocket& socket = *connection.socket;
    if (connection.peer_host != nullptr || socket.state != "ESTABLISHED") return false;
    const auto& variables = connection.owner->process().environment;
    const auto master = variables.find("MASTER_PORT");
    return listener_on(*connection.owner->host, socket.ip, socket.port) != nullptr ||
           (master != variables.end() && master->second == std::to_string(socket.peer_port));
  });
}

std::string host_of_absent(const JobFacts& facts, int rank) {
  std::map<std::string, int> counts;
  for (const JobHostEvidence& host : facts.job->hosts) counts.emplace(host.host, 0);
  for (const JobMember& member : facts.members) {
    if (member.outside || !member.place) continue;
    ++counts[member.host->host];
    const auto local = member.place->local_size;
    // Of one machine are ranks with numbers in a row.
    if (local && *local > 0 && member.place->rank / *local == rank / *local) {
      return member.host->host;
    }
  }
  const JobHostEvidence* fewest = nullptr;
  for (const JobHostEvidence& host : facts.job->hosts) {
    if (fewest == nullptr || counts[host.host] < counts[fewest->host]) fewest = &host;
  }
  return fewest == nullptr ? std::string() : fewest->host;
}

namespace {

// Who has come to whom: rank, host at the other end, and whether where all ranks meet first.
using Arrival = std::tuple<const JobMember*, const JobHostEvidence*, bool>;

int meeting_port(const JobMember& member) { return member.place ? master_port_of(member) : 0; }

std::set<Arrival> arrivals(const JobFacts& facts) {
  std::set<Arrival> out;
  for (const JobConnection& connection : facts.connections) {
    const JobSocket& socket = *connection.socket;
    const int master = meeting_port(*connection.owner);
    out.insert({connection.owner, connection.peer_host,
                socket.port == master || socket.peer_port == master});
  }
  return out;
}

// Hosts of which a rank is not there, or none talks to another host.
std::set<std::string> hosts_kept_away(const JobFacts& facts) {
  constexpr size_t kMostAbsent = 64;
  std::set<std::string> out;
  std::set<int> ranks;
  std::set<std::string> talking;
  for (const JobMember& member : facts.members) {
    if (!member.place || member.outside) continue;
    ranks.insert(member.place->rank);
    out.insert(member.host->host);
    if (talks_to_others(facts, member)) talking.insert(member.host->host);
  }
  for (const std::string& host : talking) out.erase(host);
  if (out.size() + talking.size() < 2) out.clear();  // all of it is on one host
  // Where not all places were looked at, they may be in one of the others.
  const int size = saw_everything(facts) ? world_size(facts.members).value_or(0) : 0;
  size_t absent = 0;
  for (int rank = 0; rank < size; ++rank) {
    if (ranks.count(rank) != 0) continue;
    out.insert(host_of_absent(facts, rank));
    if (++absent == kMostAbsent) break;
  }
  return out;
}

}  // namespace

std::vector<StuckPair> refused_pairs(const JobFacts& facts) {
  constexpr size_t kMostPairs = 256;
  std::vector<StuckPair> out;
  const std::set<std::string> away = hosts_kept_away(facts);
  const std::set<Arrival> arrived = arrivals(facts);
  for (const JobMember& member : facts.members) {
    if (member.outside) continue;
    for (const JobSocket* socket : member.sockets) {
      if (socket->state != "LISTEN" || is_loopback_ip(socket->ip)) continue;
      for (const JobHostEvidence& from : facts.job->hosts) {
        if (&from == member.host || away.count(from.host) == 0) continue;
        if (out.size() >= kMostPairs) return out;
        // To this listener, or to another one of the same kind.
        const bool meeting = socket->port == meeting_port(member);
        if (arrived.count({&member, &from, meeting}) != 0) continue;
        const auto way = way_between(from, *member.host, socket->ip);
        if (!way) continue;
        out.push_back(
            {from.host, member.host->host, way->first, way->second, socket->port, nullptr});
      }
    }
  }
  return out;
}

}  // namespace plumbline
