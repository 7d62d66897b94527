// The asking end of an agent: a HostAgent over the standard input and output of a process that runs
// on the host (or over a socket, for agents that dialled in), in JSON lines as
// docs/agent_protocol.md says. A thread reads answers; whatever the other end sends (nothing,
// nonsense, gigabytes without a newline, answers nobody asked for) becomes an Error of the requests
// that wait, and of all later ones when it is fatal.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "core/fd.h"
#include "launch/agent_lines.h"
#include "launch/process.h"

namespace plumbline {

// Names a file with the token that both ends of a meeting know (mode 600).
inline constexpr const char* kTokenVariable = "PLUMBLINE_TOKEN_FILE";

// What an agent said about itself when it was greeted, and how its clock goes.
struct AgentHello : HelloReply {
  int64_t clock_offset_ns = 0, clock_uncertainty_ns = 0;  // its wall clock minus ours
};

struct AgentStart {
  std::unique_ptr<HostAgent> agent;  // null when it could not be started or greeted
  AgentHello hello;
  // When null: the cause id and what happened, with the exit status and the last lines of the
  // process's standard error. ssh.no_binary: the program does not exist or may not be executed;
  // ssh.wrong_binary: it is for another kind of machine; ssh.unreachable: the network namespace
  // does not exist or may not be entered; config.version_mismatch; rank.agent_lost: all else (it
  // ended, said nothing in time, or something that no agent says).
  std::string cause;
  Error error;
};

// Starts all of them side by side and greets each (`hello`, then a few `time` for the clock); in
// the order of `places`, at the latest a second after the deadline. An agent of another version is
// kept out. Errors of requests: kPeerLost (it died), kProtocol (it talked nonsense) and kTimeout
// (it hangs) with cause rank.agent_lost, after which all requests fail at once with the same;
// kTimeout without a cause when only this request was not answered in time. Destroying an agent
// ends its process within a second (end of input, SIGTERM, SIGKILL). On Linux agents die with the
// *thread* that called this: it must outlive them.
std::vector<AgentStart> start_agents(const std::vector<ServingCommand>& places,
                                     const std::map<std::string, std::string>& config,
                                     Deadline deadline);

// Ends them all side by side, within a second altogether.
void end_agents(std::vector<AgentStart>& starts);

// The same for an agent that listens (`plumbline agent --listen`): connects, proves to each other
// that both know the token (HMAC-SHA256 over both nonces), then speaks the same lines. Causes:
// ssh.unreachable, ssh.refused (nobody listens there), ssh.wrong_binary (somebody else does),
// ssh.auth (another token), and those of start_agents. Destroying the agent closes the connection.
AgentStart attach_agent(const std::string& host, const std::string& address, int port,
                        const std::string& token, Deadline deadline,
                        const std::map<std::string, std::string>& config = {});

// The same over a connection that stands already, whose other end has proved itself.
AgentStart attach_agent(const std::string& host, Fd connection, Deadline deadline,
                        const std::map<std::string, std::string>& config = {});

// The token in a file ("-" = standard input): one line of at least 16 characters. Tokens never
// travel in a command line, where every user of the machine can read them.
Expected<std::string> read_token(const std::string& path);

}  // namespace plumbline
