// Both ends of TCP between ranks. The listening side: one socket per data address, all on one port,
// so that a port can be claimed before anybody knows the other ranks; accepted connections are
// strangers until the handshake has proved otherwise. A ByteStream over a connected socket: one
// non-blocking sendmsg(2) or recvmsg(2) per call. And what the kernel knows of a TCP connection:
// round-trip time, retransmissions, bytes under way, the peer's window. Platform code:
// tcp_stats_linux.cc (TCP_INFO, tcp(7)), tcp_stats_macos.cc (TCP_CONNECTION_INFO, tcp(4)),
// thread-safe; two or three system calls.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/fd.h"
#include "core/options/options.h"
#include "transport/address.h"
#include "transport/channel/byte_stream.h"

namespace plumbline {

// Takes a connected, non-blocking socket over. `peer` stands in errors: "rank 1 on mini2".
std::unique_ptr<ByteStream> make_tcp_stream(Fd fd, std::string peer);

// Fills everything but the two addresses; fields that the platform does not tell stay absent.
void read_tcp_stats(int fd, StreamStats& stats);

// Used by one thread at a time.
class TcpListener {
 public:
  // Listens on every address (duplicates count once). Port 0 = any port that is free on all of
  // them. The option listen_addr may narrow it to one address or widen it to "0.0.0.0" or "::";
  // ifname keeps the addresses of that interface only; sock_bufsize sets the buffers. A given port
  // that somebody holds is waited for until `patience`; then kBusy with its owner.
  static Expected<std::unique_ptr<TcpListener>> open(std::span<const RankAddress> addresses,
                                                     uint16_t port, const OptionSet& options,
                                                     Deadline patience = Deadline::after_ms(0));

  // Where others reach it: the addresses it was opened with (less those that options excluded) and
  // the real port; rank and host are the caller's to fill in.
  const TcpEndpoint& endpoint() const { return endpoint_; }
  std::span<const Fd> sockets() const { return sockets_; }

 private:
  TcpListener() = default;
  TcpEndpoint endpoint_;
  std::vector<Fd> sockets_;
};

}  // namespace plumbline
