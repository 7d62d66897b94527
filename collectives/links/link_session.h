// The sockets of one ordered pair in one round of a link matrix: a control connection (round trips,
// reports) and as many data connections as the measure wants, between the two addresses that the
// ranks' own channel uses, on a port of the job's window where that is free. Each connection begins
// with a hello that carries the receiver's random nonce; whoever does not know it is closed. Every
// wait has a deadline and ends early when the group has failed. A session belongs to one thread at
// a time.
#pragma once

#include <string>
#include <vector>

#include "core/fd.h"
#include "transport/tcp/socket.h"
#include "transport/traffic/patience.h"

namespace plumbline {

// What a pair needs to connect.
struct LinkPath {
  SocketAddress local, remote;  // ports 0
  std::string interface;        // of link-local addresses
  std::string local_ip, remote_ip;
  bool direct = false;
};

struct LinkSession {
  int from = 0, to = 0;  // ranks
  std::string name;      // "host0 > host1 (10.0.0.1 > 10.0.0.2)", for errors
  LinkPath path;
  uint64_t nonce = 0;
  uint16_t port = 0;  // the receiver's; 0 = it could not listen
  Fd listener;        // at the receiver
  Fd control;
  std::vector<Fd> data;
  Error error;          // why it cannot be measured; meaningful when !usable
  bool usable = false;  // all connections stand
  void refuse(Error why);
};

// "10.0.0.1:40000", "[fe80::1%eth0]:40000" -> the address with port 0. `ip` gets the text in front.
Expected<SocketAddress> address_of_text(const std::string& text, std::string& ip,
                                        std::string& interface);

// Dials all sessions at once, each with `data` data connections, and marks each usable or refused.
void connect_sessions(std::vector<LinkSession*>& sessions, int data, const SocketOptions& options,
                      Deadline deadline);
// Takes the connections of all sessions, strangers aside.
void accept_sessions(std::vector<LinkSession*>& sessions, int data, const SocketOptions& options,
                     const Patience& patience);

}  // namespace plumbline
