// What the rules about somebody's own job share: its ranks and connections, which of them stand
// still, and between which hosts the network itself has to be looked at. Pure functions,
// thread-safe; pointers lead into the evidence that was handed in.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/evidence.h"
#include "probes/job/job_ranks.h"

namespace plumbline {

struct JobFacts {
  const JobEvidence* job = nullptr;
  std::vector<JobMember> members;
  std::vector<JobConnection> connections;
};
// Without value where no job was looked at.
std::optional<JobFacts> job_facts(const EvidenceSet& evidence);

// Taken in for the sake of its likes alone (JobSelection::lone_program): it may be another job.
bool is_lone(const JobMember& member);
// Stopped, or held by a debugger, in both looks.
bool is_stopped(const JobMember& member);
// It used a good part of a core between the looks, or waits for a disk: it is at work, and reads
// later.
bool is_working(const JobMember& member);
// Where ranks of torch's kind meet; 0 = they do not.
int master_port_of(const JobMember& member);
// Data between ranks of several hosts do not go over the port where they met.
bool talks_to_others(const JobFacts& facts, const JobMember& member);
// Ranks are on several hosts, and none of them talks to another host.
bool is_apart(const JobFacts& facts);
// "sleeps in recvfrom", "waits in sock_alloc_send", "is running".
std::string doing_of(const JobMember& member);

// Data that were sent and are not confirmed, sent again in vain: packets get lost, one way or the
// other. A closed window is none.
bool loses_packets(const JobConnection& connection);
// Of these, what its own system refuses to send: the window is open, and nothing is under way.
// Linux then goes on as with a closed window (tcp_check_probe_timer() behind a failed
// transmission).
bool is_held_back(const JobConnection& connection);
// It was tried all the time between the looks, or repeatedly, and nobody answered.
bool never_answered(const JobConnection& connection);
// The sender has more to send and the other end takes nothing: bytes that wait; 0 = it does not
// wait.
int64_t waits_to_send(const JobConnection& connection);
// Unread bytes of which none was read between the looks; 0 = something was, or nothing is there.
int64_t unread(const JobConnection& connection);

// The listener of a host to which a connection with this address and port would come; nullptr:
// nobody of the job listens there.
const JobSocket* listener_on(const JobHostEvidence& host, const std::string& ip, int port);
// Connections of others wait until this one accepts, and no more of them fit.
bool is_full(const JobSocket& listener);

// Two hosts between which a connection of the job does not get on, seen from the end that called.
struct StuckPair {
  std::string from, to;        // hosts, never the same
  std::string from_ip, to_ip;  // may be empty: not known
  int port = 0;                // on which `to` listens; 0: not known
  // The connection that shows it; null: there is none, though rank 0 waits for it.
  const JobConnection* connection = nullptr;
};
std::vector<StuckPair> stuck_pairs(const JobFacts& facts);
// The same of every connection to another host, whether it gets on or not; a pair of hosts and a
// port may come several times.
std::vector<StuckPair> pairs_in_use(const JobFacts& facts);
// Were all places looked at where a rank could be?
bool saw_everything(const JobFacts& facts);
// Addresses of these two hosts in one network, the second of them `bound` unless that is any.
std::optional<std::pair<std::string, std::string>> way_between(const JobHostEvidence& from,
                                                               const JobHostEvidence& to,
                                                               const std::string& bound);
// Where the job listens, each with a host from which nobody has come there, and of which a rank is
// not there or none talks to another host: one that was refused
// leaves no trace, has given up, or tries again later. Without connections.
std::vector<StuckPair> refused_pairs(const JobFacts& facts);
// Where a rank that is not there should be: the host that has none, or fewer than others; empty =
// there are no hosts.
std::string host_of_absent(const JobFacts& facts, int rank);

}  // namespace plumbline
