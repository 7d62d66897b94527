#include "transport/traffic/patience.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr int kSliceMs = 50;  // how soon a wait notices that it is to end

}  // namespace

Patience Patience::within(int64_t ns) const {
  return until(Deadline::at_ns(std::min(deadline.at_ns(), Deadline::after_ns(ns).at_ns())));
}

bool would_wait(int err) { return err == EAGAIN || err == EWOULDBLOCK || err == EINTR; }

Status await_ready(int fd, short events, const Patience& patience) {
  while (true) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, patience.deadline.poll_timeout_ms(kSliceMs));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail(socket_error("poll", errno));
    if (patience.ended && patience.ended()) {
      return fail(ErrorCode::kAborted, "what the bytes were for has ended");
    }
    if (patience.deadline.passed()) {
      return fail(ErrorCode::kTimeout, "no bytes moved until the deadline");
    }
  }
}

Status send_all(int fd, const void* bytes, size_t count, const Patience& patience) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::send(fd, at, count, send_flags());
    if (sent > 0) {
      at += sent;
      count -= static_cast<size_t>(sent);
      continue;
    }
    const int err = errno;
    if (!would_wait(err)) return fail(socket_error("send", err));
    if (const Status ready = await_ready(fd, POLLOUT, patience); !ready) return ready;
  }
  return {};
}

Expected<std::optional<size_t>> receive_now(int fd, void* bytes, size_t count) {
  const ssize_t got = ::recv(fd, bytes, count, 0);
  if (got >= 0) return static_cast<size_t>(got);
  const int err = errno;
  if (would_wait(err)) return std::optional<size_t>();
  return fail(socket_error("receive", err));
}

Expected<size_t> receive_some(int fd, void* bytes, size_t count, const Patience& patience) {
  int64_t spin_until = 0;
  while (true) {
    const auto got = receive_now(fd, bytes, count);
    if (!got) return fail(got.error());
    if (*got) return **got;
    const int64_t now = monotonic_ns();
    if (spin_until == 0) spin_until = now + patience.spin_ns;
    if (now < spin_until) {
      if (patience.yield) ::sched_yield();
      continue;
    }
    if (const Status ready = await_ready(fd, POLLIN, patience); !ready) return fail(ready.error());
  }
}

Status receive_all(int fd, void* bytes, size_t count, const Patience& patience) {
  auto* at = static_cast<char*>(bytes);
  while (count > 0) {
    const Expected<size_t> got = receive_some(fd, at, count, patience);
    if (!got) return fail(got.error());
    if (*got == 0) return fail(ErrorCode::kPeerLost, "the other end closed the connection");
    at += *got;
    count -= *got;
  }
  return {};
}

}  // namespace plumbline
