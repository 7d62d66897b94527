// What is seen of somebody's own job while it runs or hangs: on each host its processes, those
// variables of their environment that tell how their stack was set up (job/job_variables.h), and
// their TCP sockets, looked at twice, two seconds apart, so that what moves can be told from what
// stands still. Nothing of the job is touched for it. A process is named by its number and the time
// at which it started: a number that another one got meanwhile is not taken for it. What could not
// be seen is absent, or a line in `unseen`. Plain values; names and addresses come from other
// hosts and are made fit to be shown with all evidence (shown_evidence).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

// The kernel's account of one TCP connection; macOS does not tell.
struct JobTcp {
  int64_t unacknowledged = 0;                   // segments that were sent and not confirmed
  int64_t not_sent = 0;                         // bytes that wait for their first sending
  int64_t send_window = 0;                      // bytes that the other end would take; 0 also when
                                                // this kernel does not tell
  int64_t retransmits = 0, retransmitted = 0;   // of what waits now; segments since the beginning
  int64_t backoff = 0;                          // doublings of the timer
  int64_t sent_ms = 0, received_ms = 0;         // since data were last sent, received
  int64_t bytes_acked = 0, bytes_received = 0;  // of the stream
  int64_t segment_bytes = 0;                    // largest segment that it sends
};

struct JobSocket {
  std::string ip, peer_ip;  // IPv4 within IPv6 as IPv4; peer_ip empty for a listener
  int port = 0, peer_port = 0;
  std::string state;  // "LISTEN", "ESTABLISHED", "SYN-SENT", "SYN-RECV", "CLOSE-WAIT" ...
  int64_t pid = 0;    // who has it; 0 = cannot be seen, or nobody does (yet)
  int64_t uid = -1;
  // Bytes that were received and not read; not confirmed or not sent. Of a listener: connections
  // that wait to be accepted, and how many may.
  int64_t receive_queue = 0, send_queue = 0;
  std::string timer;  // "retransmit", "keepalive", "probe" (of a window that is closed) or empty
  std::optional<JobTcp> tcp;
};

struct JobProcess {
  int64_t pid = 0, parent = 0;
  int64_t started = 0;           // since the system's start, in its ticks: one of a kind with pid
  std::optional<int64_t> age_s;  // so long ago
  std::string name, program;     // as it calls itself; the last part of its program's path
  int64_t uid = -1;
  std::string state;         // "running", "sleeping", "stopped", "traced", "zombie", "disk", "idle"
  std::string wait_channel;  // where in the kernel its first thread sleeps; empty = not told
  std::string system_call;   // in which call, "recvfrom"; empty = none, or not told
  int64_t cpu_ns = 0;        // of all its threads
  std::map<std::string, std::string> environment;  // allow-listed names only
  bool environment_seen = false, sockets_seen = false;
  std::string mpi;  // whose MPI it has loaded: "openmpi", "mpich", "mpich ABI" (of that binary
                    // form, but somebody else's); empty = none, or not told
  // Why it belongs here: "asked", "same job" (by its variables), "below" (started by one that
  // does), "launcher" (has started one that does), "alone" (a world of one, as the one that was
  // asked for), "same program" or "peer" (at the other end of a connection), "other job" (the same,
  // and its launcher calls it otherwise).
  std::string why;
};

struct JobLook {
  int64_t at_ns = 0;  // monotonic, of that host
  std::vector<JobProcess> processes;
  std::vector<JobSocket> sockets;
  std::vector<std::string> unseen;  // "PID 7 is in another network namespace", one line each
  bool partial = false;             // processes of the job may be among what was not seen
};

struct JobAddress {
  std::string ip, interface, kind;  // kind as InterfaceEvidence has it
  int prefix = 0;
};

// Packets of one connection that two captures on a host saw; `ip` and `port` are its own end. On
// all hosts the wide one began before any narrow one, and ended after all of them: what left a host
// during the narrow one, and came to another, is in the wide one there.
struct JobPackets {
  std::string ip, peer_ip;
  int port = 0, peer_port = 0;
  int64_t left = 0, came = 0;            // in the narrow one
  int64_t left_wide = 0, came_wide = 0;  // in the wide one
};

struct JobHostEvidence {
  std::string host;
  std::string error;  // why it could not be asked
  // Where nothing of the job is: what else could have been meant, "PID 7 (python3), rank 0, port
  // 29500", a line each.
  std::vector<std::string> there;
  std::vector<JobAddress> addresses;
  JobLook first;
  std::optional<JobLook> second;
  // Of connections that stand still: those of which whole captures were made here.
  std::vector<JobPackets> captured;
};

// What is looked for on a host. Several may be given: whatever one of them finds belongs to it.
struct JobSelection {
  int64_t pid = 0;
  int port = 0;      // a listener on it, or else whoever has a connection with it
  std::string name;  // of a process, or of its program
  std::string run;   // the id of a run: PLUMBLINE_RUN_ID, TORCHELASTIC_RUN_ID, SLURM_JOB_ID ...
  // What tells the job from others (identities_of() in job/job_variables.h): of its processes on
  // another host.
  std::vector<std::string> identities;
  // A program of which also those processes belong to it that were told to be a world of one rank.
  std::string lone_program;
  // Sockets elsewhere of which this host may have the other end: `ip` and `port` are theirs. Of a
  // listener (no peer) whoever calls there is meant.
  struct End {
    std::string ip, peer_ip;
    int port = 0, peer_port = 0;
    bool operator==(const End&) const = default;
  };
  std::vector<End> ends;
};

struct JobEvidence {
  std::string asked;   // in the user's words: "4711", ":29500", "python3@mini1"
  bool alone = false;  // this machine alone was asked: others may have more of the job
  std::vector<JobHostEvidence> hosts;
};

void to_json(nlohmann::json& json, const JobSelection::End& end);
void from_json(const nlohmann::json& json, JobSelection::End& end);
void to_json(nlohmann::json& json, const JobHostEvidence& host);
void from_json(const nlohmann::json& json, JobHostEvidence& host);
void to_json(nlohmann::json& json, const JobEvidence& job);
void from_json(const nlohmann::json& json, JobEvidence& job);

}  // namespace plumbline
