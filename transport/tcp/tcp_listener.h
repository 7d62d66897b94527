// The listening side of a rank: one socket per data address, all on one port, so that a port can be
// claimed before anybody knows the other ranks. Accepted connections are strangers until the
// handshake has proved otherwise. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/fd.h"
#include "core/options/options.h"
#include "transport/tcp/tcp_endpoint.h"

namespace plumbline {

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
  // "10.10.0.1:29600 and 10.10.1.1:29600", for messages.
  std::string describe() const;

 private:
  TcpListener() = default;
  TcpEndpoint endpoint_;
  std::vector<Fd> sockets_;
};

}  // namespace plumbline
