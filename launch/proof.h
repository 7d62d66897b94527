// Connections whose two ends have proved to each other that they know a secret, before a line is
// exchanged: how a coordinator reaches a listening agent, and how ranks that a launcher started
// reach rank 0. The proof is that of ranks (transport/control/handshake.h): who dials plays rank 0
// of 2, who listens plays rank 1. One thread.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/encode.h"
#include "core/error.h"
#include "core/fd.h"
#include "transport/control/connectors.h"
#include "transport/control/poll_set.h"
#include "transport/tcp/socket.h"

namespace plumbline {

// Both ends name the same channel ("agent", "rendezvous") and know the same secret.
HandshakeIdentity dialling_end(const std::string& channel, const Digest& secret);
HandshakeIdentity listening_end(const std::string& channel, const Digest& secret);

// Connects and proves. kRefused (nobody listens), kTimeout, kProtocol (somebody else listens),
// kAuth (another secret), kMismatch (another protocol version), kPeerLost (closed before any
// proof).
Expected<Fd> dial_and_prove(const SocketAddress& remote, const HandshakeIdentity& self,
                            Deadline deadline);

// The same port on every address; with port 0 the first address chooses, and `port` tells.
Expected<std::vector<Fd>> listen_on_all(const std::vector<std::string>& addresses, int& port);

// Those who have connected and not yet proved anything. Strangers cost a descriptor for a few
// seconds and are sent away.
class Door {
 public:
  // At most `waiting` diallers at the same time; the oldest has to go.
  Door(std::vector<Fd> listeners, HandshakeIdentity self, size_t waiting = 32);
  Door(const Door&) = delete;  // its diallers point at its identity
  Door& operator=(const Door&) = delete;

  void add_to(PollSet& poll);
  // Lets newcomers in and moves the proofs on; what it returns is proved.
  std::vector<Fd> step(const PollSet& poll);
  // Told about everyone who is sent away.
  std::function<void(const Error&)> refused;

 private:
  void let_in(int listener);
  std::vector<Fd> listeners_;
  const HandshakeIdentity self_;
  const size_t waiting_;
  std::vector<size_t> entries_;  // of the listeners in the poll set
  std::deque<HandshakeSocket> diallers_;
};

}  // namespace plumbline
