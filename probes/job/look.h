// Looks at somebody's job on this host, touching nothing of it: no signal, no ptrace, no connection
// to it. The system's list of processes and of TCP sockets is read (look_linux.cc: /proc and
// sock_diag(7); look_macos.cc: libproc), only of the own network namespace and only as far as this
// user may, and what belongs to the job is chosen from it by a pure function. Takes some
// milliseconds for each thousand processes. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "probes/job_evidence.h"

namespace plumbline {

// What of a host's processes a look is allowed to see.
enum class Sight {
  kSeen,       // with environment and sockets
  kOtherUser,  // there, but only its name and state may be read
  kElsewhere,  // it lives in another network namespace: its sockets are not this host's
};

struct SeenProcess {
  JobProcess process;
  Sight sight = Sight::kSeen;
  bool ours = false;  // of this very diagnosis, which may have inherited a rank's variables
};

// Everything that the system shows at one moment.
struct SystemLook {
  int64_t at_ns = 0;
  std::vector<SeenProcess> processes;
  std::vector<JobSocket> sockets;
  std::vector<std::string> cut;  // what was left out because there is too much of it, or no time
};

// Platform code. An Error: not even a list of processes.
Expected<SystemLook> look_at_system(const AgentCall& call);
// Fills in what costs a question for each process: wait channel, system call. Platform code.
void look_closer(JobProcess& process);

// What of it belongs to the job: `first` are the processes that an earlier look found, which belong
// to it as long as they are there. At most kMostJobProcesses and kMostJobSockets; what is cut is
// said.
inline constexpr size_t kMostJobProcesses = 512, kMostJobSockets = 8192;
JobLook choose_job(const SystemLook& system, const JobSelection& selection,
                   const std::vector<JobProcess>& first = {});

// What there is that could be a job: ranks, and what listens or is connected, as lines for people.
std::vector<std::string> possible_jobs(const SystemLook& system);

// One look, or two with `apart_ms` between them.
Expected<JobHostEvidence> look_at_job(const JobSelection& selection, int64_t apart_ms,
                                      const AgentCall& call);

}  // namespace plumbline
