#include "launch/proof.h"

#include <fmt/format.h>
#include <poll.h>

#include <iterator>

namespace plumbline {
namespace {

using State = Handshake::State;

constexpr int kDialling = 0, kListening = 1;
constexpr int kProofSleepMs = 250;
constexpr int64_t kProofMs = 5'000;  // for a dialler to prove itself

HandshakeIdentity identity(int rank, const std::string& channel, const Digest& secret) {
  // A rank's channel is refused, whatever its token.
  return {.rank = rank, .size = 2, .token = secret, .config_text = "channel=" + channel + "\n"};
}

Expected<Fd> connect_to(const SocketAddress& address, Deadline deadline) {
  Expected<Fd> fd = start_connect(address, nullptr, {}, {});
  if (!fd) return fd;
  while (true) {
    pollfd entry{fd->get(), POLLOUT, 0};
    if (poll(&entry, 1, deadline.poll_timeout_ms(kProofSleepMs)) > 0) break;
    if (deadline.passed()) {
      return fail(ErrorCode::kTimeout, "connect to " + to_text(address) + ": no answer in time");
    }
  }
  if (Status connected = finish_connect(fd->get(), address); !connected) {
    return fail(connected.error());
  }
  return fd;
}

}  // namespace

HandshakeIdentity dialling_end(const std::string& channel, const Digest& secret) {
  return identity(kDialling, channel, secret);
}

HandshakeIdentity listening_end(const std::string& channel, const Digest& secret) {
  return identity(kListening, channel, secret);
}

Expected<Fd> dial_and_prove(const SocketAddress& remote, const HandshakeIdentity& self,
                            Deadline deadline) {
  Expected<Fd> fd = connect_to(remote, deadline);
  if (!fd) return fd;
  HandshakeSocket socket(std::move(*fd), Handshake::dialer(self, kListening, Purpose::kControl),
                         deadline, to_text(remote));
  PollSet poll;
  while (true) {
    poll.clear();
    socket.add_to(poll);
    poll.wait(deadline.poll_timeout_ms(kProofSleepMs));
    const State state = socket.step(poll);
    if (state == State::kDone) return socket.take();
    if (state == State::kFailed) return fail(socket.error());
  }
}

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

Door::Door(std::vector<Fd> listeners, HandshakeIdentity self, size_t waiting)
    : listeners_(std::move(listeners)), self_(std::move(self)), waiting_(waiting) {}

void Door::add_to(PollSet& poll) {
  entries_.clear();
  for (const Fd& listener : listeners_) entries_.push_back(poll.add(listener.get(), POLLIN));
  for (HandshakeSocket& dialler : diallers_) dialler.add_to(poll);
}

std::vector<Fd> Door::step(const PollSet& poll) {
  std::vector<Fd> proved;
  for (auto it = diallers_.begin(); it != diallers_.end();) {
    State state = it->step(poll);
    if (state == State::kAuthenticated) {
      it->handshake().conclude(Admission::kWelcome);
      state = State::kDone;
    }
    if (state == State::kDone && it->handshake().output().empty()) {
      proved.push_back(it->take());
      it = diallers_.erase(it);
      continue;
    }
    if (state == State::kFailed && refused) refused(it->error());
    it = state == State::kFailed ? diallers_.erase(it) : std::next(it);
  }
  for (size_t i = 0; i < listeners_.size(); ++i) {
    if (poll.fired(entries_[i])) let_in(listeners_[i].get());
  }
  return proved;
}

void Door::let_in(int listener) {
  while (true) {
    Expected<Fd> fd = accept_from(listener);
    if (!fd || !fd->valid()) return;
    if (diallers_.size() >= waiting_) diallers_.pop_front();
    const std::string where = to_text(remote_address(fd->get()));
    diallers_.emplace_back(std::move(*fd), Handshake::acceptor(self_), Deadline::after_ms(kProofMs),
                           where);
  }
}

}  // namespace plumbline
