#include "launch/socket_wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr size_t kMostLine = 64u << 20;  // bytes; nobody who means well sends a longer one
constexpr int kWireSleepMs = 1000;

}  // namespace

Status SocketWire::ready(short events, Deadline deadline) const {
  while (true) {
    pollfd entry{fd_.get(), events, 0};
    if (poll(&entry, 1, deadline.poll_timeout_ms(kWireSleepMs)) > 0) return {};
    if (deadline.passed()) return fail(ErrorCode::kTimeout, who_ + ": no answer in time");
  }
}

Status SocketWire::write_line(const std::string& line, Deadline deadline) {
  if (!fd_.valid()) return fail(ErrorCode::kPeerLost, who_ + " is closed");
  const std::string text = line + '\n';
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::send(fd_.get(), text.data() + done, text.size() - done, send_flags());
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const Status status = ready(POLLOUT, deadline); !status) return status;
    } else if (errno != EINTR) {
      return fail(socket_error(who_, errno));
    }
  }
  return {};
}

Expected<std::string> SocketWire::read_line(Deadline deadline) {
  if (!fd_.valid()) return fail(ErrorCode::kPeerLost, who_ + " is closed");
  while (true) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (buffer_.size() > kMostLine) return fail(ErrorCode::kProtocol, who_ + ": an endless line");
    std::array<char, 65536> chunk;
    const ssize_t n = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
    if (n > 0) {
      buffer_.append(chunk.data(), static_cast<size_t>(n));
    } else if (n == 0) {
      return fail(ErrorCode::kPeerLost, who_ + " ended: that process, or its host, is gone");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (const Status status = ready(POLLIN, deadline); !status) return fail(status.error());
    } else if (errno != EINTR) {
      return fail(socket_error(who_, errno));
    }
  }
}

}  // namespace plumbline
