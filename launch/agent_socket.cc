// Agents that listen instead of being started: both ends prove that they know the token before a
// line is exchanged. The proof is that of ranks (transport/handshake.h): the coordinator plays rank
// 0 of 2 and dials, the agent plays rank 1.

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <iostream>

#include "core/sha256.h"
#include "launch/agent_connection.h"
#include "launch/agent_greeting.h"
#include "launch/agent_link.h"
#include "launch/agent_loop.h"
#include "transport/handshake_socket.h"
#include "transport/poll_set.h"
#include "transport/socket.h"

namespace plumbline {
namespace {

using State = Handshake::State;

constexpr int kCoordinator = 0, kAgent = 1;
constexpr int kUserTimeoutMs = 20'000;  // unacknowledged bytes: the other machine has gone
constexpr int kMaxSleepMs = 250;
constexpr int64_t kProofMs = 5'000;  // for a dialler to prove itself
constexpr size_t kMaxDiallers = 32;  // at the same time; the oldest has to go

HandshakeIdentity identity(int rank, const std::string& token) {
  HandshakeIdentity self;
  self.rank = rank;
  self.size = 2;
  self.token = sha256("plumbline agent token " + token);
  self.config_text = "channel=agent\n";  // a rank's channel is refused, whatever its token
  return self;
}

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

Expected<Fd> connect_to(const SocketAddress& address, Deadline deadline) {
  Expected<Fd> fd = start_connect(address, nullptr, {}, {});
  if (!fd) return fd;
  while (true) {
    pollfd entry{fd->get(), POLLOUT, 0};
    if (poll(&entry, 1, deadline.poll_timeout_ms(kMaxSleepMs)) > 0) break;
    if (deadline.passed()) {
      return fail(ErrorCode::kTimeout, "connect to " + to_text(address) + ": no answer in time");
    }
  }
  if (Status connected = finish_connect(fd->get(), address); !connected) {
    return fail(connected.error());
  }
  return fd;
}

// Proves both ends to each other; the connection is ready for lines afterwards.
Expected<Fd> prove(Fd fd, const HandshakeIdentity& self, const std::string& where,
                   Deadline deadline) {
  HandshakeSocket socket(std::move(fd), Handshake::dialer(self, kAgent, Purpose::kControl),
                         deadline, where);
  PollSet poll;
  while (true) {
    poll.clear();
    socket.add_to(poll);
    poll.wait(deadline.poll_timeout_ms(kMaxSleepMs));
    const State state = socket.step(poll);
    if (state == State::kDone) return socket.take();
    if (state == State::kFailed) return fail(socket.error());
  }
}

Expected<Fd> dial(const std::string& address, int port, const std::string& token,
                  Deadline deadline) {
  if (port < 1 || port > 65535) return fail(ErrorCode::kUsage, fmt::format("no port {}", port));
  const Expected<SocketAddress> remote = make_socket_address(address, static_cast<uint16_t>(port));
  if (!remote) return fail(remote.error());
  const HandshakeIdentity self = identity(kCoordinator, token);
  // An agent that many strangers visit may have to drop us before we have proved anything.
  constexpr int kTries = 5, kPauseMs = 50;
  for (int attempt = 1;; ++attempt) {
    Expected<Fd> fd = connect_to(*remote, deadline);
    if (!fd) return fd;
    Expected<Fd> proved = prove(std::move(*fd), self, to_text(*remote), deadline);
    const bool dropped = !proved && proved.error().code == ErrorCode::kPeerLost;
    if (!dropped || attempt == kTries || deadline.passed()) return proved;
    poll(nullptr, 0, kPauseMs);
  }
}

// Those who have connected and not yet proved anything.
class Door {
 public:
  Door(std::vector<Fd> listeners, const std::string& token)
      : listeners_(std::move(listeners)), self_(identity(kAgent, token)) {}

  // The first dialler that knows the token; everybody else is sent away.
  Expected<Fd> wait_for_coordinator(Deadline deadline) {
    PollSet poll;
    while (!deadline.passed()) {
      poll.clear();
      std::vector<size_t> entries;
      for (const Fd& listener : listeners_) entries.push_back(poll.add(listener.get(), POLLIN));
      for (HandshakeSocket& dialler : diallers_) dialler.add_to(poll);
      poll.wait(deadline.poll_timeout_ms(kMaxSleepMs));
      if (std::optional<Fd> coordinator = look_at_diallers(poll)) return std::move(*coordinator);
      for (size_t i = 0; i < listeners_.size(); ++i) {
        if (poll.fired(entries[i])) let_in(listeners_[i].get());
      }
    }
    return fail(ErrorCode::kTimeout, "no coordinator came in time");
  }

 private:
  std::optional<Fd> look_at_diallers(const PollSet& poll) {
    for (auto it = diallers_.begin(); it != diallers_.end();) {
      State state = it->step(poll);
      if (state == State::kAuthenticated) {
        it->handshake().conclude(false);
        state = State::kDone;
      }
      if (state == State::kDone && it->handshake().output().empty()) return it->take();
      it = state == State::kFailed ? diallers_.erase(it) : std::next(it);
    }
    return std::nullopt;
  }

  void let_in(int listener) {
    while (true) {
      Expected<Fd> fd = accept_from(listener);
      if (!fd || !fd->valid()) return;
      if (diallers_.size() >= kMaxDiallers) diallers_.pop_front();
      const std::string where = to_text(remote_address(fd->get()));
      diallers_.emplace_back(std::move(*fd), Handshake::acceptor(self_),
                             Deadline::after_ms(kProofMs), where);
    }
  }

  std::vector<Fd> listeners_;
  const HandshakeIdentity self_;
  std::deque<HandshakeSocket> diallers_;
};

// The same port on every address; with 0 the first address chooses.
Expected<std::vector<Fd>> listen_on_all(const std::vector<std::string>& addresses, int& port) {
  if (addresses.empty()) return fail(ErrorCode::kUsage, "no address to listen on");
  if (port < 0 || port > 65535) return fail(ErrorCode::kUsage, fmt::format("no port {}", port));
  std::vector<Fd> listeners;
  for (const std::string& address : addresses) {
    Expected<SocketAddress> local = make_socket_address(address, static_cast<uint16_t>(port));
    if (!local) return fail(local.error());
    Expected<Fd> listener = listen_on(*local, {});
    if (!listener) return fail(listener.error());
    port = local_address(listener->get()).port();
    listeners.push_back(std::move(*listener));
  }
  return listeners;
}

}  // namespace

AgentStart attach_agent(const std::string& host, const std::string& address, int port,
                        const std::string& token, Deadline deadline,
                        const std::map<std::string, std::string>& config) {
  std::vector<Expected<std::unique_ptr<AgentConnection>>> connections;
  Expected<Fd> fd = dial(address, port, token, deadline);
  if (fd) {
    tune_connection(fd->get(), kUserTimeoutMs);
    AgentWires wires;
    wires.from = std::move(*fd);
    connections.push_back(AgentConnection::open(host, std::move(wires)));
  } else {
    connections.push_back(fail(attach_error(fmt::format("{} port {}", address, port), fd.error())));
  }
  return std::move(greet_agents(std::move(connections), config, deadline).front());
}

Expected<std::string> read_token(const std::string& path) {
  constexpr size_t kLeast = 16, kMost = 4096;
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    if (!file) return fail_errno(ErrorCode::kConfig, "read the token from " + path, errno);
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string token;
  for (char c = 0; token.size() < kMost && in.get(c) && c != '\n';) token += c;
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.size() < kLeast || token.size() >= kMost) {
    return fail(ErrorCode::kConfig, "the token in " + (path == "-" ? "standard input" : path) +
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
    Door door(std::move(*listeners), token);
    Expected<Fd> coordinator = door.wait_for_coordinator(Deadline::after_ms(wait_ms));
    if (!coordinator) return fail(coordinator.error());
    connection = std::move(*coordinator);
  }
  tune_connection(connection.get(), kUserTimeoutMs);
  return serve_agent(connection.get(), connection.get(), requests, settings);
}

}  // namespace plumbline
