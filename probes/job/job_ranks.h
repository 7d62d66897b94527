// What a job's processes and sockets amount to: its ranks, and which connections join them, put
// together from all hosts. Pure functions, thread-safe; pointers lead into the evidence that was
// handed in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/job/job_variables.h"
#include "probes/job_evidence.h"

namespace plumbline {

// The later look where there is one.
const JobLook& last_look(const JobHostEvidence& host);
const JobHostEvidence* find_job_host_seen(const JobEvidence& job, const std::string& host);

// One rank, with what it started itself; or, of a job that gives no numbers, one process that has
// sockets of the job.
struct JobMember {
  const JobHostEvidence* host = nullptr;
  const JobProcess* first = nullptr;  // the one that has the sockets, or else works most
  const JobProcess* last = nullptr;   // the same in the second look; null: it ended meanwhile
  std::optional<JobPlace> place;      // its number
  // Of another program, at the other end of a connection of the job: it counts as no rank.
  bool outside = false;
  std::vector<const JobSocket*> sockets;  // of the last look, its processes' and those that wait
                                          // to be accepted by it
  const JobProcess& process() const { return last != nullptr ? *last : *first; }
};
// Ranks first, by number; then the others, by host and PID, those outside too.
std::vector<JobMember> members_of(const JobEvidence& job);
// "rank 1 (PID 4711, python3)", "PID 4711 (python3)".
std::string describe(const JobMember& member);

// A connection of a member, and what the other end is as far as it can be seen.
struct JobConnection {
  const JobMember* owner = nullptr;
  const JobSocket* socket = nullptr;
  const JobSocket* before = nullptr;  // the same in the first look; null: it is new
  const JobMember* peer = nullptr;    // who has the other end; null: nobody that is seen
  const JobSocket* across = nullptr;  // the socket there
  const JobSocket* across_before = nullptr;
  const JobHostEvidence* peer_host = nullptr;  // whose address it leads to; null: none of these
};
std::vector<JobConnection> connections_of(const JobEvidence& job,
                                          const std::vector<JobMember>& members);

// The host that has this address, where exactly one of these has it; loopback is the asking host's.
const JobHostEvidence* owner_of_address(const JobEvidence& job, const JobHostEvidence& asking,
                                        const std::string& ip);

// How many ranks there should be: what most of them say; absent where none does.
std::optional<int> world_size(const std::vector<JobMember>& members);

// Hosts on which members are, those outside not counted.
std::vector<std::string> hosts_with_members(const std::vector<JobMember>& members);

}  // namespace plumbline
