// Agents that listen instead of being started: both ends prove that they know the token before a
// line is exchanged (launch/proof.h): the coordinator dials, the agent listens.

#include <fmt/format.h>
#include <poll.h>

#include <iostream>
#include <sstream>
#include <utility>

#include "core/encode.h"
#include "core/file.h"
#include "launch/agent_connection.h"
#include "launch/agent_link.h"
#include "launch/agent_loop.h"
#include "launch/proof.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr int kAgentTimeoutMs = 20'000;  // unacknowledged bytes: the other machine has gone
constexpr int kSocketSleepMs = 250;

Digest secret_of(const std::string& token) { return sha256("plumbline agent token " + token); }

Error attach_error(const std::string& where, Error error) {
  struct Row {
    ErrorCode code;
    const char *cause, *hint;
  };
  static constexpr Row kRows[] = {
      {ErrorCode::kRefused, "ssh.refused", "start `plumbline agent --listen` there"},
      {ErrorCode::kAuth, "ssh.auth", "use the token of the line that the agent printed"},
      {ErrorCode::kProtocol, "ssh.wrong_binary", "another program uses this port"},
      {ErrorCode::kPeerLost, "ssh.wrong_binary",
       "another program uses this port, or the agent is just serving another coordinator"},
      {ErrorCode::kMismatch, "config.version_mismatch", "install the same version on every host"},
  };
  const bool silent = error.cause == "tcp.wrong_service";  // it accepts and says nothing of ours
  error.cause = silent ? "ssh.wrong_binary" : "ssh.unreachable";
  for (const Row& row : kRows) {
    if (row.code != error.code) continue;
    error.cause = row.cause;
    error.hint = row.hint;
  }
  if (error.code == ErrorCode::kAuth) error.what = "the agent at " + where + " has another token";
  return error;
}

Expected<Fd> dial(const std::string& address, int port, const std::string& token,
                  Deadline deadline) {
  if (port < 1 || port > 65535) return fail(ErrorCode::kUsage, fmt::format("no port {}", port));
  const Expected<SocketAddress> remote = make_socket_address(address, static_cast<uint16_t>(port));
  if (!remote) return fail(remote.error());
  const HandshakeIdentity self = dialling_end("agent", secret_of(token));
  // An agent that many strangers visit may have to drop us before we have proved anything.
  constexpr int kTries = 5, kPauseMs = 50;
  for (int attempt = 1;; ++attempt) {
    Expected<Fd> proved = dial_and_prove(*remote, self, deadline);
    const bool dropped = !proved && proved.error().code == ErrorCode::kPeerLost;
    if (!dropped || attempt == kTries || deadline.passed()) return proved;
    poll(nullptr, 0, kPauseMs);
  }
}

AgentStart greet(Expected<std::unique_ptr<AgentConnection>> connection,
                 const std::map<std::string, std::string>& config, Deadline deadline) {
  std::vector<Expected<std::unique_ptr<AgentConnection>>> connections;
  connections.push_back(std::move(connection));
  return std::move(greet_agents(std::move(connections), config, deadline).front());
}

// The first dialler that knows the token; everybody else is sent away.
Expected<Fd> wait_for_coordinator(Door& door, Deadline deadline) {
  PollSet poll;
  while (!deadline.passed()) {
    poll.clear();
    door.add_to(poll);
    poll.wait(deadline.poll_timeout_ms(kSocketSleepMs));
    std::vector<Fd> proved = door.step(poll);
    if (!proved.empty()) return std::move(proved.front());
  }
  return fail(ErrorCode::kTimeout, "no coordinator came in time");
}

}  // namespace

AgentStart attach_agent(const std::string& host, const std::string& address, int port,
                        const std::string& token, Deadline deadline,
                        const std::map<std::string, std::string>& config) {
  Expected<Fd> fd = dial(address, port, token, deadline);
  if (fd) return attach_agent(host, std::move(*fd), deadline, config);
  return greet(fail(attach_error(fmt::format("{} port {}", address, port), fd.error())), config,
               deadline);
}

AgentStart attach_agent(const std::string& host, Fd connection, Deadline deadline,
                        const std::map<std::string, std::string>& config) {
  tune_connection(connection.get(), kAgentTimeoutMs);
  return greet(AgentConnection::open(host, {Fd(), std::move(connection), Fd(), nullptr}), config,
               deadline);
}

Expected<std::string> read_token(const std::string& path) {
  constexpr size_t kLeast = 16, kMost = 4096, kMostOfFile = 64 << 10;
  const bool piped = path == "-" || path == "/dev/stdin";  // as the line to paste has it
  std::istringstream file;
  if (!piped) {
    Expected<std::string> text = read_secret_file(path, kMostOfFile);
    if (!text) {
      text.error().what = "token: " + text.error().what;
      return fail(text.error());
    }
    file.str(std::move(*text));
  }
  std::istream& in = piped ? std::cin : file;
  std::string token;
  for (char c = 0; token.size() < kMost && in.get(c) && c != '\n';) token += c;
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.size() < kLeast || token.size() >= kMost) {
    return fail(ErrorCode::kConfig, "the token in " + (piped ? "standard input" : path) +
                                        " is not one line of 16 to 4095 characters");
  }
  return token;
}

Status serve_one_coordinator(const std::vector<std::string>& addresses, int port,
                             const std::string& token, int64_t wait_ms,
                             const std::vector<AgentRequest>& requests,
                             const AgentLoopSettings& settings,
                             const std::function<void(int port)>& ready) {
  Expected<std::vector<Fd>> listeners = listen_on_all(addresses, port);
  if (!listeners) return fail(listeners.error());
  if (ready) ready(port);
  Fd connection;
  {
    // Closed before serving: there is one coordinator, and the port is free for probes.
    Door door(std::move(*listeners), listening_end("agent", secret_of(token)));
    Expected<Fd> coordinator = wait_for_coordinator(door, Deadline::after_ms(wait_ms));
    if (!coordinator) return fail(coordinator.error());
    connection = std::move(*coordinator);
  }
  tune_connection(connection.get(), kAgentTimeoutMs);
  return serve_agent(connection.get(), connection.get(), requests, settings);
}

}  // namespace plumbline
