#include "probes/rules/job_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"

namespace plumbline {
namespace {

constexpr double kAtWork = 0.2;  // of a core

bool stands_still(const std::string& state) { return state == "stopped" || state == "traced"; }

bool is_wildcard(const std::string& ip) { return ip == "0.0.0.0" || ip == "::"; }

bool is_established(const JobSocket& socket) { return socket.state == "ESTABLISHED"; }

// A connection to a member on another host, or to a process outside of the job there.
bool leads_to_other_host(const JobMember& member, const JobConnection& connection) {
  return connection.owner == &member && connection.peer_host != nullptr &&
         connection.peer_host != member.host;
}

// The rank at which all others meet, and the port there.
const JobMember* meeting_place(const JobFacts& facts, int& port) {
  for (const JobMember& member : facts.members) {
    if (!member.place || member.place->rank != 0) continue;
    port = master_port_of(member);
    return port > 0 && listener_on(*member.host, "", port) != nullptr ? &member : nullptr;
  }
  return nullptr;
}

void add_stuck(std::vector<StuckPair>& out, StuckPair pair) {
  const bool known = any_of(out, [&](const StuckPair& other) {
    return other.from == pair.from && other.to == pair.to && other.port == pair.port;
  });
  if (!known) out.push_back(std::move(pair));
}

// From the end that called, as far as it can be told.
StuckPair pair_of(const JobConnection& connection) {
  const JobSocket& socket = *connection.socket;
  StuckPair pair{connection.owner->host->host,
                 connection.peer_host->host,
                 socket.ip,
                 socket.peer_ip,
                 socket.peer_port,
                 &connection};
  if (listener_on(*connection.owner->host, socket.ip, socket.port) != nullptr) {
    std::swap(pair.from, pair.to);
    std::swap(pair.from_ip, pair.to_ip);
    pair.port = socket.port;
  }
  return pair;
}

}  // namespace

std::optional<JobFacts> job_facts(const EvidenceSet& evidence) {
  if (!evidence.job_seen) return std::nullopt;
  JobFacts facts;
  facts.job = &*evidence.job_seen;
  facts.members = members_of(*facts.job);
  facts.connections = connections_of(*facts.job, facts.members);
  return facts;
}

bool is_lone(const JobMember& member) { return member.process().why == "alone"; }

bool is_stopped(const JobMember& member) {
  return member.last != nullptr && stands_still(member.first->state) &&
         stands_still(member.last->state);
}

bool is_working(const JobMember& member) {
  if (member.last == nullptr || !member.host->second) return false;
  if (member.first->state == "disk" || member.last->state == "disk") return true;
  const auto time = static_cast<double>(member.host->second->at_ns - member.host->first.at_ns);
  const auto cpu = static_cast<double>(member.last->cpu_ns - member.first->cpu_ns);
  return time > 0 && cpu / time >= kAtWork;
}

std::string doing_of(const JobMember& member) {
  const JobProcess& process = member.process();
  if (process.state == "sleeping" && !process.system_call.empty()) {
    return "sleeps in " + process.system_call;
  }
  if (process.state == "sleeping" && !process.wait_channel.empty()) {
    return "waits in " + process.wait_channel;
  }
  if (process.state == "disk") return "waits for a disk";
  return "is " + (process.state.empty() ? std::string("there") : process.state);
}

bool is_held_back(const JobConnection& connection) {
  const JobSocket& socket = *connection.socket;
  const JobSocket* before = connection.before;
  if (!is_established(socket) || before == nullptr || !socket.tcp || !before->tcp) return false;
  const auto waits = [](const JobSocket& each) {
    return each.tcp->unacknowledged == 0 && each.tcp->not_sent > 0 &&
           each.tcp->send_window >= each.tcp->not_sent;
  };
  return socket.timer == "probe" && waits(socket) && waits(*before) &&
         socket.tcp->bytes_acked == before->tcp->bytes_acked;
}

bool loses_packets(const JobConnection& connection) {
  const JobSocket& socket = *connection.socket;
  if (is_held_back(connection)) return true;
  if (!is_established(socket) || !socket.tcp || socket.timer == "probe") return false;
  if (socket.tcp->unacknowledged == 0 || socket.tcp->retransmits == 0) return false;
  const JobSocket* before = connection.before;
  if (before == nullptr || !before->tcp) return false;
  // A reader whose buffer is full throws away what comes, too.
  JobConnection across;
  across.socket = connection.across;
  across.before = connection.across_before;
  if (across.socket != nullptr && unread(across) > 0) return false;
  return before->tcp->bytes_acked == socket.tcp->bytes_acked;
}

bool never_answered(const JobConnection& connection) {
  const JobSocket& socket = *connection.socket;
  if (socket.state != "SYN-SENT") return false;
  return connection.before != nullptr || (socket.tcp && socket.tcp->retransmits > 0);
}

int64_t waits_to_send(const JobConnection& connection) {
  const JobSocket& socket = *connection.socket;
  const JobSocket* before = connection.before;
  if (!is_established(socket) || before == nullptr || loses_packets(connection)) return 0;
  if (socket.send_queue == 0 || before->send_queue == 0) return 0;
  const bool confirmed = socket.tcp && before->tcp
                             ? socket.tcp->bytes_acked != before->tcp->bytes_acked
                             : socket.send_queue != before->send_queue;
  return confirmed ? 0 : socket.send_queue;
}

int64_t unread(const JobConnection& connection) {
  const JobSocket& socket = *connection.socket;
  const JobSocket* before = connection.before;
  if (before == nullptr || socket.receive_queue == 0 || before->receive_queue == 0) return 0;
  int64_t read = before->receive_queue - socket.receive_queue;
  if (socket.tcp && before->tcp) read += socket.tcp->bytes_received - before->tcp->bytes_received;
  return read > 0 ? 0 : socket.receive_queue;
}

const JobSocket* listener_on(const JobHostEvidence& host, const std::string& ip, int port) {
  for (const JobSocket& socket : last_look(host).sockets) {
    const bool here = ip.empty() || socket.ip == ip || is_wildcard(socket.ip);
    if (socket.state == "LISTEN" && socket.port == port && here) return &socket;
  }
  return nullptr;
}

bool is_full(const JobSocket& listener) {
  return listener.send_queue > 0 && listener.receive_queue > listener.send_queue;
}

int master_port_of(const JobMember& member) {
  const auto text = member.process().environment.find("MASTER_PORT");
  return text == member.process().environment.end() ? 0 : parse_port(text->second).value_or(0);
}

bool talks_to_others(const JobFacts& facts, const JobMember& member) {
  const int master = master_port_of(member);
  return any_of(facts.connections, [&](const JobConnection& connection) {
    const JobSocket& socket = *connection.socket;
    const bool own = connection.owner == &member && is_established(socket);
    const bool at_master = master != 0 && (socket.port == master || socket.peer_port == master);
    return own && !at_master && connection.peer_host != member.host;
  });
}

bool is_apart(const JobFacts& facts) {
  return hosts_with_members(facts.members).size() > 1 &&
         none_of(facts.members, [&](const JobMember& member) {
           return member.place && !member.outside && talks_to_others(facts, member);
         });
}

std::optional<std::pair<std::string, std::string>> way_between(const JobHostEvidence& from,
                                                               const JobHostEvidence& to,
                                                               const std::string& bound) {
  for (const JobAddress& there : to.addresses) {
    if (is_loopback_ip(there.ip) || (!is_wildcard(bound) && there.ip != bound)) continue;
    for (const JobAddress& here : from.addresses) {
      if (here.ip != there.ip && same_subnet(here.ip, there.ip, there.prefix)) {
        return std::pair{here.ip, there.ip};
      }
    }
  }
  return std::nullopt;
}

std::vector<StuckPair> pairs_in_use(const JobFacts& facts) {
  std::vector<StuckPair> out;
  for (const JobConnection& connection : facts.connections) {
    const std::string& state = connection.socket->state;
    const bool in_use = state == "ESTABLISHED" || state == "SYN-SENT";
    const bool elsewhere =
        connection.peer_host != nullptr && connection.peer_host != connection.owner->host;
    if (in_use && elsewhere) out.push_back(pair_of(connection));
  }
  return out;
}

std::vector<StuckPair> stuck_pairs(const JobFacts& facts) {
  std::vector<StuckPair> out;
  for (StuckPair& pair : pairs_in_use(facts)) {
    if (!loses_packets(*pair.connection) && !never_answered(*pair.connection)) continue;
    add_stuck(out, std::move(pair));
  }
  // Ranks without any connection: they may not have come so far, or tried and been refused.
  int port = 0;
  const JobMember* meeting = meeting_place(facts, port);
  for (const JobMember& member : facts.members) {
    if (meeting == nullptr || !member.place || member.host == meeting->host) continue;
    const bool joined = any_of(facts.connections, [&](const JobConnection& connection) {
      return leads_to_other_host(member, connection);
    });
    if (joined) continue;
    StuckPair pair = {member.host->host, meeting->host->host, "", "", port, nullptr};
    if (const auto way = way_between(*member.host, *meeting->host, "0.0.0.0")) {
      std::tie(pair.from_ip, pair.to_ip) = *way;
    }
    add_stuck(out, std::move(pair));
  }
  return out;
}

}  // namespace plumbline
