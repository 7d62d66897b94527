// What the kernel knows of a TCP connection: round-trip time, retransmissions, bytes under way, the
// peer's window. Platform code: tcp_stats_linux.cc (TCP_INFO, tcp(7)), tcp_stats_macos.cc
// (TCP_CONNECTION_INFO, tcp(4)). Thread-safe; two or three system calls.
#pragma once

#include "transport/channel/byte_stream.h"

namespace plumbline {

// Fills everything but the two addresses; fields that the platform does not tell stay absent.
void read_tcp_stats(int fd, StreamStats& stats);

}  // namespace plumbline
