#include "transport/traffic/traffic.h"

#include <poll.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <thread>

namespace plumbline {
namespace {

constexpr int kSliceMs = 50;  // how soon a wait notices that it is to end

constexpr int64_t kLongestNap = 20 * kMillisecond;

constexpr int kMostBehind = 10;                      // messages that may follow at once
constexpr int64_t kBlockedWait = 20 * kMillisecond;  // so that `each` is called now and then

constexpr int64_t kRoomWait = 20 * kMillisecond;  // for room in the socket's buffer

bool turned_away(int err) { return err == EPERM || err == ENOBUFS || err == ECONNREFUSED; }

}  // namespace

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
  int64_t spins_since = 0;
  while (true) {
    const auto got = receive_now(fd, bytes, count);
    if (!got) return fail(got.error());
    if (*got) return **got;
    const int64_t now = monotonic_ns();
    if (spins_since == 0) spins_since = now;
    if (now - spins_since < patience.spin_ns && !patience.over()) {
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

Expected<int64_t> round_trip(int fd, std::string& message, const Patience& patience) {
  const int64_t start = monotonic_ns();
  Status done = send_all(fd, message.data(), message.size(), patience);
  if (done) done = receive_all(fd, message.data(), message.size(), patience);
  if (!done) return fail(done.error());
  return monotonic_ns() - start;
}

Status echo_messages(int fd, const EchoSettings& settings, const Patience& patience) {
  std::string message(settings.bytes, '\0'), early = settings.early;
  const bool forever = settings.silence_ns == INT64_MAX;
  while (true) {
    const size_t had = early.copy(message.data(), message.size());
    early.erase(0, had);
    const Status came = receive_all(fd, message.data() + had, message.size() - had,
                                    forever ? patience : patience.within(settings.silence_ns));
    if (!came || (settings.heeds_last && message.front() == kLastMessage)) return came;
    const Status back = send_all(fd, message.data(), message.size(), patience);
    if (!back) return back;
  }
}

Pace::Pace(int64_t gap_ns, int most_behind)
    : gap_ns_(gap_ns), behind_ns_(gap_ns * most_behind), due_ns_(monotonic_ns()) {}

bool Pace::wait() const {
  const int64_t early = due_ns_ - monotonic_ns();
  if (early <= 0) return true;
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(early, kLongestNap)));
  return monotonic_ns() >= due_ns_;
}

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

std::vector<std::vector<std::pair<size_t, size_t>>> disjoint_rounds(size_t places) {
  std::vector<std::vector<std::pair<size_t, size_t>>> rounds;
  const size_t even = places + places % 2;
  for (size_t round = 0; round + 1 < even; ++round) {
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t i = 0; i < even / 2; ++i) {
      // Place 0 stays, the others turn around it.
      const auto at = [&](size_t place) {
        return place == 0 ? size_t{0} : 1 + (place - 1 + round) % (even - 1);
      };
      const size_t a = at(i), b = at(even - 1 - i);
      if (a < places && b < places) pairs.emplace_back(std::min(a, b), std::max(a, b));
    }
    rounds.push_back(std::move(pairs));
  }
  return rounds;
}

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

void DatagramTally::add(uint64_t sequence, int64_t sent_ns, int64_t arrived_ns) {
  if (sequence >= seen_.size()) return;
  if (seen_[sequence]) {
    ++duplicates_;
    return;
  }
  seen_[sequence] = true;
  if (sequence >= next_expected_) {
    next_expected_ = sequence + 1;
  } else {
    ++reordered_;
  }
  const int64_t transit = arrived_ns - sent_ns;
  if (received_ > 0) {
    const double difference = std::abs(static_cast<double>(transit - last_transit_));
    jitter_ += (difference - jitter_) / 16;
  }
  last_transit_ = transit;
  ++received_;
}

std::optional<double> DatagramTally::jitter_ns() const {
  if (received_ < 2) return std::nullopt;
  return jitter_;
}

}  // namespace plumbline
