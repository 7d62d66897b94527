#include "transport/traffic/stream.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr int kMostBehind = 10;                      // messages that may follow at once
constexpr int64_t kBlockedWait = 20 * kMillisecond;  // so that `each` is called now and then

}  // namespace

StreamSource::StreamSource(int fd, const StreamLoad& load)
    : fd_(fd), load_(load), zeros_(load.block), pace_(load.gap_ns, kMostBehind) {}

Expected<bool> StreamSource::step() {
  const bool messages = load_.message_bytes > 0;
  if (messages && unsent_ == 0) {
    if (!pace_.wait()) return true;
    unsent_ = load_.message_bytes;
    pace_.next();
  }
  const int64_t most =
      messages ? unsent_ : std::min(static_cast<int64_t>(zeros_.size()), load_.bytes - sent_);
  const int flags = send_flags() | (messages ? load_.message_flags : 0);
  const ssize_t sent = ::send(fd_, zeros_.data(), static_cast<size_t>(most), flags);
  if (sent < 0 && !would_wait(errno)) return fail(socket_error("send", errno));
  if (sent <= 0) return false;
  sent_ += sent;
  if (messages) unsent_ -= sent;
  return true;
}

Status StreamSource::run(const Patience& patience, const std::function<Status()>& each,
                         short events) {
  while (!done() && !patience.over()) {
    const Expected<bool> moved = step();
    if (!moved) return fail(moved.error());
    if (each) {
      if (const Status well = each(); !well) return well;
    }
    if (*moved) continue;
    const int64_t left = std::min(load_.until.remaining_ns(), kBlockedWait);
    const auto wanted = static_cast<short>(events | POLLOUT);
    static_cast<void>(await_ready(fd_, wanted, patience.within(left)));
  }
  return {};
}

}  // namespace plumbline
