// Numbered datagrams at a steady pace: the sockets, the sender, and what a socket itself had no
// room for, so that a slow receiver is not taken for a lossy link. Sockets are non-blocking and
// close-on-exec. Platform differences: datagrams_linux.cc, datagrams_macos.cc. Thread-safe
// functions; a socket belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "core/fd.h"
#include "transport/tcp/socket.h"
#include "transport/traffic/patience.h"

namespace plumbline {

// Bound to `local` (port 0 = any), asking for `receive_bytes` of buffer; 0 = the system's own.
Expected<Fd> open_datagram(const SocketAddress& local, int receive_bytes);
// Sends to one peer only and hears nobody else afterwards.
Status connect_datagram(int fd, const SocketAddress& remote);
// The size of the next datagram (cut to `bytes`), nullopt when none waits.
Expected<std::optional<size_t>> receive_datagram(int fd, void* data, size_t bytes);

struct DatagramLoad {
  int64_t gap_ns = kMillisecond;
  int most_behind = 10;  // as in Pace
  uint64_t count = 0;    // ends after so many, refused ones too
  Deadline until = Deadline::never();
};
struct DatagramsSent {
  uint64_t sent = 0;     // the system took them
  uint64_t refused = 0;  // it did not: a filter, a full queue, or a peer that listens no more
  int refusal = 0;       // errno of the last of these
  int64_t duration_ns = 0;
  Status status = {};  // what ended it early
};
// The datagram with this number (from 0 on; refused ones use none up), valid until the next call.
using DatagramFill = std::function<std::string_view(uint64_t number, int64_t now_ns)>;
// `to`: null for a connected socket.
DatagramsSent send_numbered(int fd, const SocketAddress* to, const DatagramLoad& load,
                            const DatagramFill& fill, const Patience& patience);

// --- what differs by platform -------------------------------------------------------------------

// Invalid with errno set on failure.
Fd new_datagram_socket(int family);
void set_receive_buffer(int fd, int bytes);
// Datagrams that came to this socket and found its buffer full, since it was made; nullopt where
// the system does not tell.
std::optional<uint64_t> socket_drops(int fd);

}  // namespace plumbline
