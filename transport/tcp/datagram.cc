#include "transport/tcp/datagram.h"

#include <cerrno>

namespace plumbline {

Expected<Fd> open_datagram(const SocketAddress& local, int receive_bytes) {
  Fd fd = new_datagram_socket(local.family());
  if (!fd.valid()) return fail(socket_error("UDP socket", errno));
  set_receive_buffer(fd.get(), receive_bytes);
  if (::bind(fd.get(), local.get(), local.length) != 0) {
    return fail(socket_error("bind UDP to " + to_text(local), errno));
  }
  return fd;
}

Status connect_datagram(int fd, const SocketAddress& remote) {
  if (::connect(fd, remote.get(), remote.length) == 0) return {};
  return fail(socket_error("send UDP to " + to_text(remote), errno));
}

Expected<bool> send_datagram(int fd, const void* data, size_t bytes) {
  if (::send(fd, data, bytes, send_flags()) >= 0) return true;
  const int err = errno;
  if (err == EAGAIN || err == EWOULDBLOCK || err == EINTR || err == ENOBUFS ||
      err == ECONNREFUSED) {
    return false;
  }
  return fail(socket_error("send UDP to " + to_text(remote_address(fd)), err));
}

Expected<std::optional<size_t>> receive_datagram(int fd, void* data, size_t bytes,
                                                 std::optional<uint64_t>& dropped) {
  const ssize_t got = receive_counted(fd, data, bytes, dropped);
  if (got >= 0) return static_cast<size_t>(got);
  const int err = errno;
  if (err == EAGAIN || err == EWOULDBLOCK || err == EINTR || err == ECONNREFUSED) {
    return std::optional<size_t>();
  }
  return fail(socket_error("receive UDP on " + to_text(local_address(fd)), err));
}

}  // namespace plumbline
