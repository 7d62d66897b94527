#include "transport/traffic/datagrams.h"

#include <poll.h>

#include <cerrno>

#include "transport/traffic/pace.h"

namespace plumbline {
namespace {

constexpr int64_t kRoomWait = 20 * kMillisecond;  // for room in the socket's buffer

bool turned_away(int err) { return err == EPERM || err == ENOBUFS || err == ECONNREFUSED; }

}  // namespace

Expected<Fd> open_datagram(const SocketAddress& local, int receive_bytes) {
  Fd fd = new_datagram_socket(local.family());
  if (!fd.valid()) return fail(socket_error("UDP socket", errno));
  if (receive_bytes > 0) set_receive_buffer(fd.get(), receive_bytes);
  if (::bind(fd.get(), local.get(), local.length) != 0) {
    return fail(socket_error("bind UDP to " + to_text(local), errno));
  }
  return fd;
}

Status connect_datagram(int fd, const SocketAddress& remote) {
  if (::connect(fd, remote.get(), remote.length) == 0) return {};
  return fail(socket_error("send UDP to " + to_text(remote), errno));
}

Expected<std::optional<size_t>> receive_datagram(int fd, void* data, size_t bytes) {
  auto got = receive_now(fd, data, bytes);
  // Somebody to whom this socket sent listens no more: no word about what comes.
  if (!got && got.error().sys_errno == ECONNREFUSED) return std::optional<size_t>();
  return got;
}

DatagramsSent send_numbered(int fd, const SocketAddress* to, const DatagramLoad& load,
                            const DatagramFill& fill, const Patience& patience) {
  DatagramsSent out;
  const int64_t begin_ns = monotonic_ns();
  Pace pace(load.gap_ns, load.most_behind);
  while (out.sent + out.refused < load.count && pace.due_ns() < load.until.at_ns() &&
         !patience.over()) {
    if (!pace.wait()) continue;
    const std::string_view datagram = fill(out.sent, monotonic_ns());
    const ssize_t sent =
        ::sendto(fd, datagram.data(), datagram.size(), send_flags(),
                 to == nullptr ? nullptr : to->get(), to == nullptr ? 0 : to->length);
    const int err = sent < 0 ? errno : 0;
    if (would_wait(err)) {
      static_cast<void>(await_ready(fd, POLLOUT, patience.within(kRoomWait)));
      continue;
    }
    if (err != 0 && !turned_away(err)) {
      out.status = fail(socket_error(
          "send a datagram to " + to_text(to == nullptr ? remote_address(fd) : *to), err));
      break;
    }
    ++(err == 0 ? out.sent : out.refused);
    if (err != 0) out.refusal = err;
    pace.next();
  }
  out.duration_ns = monotonic_ns() - begin_ns;
  return out;
}

}  // namespace plumbline
