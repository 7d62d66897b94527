// UDP sockets of the link matrix: non-blocking, close-on-exec, with as large a receive buffer as
// the system grants, and with the number of datagrams that this socket itself had no room for, so
// that a slow receiver is not taken for a lossy link. Platform differences: datagram_linux.cc,
// datagram_macos.cc. Thread-safe functions; a socket belongs to one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/error.h"
#include "core/fd.h"
#include "transport/tcp/socket.h"

namespace plumbline {

// Bound to `local` (port 0 = any), asking for `receive_bytes` of buffer.
Expected<Fd> open_datagram(const SocketAddress& local, int receive_bytes);
// Sends to one peer only and hears nobody else afterwards.
Status connect_datagram(int fd, const SocketAddress& remote);
// true = sent; false = no room now, or the peer's system said that nobody listens.
Expected<bool> send_datagram(int fd, const void* data, size_t bytes);
// The size of the next datagram (cut to `bytes`), nullopt when none waits. Fills `dropped`, where
// the system tells it, with the datagrams that found the buffer full since the socket was made.
Expected<std::optional<size_t>> receive_datagram(int fd, void* data, size_t bytes,
                                                 std::optional<uint64_t>& dropped);

// --- what differs by platform -------------------------------------------------------------------

Fd new_datagram_socket(int family);
void set_receive_buffer(int fd, int bytes);
// As recvmsg(2): bytes or -1 with errno.
ssize_t receive_counted(int fd, void* data, size_t bytes, std::optional<uint64_t>& dropped);

}  // namespace plumbline
