// Evidence of a job as tests need it: three hosts with a rank each, all connected, healthy and
// idle, which a test then spoils in one place.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "probes/evidence.h"
#include "probes/rules/rules.h"

namespace plumbline::test {

inline const std::vector<std::string> kJobHosts = {"a", "b", "c"};
inline std::string job_ip(int host) { return "10.0.0." + std::to_string(host + 1); }

inline JobProcess job_rank(int rank, int size) {
  JobProcess process;
  process.pid = 100 + rank;
  process.parent = 1;
  process.started = 5000 + rank;
  process.age_s = 60;
  process.name = process.program = "python3";
  process.uid = 1000;
  process.state = "sleeping";
  process.system_call = "epoll_wait";
  process.environment = {{"RANK", std::to_string(rank)},
                         {"WORLD_SIZE", std::to_string(size)},
                         {"MASTER_ADDR", job_ip(0)},
                         {"MASTER_PORT", "29500"}};
  process.environment_seen = process.sockets_seen = true;
  process.why = rank == 0 ? "asked" : "same job";
  return process;
}

inline JobSocket job_socket(int64_t pid, const std::string& ip, int port,
                            const std::string& peer_ip = "", int peer_port = 0) {
  JobSocket socket;
  socket.pid = pid;
  socket.ip = ip;
  socket.port = port;
  socket.peer_ip = peer_ip;
  socket.peer_port = peer_port;
  socket.state = peer_ip.empty() ? "LISTEN" : "ESTABLISHED";
  if (peer_ip.empty()) {
    socket.send_queue = 128;
  } else {
    socket.tcp = JobTcp{};
    socket.tcp->bytes_acked = socket.tcp->bytes_received = 1000;
    socket.tcp->send_window = 65536;
  }
  return socket;
}

// Rank 0 on a listens on 29500; each rank has a listener on 40000 + rank; ranks i < k are connected
// from 50000 + 10 i + k to 40000 + k.
inline EvidenceSet healthy_job(int ranks = 3) {
  EvidenceSet set;
  JobEvidence job;
  job.asked = "100@a";
  for (int i = 0; i < ranks; ++i) {
    JobHost host;
    host.name = kJobHosts.at(static_cast<size_t>(i));
    host.data = {job_ip(i) + "/24"};
    set.job.hosts.push_back(host);
    HostEvidence facts;
    facts.name = host.name;
    facts.source = "agent";
    facts.system = "linux";
    set.hosts.push_back(facts);
    JobHostEvidence seen;
    seen.host = host.name;
    seen.addresses = {{"127.0.0.1", "lo", "loopback", 8}, {job_ip(i), "eth1", "ethernet", 24}};
    JobLook& look = seen.first;
    look.at_ns = 1'000'000'000;
    look.processes = {job_rank(i, ranks)};
    const int64_t pid = 100 + i;
    if (i == 0) look.sockets.push_back(job_socket(pid, "0.0.0.0", 29500));
    look.sockets.push_back(job_socket(pid, job_ip(i), 40000 + i));
    for (int k = 0; k < ranks; ++k) {
      if (k == i) continue;
      const int low = std::min(i, k), high = std::max(i, k);
      const int caller = 50000 + 10 * low + high, called = 40000 + high;
      look.sockets.push_back(job_socket(pid, job_ip(i), i == low ? caller : called, job_ip(k),
                                        i == low ? called : caller));
    }
    seen.second = look;
    seen.second->at_ns = 3'000'000'000;
    job.hosts.push_back(seen);
  }
  set.job_seen = job;
  return set;
}

inline JobHostEvidence& job_host_seen(EvidenceSet& set, const std::string& name) {
  for (JobHostEvidence& host : set.job_seen->hosts) {
    if (host.host == name) return host;
  }
  ADD_FAILURE() << "no host " << name;
  return set.job_seen->hosts.at(0);
}

// In both looks.
template <typename Change>
void change_rank(EvidenceSet& set, const std::string& host, Change&& change) {
  change(job_host_seen(set, host).first.processes.at(0));
  change(job_host_seen(set, host).second->processes.at(0));
}
template <typename Change>
void change_sockets(EvidenceSet& set, const std::string& host, const std::string& peer_ip,
                    Change&& change) {
  JobHostEvidence& seen = job_host_seen(set, host);
  for (JobLook* look : {&seen.first, &*seen.second}) {
    for (JobSocket& socket : look->sockets) {
      if (socket.peer_ip == peer_ip) change(socket);
    }
  }
}

// `from` has more for `to`, which reads nothing.
inline void block_reader(EvidenceSet& set, const std::string& from, const std::string& to,
                         int64_t unread = 4321) {
  const std::string from_ip = job_host_seen(set, from).addresses.at(1).ip;
  const std::string to_ip = job_host_seen(set, to).addresses.at(1).ip;
  change_sockets(set, to, from_ip, [&](JobSocket& socket) { socket.receive_queue = unread; });
  change_sockets(set, from, to_ip, [](JobSocket& socket) {
    socket.send_queue = 99999;
    socket.timer = "probe";
    socket.tcp->send_window = 0;
    socket.tcp->not_sent = 99999;
  });
}

// Packets of the connection get lost on the way from `from` to `to`, of which the former has sent
// some.
inline void lose_packets(EvidenceSet& set, const std::string& from, const std::string& to) {
  const std::string to_ip = job_host_seen(set, to).addresses.at(1).ip;
  change_sockets(set, from, to_ip, [](JobSocket& socket) {
    socket.send_queue = 5000;
    socket.timer = "retransmit";
    socket.tcp->unacknowledged = 4;
    socket.tcp->retransmits = 3;
    socket.tcp->backoff = 3;
  });
}

// Captured on both hosts of the connection between them: packets that left `from` and came to `to`,
// and of the way back.
inline void capture(EvidenceSet& set, const std::string& from, const std::string& to, int64_t left,
                    int64_t came, int64_t back_left, int64_t back_came) {
  const std::string to_ip = job_host_seen(set, to).addresses.at(1).ip;
  for (const JobSocket& socket : job_host_seen(set, from).second->sockets) {
    if (socket.peer_ip != to_ip) continue;
    job_host_seen(set, from).captured = {{socket.ip, socket.peer_ip, socket.port, socket.peer_port,
                                          left, back_came, left, back_came}};
    job_host_seen(set, to).captured = {{socket.peer_ip, socket.ip, socket.peer_port, socket.port,
                                        back_left, came, back_left, came}};
  }
}

// "job.stopped a", "firewall.drop_path a>b".
inline std::vector<std::string> job_causes(const EvidenceSet& set) {
  std::vector<std::string> out;
  for (const Finding& finding : find_causes(set, {})) {
    out.push_back(finding.cause + " " + finding.host +
                  (finding.peer.empty() ? "" : ">" + finding.peer));
  }
  return out;
}

inline std::string seen_in(const EvidenceSet& set) {
  std::string out;
  for (const Finding& finding : find_causes(set, {})) {
    for (const Evidence& evidence : finding.evidence) out += evidence.text + "\n";
  }
  return out;
}

inline std::string remedy_in(const EvidenceSet& set) {
  std::string out;
  for (const Finding& finding : find_causes(set, {})) out += finding.remedy.text();
  return out;
}

inline FilterRule nft_rule(const std::string& hook, const std::string& action,
                           const std::string& text, std::vector<FilterMatch> matches) {
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "inet";
  rule.table = "filter";
  rule.chain = rule.hook = hook;
  rule.action = action;
  rule.text = text;
  rule.matches = std::move(matches);
  return rule;
}

inline void remove_host(EvidenceSet& set, const std::string& name) {
  JobHostEvidence& host = job_host_seen(set, name);
  host.first.processes.clear();
  host.first.sockets.clear();
  host.second.reset();
}

// Two ranks that have not met, as MPI's launchers number them.
inline EvidenceSet two_of_mpi(const std::string& mpi, const std::string& rank,
                              const std::string& size) {
  EvidenceSet set = healthy_job(2);
  for (JobHostEvidence& host : set.job_seen->hosts) {
    for (JobLook* look : {&host.first, &*host.second}) {
      look->sockets.clear();
      JobProcess& process = look->processes.at(0);
      process.mpi = mpi;
      process.environment = {{rank, host.host == "a" ? "0" : "1"}, {size, "2"}};
    }
  }
  return set;
}

}  // namespace plumbline::test
