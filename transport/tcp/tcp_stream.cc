#include "transport/tcp/tcp_stream.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "transport/tcp/socket.h"
#include "transport/tcp/tcp_stats.h"

namespace plumbline {
namespace {

// One call moves at most this much: macOS answers EINVAL or ENOBUFS to more (its limit is below
// 2 GiB for all buffers together), and no speed is lost.
constexpr size_t kMaxCallBytes = size_t{1} << 30;
constexpr size_t kMaxBuffers = 64;  // per call; below IOV_MAX everywhere

// The first buffers of a list as a message for sendmsg and recvmsg, within the limits above.
struct Message {
  explicit Message(std::span<const iovec> buffers) {
    size_t count = 0;
    for (const iovec& buffer : buffers.first(std::min(buffers.size(), kMaxBuffers))) {
      const size_t part = std::min(buffer.iov_len, kMaxCallBytes - bytes);
      if (part == 0) continue;
      vector[count++] = {buffer.iov_base, part};
      bytes += part;
    }
    header.msg_iov = vector.data();
    header.msg_iovlen = static_cast<decltype(header.msg_iovlen)>(count);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  std::array<iovec, kMaxBuffers> vector;
  msghdr header{};
  size_t bytes = 0;
};

// A single buffer goes by the plainer call, which saves about 0.1 us of a small message.
ssize_t send_buffers(int fd, std::span<const iovec> buffers, int flags) {
  if (buffers.size() == 1) {
    return ::send(fd, buffers[0].iov_base, std::min(buffers[0].iov_len, kMaxCallBytes), flags);
  }
  const Message message(buffers);
  return ::sendmsg(fd, &message.header, flags);
}

ssize_t receive_buffers(int fd, std::span<const iovec> buffers) {
  if (buffers.size() == 1) {
    return ::recv(fd, buffers[0].iov_base, std::min(buffers[0].iov_len, kMaxCallBytes), 0);
  }
  Message message(buffers);
  return ::recvmsg(fd, &message.header, 0);
}

bool nothing_in(std::span<const iovec> buffers) {
  return std::all_of(buffers.begin(), buffers.end(), [](const iovec& b) { return b.iov_len == 0; });
}

class TcpStream : public ByteStream {
 public:
  TcpStream(Fd fd, std::string peer)
      : fd_(std::move(fd)),
        peer_(std::move(peer)),
        local_(to_text(local_address(fd_.get()))),
        remote_(to_text(remote_address(fd_.get()))),
        send_flags_(send_flags()) {}

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (nothing_in(buffers)) return size_t{0};
    const ssize_t done = send_buffers(fd_.get(), buffers, send_flags_);
    if (done >= 0) return static_cast<size_t>(done);
    if (would_block(errno)) return size_t{0};
    return fail(lost("send to", errno));
  }

  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    // A read of nothing would look like the end of the stream.
    if (nothing_in(buffers)) return size_t{0};
    const ssize_t done = receive_buffers(fd_.get(), buffers);
    if (done > 0) return static_cast<size_t>(done);
    if (done == 0) {
      return fail(
          Error{ErrorCode::kPeerLost,
                fmt::format("{} closed its data connection {} > {}", peer_, remote_, local_), 0,
                "its process ended or gave the operation up: read its own log", "rank.dead"});
    }
    if (would_block(errno)) return size_t{0};
    return fail(lost("receive from", errno));
  }

  int poll_fd() const override { return fd_.get(); }

  StreamStats stats() const override {
    StreamStats stats;
    stats.local = local_;
    stats.remote = remote_;
    if (!closed_) read_tcp_stats(fd_.get(), stats);
    return stats;
  }

  void close() override {
    // The descriptor stays until destruction, so that its number cannot become somebody else's
    // while it stands in a poll set.
    if (!closed_) ::shutdown(fd_.get(), SHUT_RDWR);
    closed_ = true;
  }

 private:
  static bool would_block(int err) {
    // ENOBUFS: macOS, out of network memory for the moment.
    return err == EAGAIN || err == EWOULDBLOCK || err == EINTR || err == ENOBUFS;
  }

  Error lost(const char* verb, int err) const {
    Error error = socket_error(fmt::format("{} {} ({} > {})", verb, peer_, local_, remote_), err);
    error.code = ErrorCode::kPeerLost;
    if (err == ECONNRESET || err == EPIPE || err == ECONNABORTED) {
      error.cause = "rank.dead";
      error.hint = "its process ended or gave the operation up: read its own log";
    }
    return error;
  }

  Fd fd_;
  const std::string peer_, local_, remote_;
  const int send_flags_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> make_tcp_stream(Fd fd, std::string peer) {
  return std::make_unique<TcpStream>(std::move(fd), std::move(peer));
}

}  // namespace plumbline
