#include "transport/tcp/tcp_stream.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/host/nics.h"
#include "transport/tcp/socket.h"

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer notes what send() reads when it returns. The other end may have answered by then,
// and another thread written over what had arrived, which would be called a race. So it notes
// nothing of its own, and note_reads() does before each call.
extern "C" void __tsan_read_range(void* begin, long bytes);
extern "C" const char* __tsan_default_options() { return "intercept_send=0"; }
#endif

namespace plumbline {
namespace {

#if defined(__SANITIZE_THREAD__)
void note_reads(std::span<const iovec> buffers) {
  for (const iovec& buffer : buffers) {
    __tsan_read_range(buffer.iov_base, static_cast<long>(buffer.iov_len));
  }
}
#else
void note_reads(std::span<const iovec> /*buffers*/) {}
#endif

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
  note_reads(buffers);
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
    writes_.store(writes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    const ssize_t done = send_buffers(fd_.get(), buffers, send_flags_);
    if (done >= 0) return static_cast<size_t>(done);
    if (would_block(errno)) return size_t{0};
    return fail(lost("send to", errno));
  }

  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    // A read of nothing would look like the end of the stream.
    if (nothing_in(buffers)) return size_t{0};
    ++reads_;
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

  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    poll.push_back(poll_entry(fd_.get(), reads, writes));
    return true;
  }
  bool told_by_poll() const override { return true; }

  StreamStats stats() const override {
    StreamStats stats;
    stats.local = local_;
    stats.remote = remote_;
    stats.writes = writes_.load(std::memory_order_relaxed);
    stats.reads = reads_;
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
  std::atomic<uint64_t> writes_ = 0;  // system calls; another thread may write
  uint64_t reads_ = 0;
  bool closed_ = false;
};

constexpr int kPortAttempts = 20;  // to find one port that is free on all addresses
constexpr int kPortLookMs = 20;

bool is_set(const std::string& text) { return !text.empty() && text != "auto"; }

// Keeps the addresses of one interface; asks the system where the host file names none.
Expected<std::vector<RankAddress>> on_interface(std::span<const RankAddress> addresses,
                                                const std::string& interface) {
  std::vector<RankAddress> kept;
  const Expected<std::vector<Nic>> nics = list_nics();
  const auto belongs = [&](const RankAddress& address) {
    if (!address.interface.empty()) return address.interface == interface;
    if (!nics) return false;
    return std::any_of(nics->begin(), nics->end(), [&](const Nic& nic) {
      return nic.name == interface &&
             std::any_of(nic.addresses.begin(), nic.addresses.end(),
                         [&](const NicAddress& own) { return own.ip == address.ip; });
    });
  };
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(kept), belongs);
  if (kept.empty()) {
    return fail(ErrorCode::kConfig,
                fmt::format("none of this rank's data addresses is on interface \"{}\"", interface),
                "correct ifname, or leave it empty to use all data addresses");
  }
  return kept;
}

// Of the cards that bear them, where the system tells. A single address has nothing to be compared
// with.
void add_speeds(std::vector<RankAddress>& addresses) {
  if (addresses.size() < 2) return;
  const Expected<std::vector<Nic>> nics = list_nics();
  if (!nics) return;
  for (const Nic& nic : *nics) {
    for (const NicAddress& own : nic.addresses) {
      for (RankAddress& address : addresses) {
        if (address.ip == own.ip) address.speed_bps = nic.speed_bps.value_or(0);
      }
    }
  }
}

bool wildcard(const std::string& ip) { return ip == "0.0.0.0" || ip == "::"; }

// What to publish, after the options have had their say.
Expected<std::vector<RankAddress>> published(std::span<const RankAddress> addresses,
                                             const OptionSet& options) {
  std::vector<RankAddress> list;
  for (const RankAddress& address : addresses) {
    if (std::find(list.begin(), list.end(), address) == list.end()) list.push_back(address);
  }
  const std::string& interface = options.text("ifname");
  if (is_set(interface)) {
    Expected<std::vector<RankAddress>> kept = on_interface(list, interface);
    if (!kept) return kept;
    list = std::move(*kept);
  }
  const std::string& only = options.text("listen_addr");
  if (!is_set(only) || wildcard(only)) return list;
  std::erase_if(list, [&](const RankAddress& address) { return address.ip != only; });
  if (list.empty()) list.push_back({only, -1, is_set(interface) ? interface : std::string()});
  return list;
}

// One socket per address; with port 0 the first decides for all.
Expected<std::vector<Fd>> bind_all(std::span<const RankAddress> addresses, uint16_t port,
                                   const SocketOptions& options) {
  std::vector<Fd> sockets;
  std::vector<SocketAddress> bound;
  for (const RankAddress& entry : addresses) {
    Expected<SocketAddress> address = make_socket_address(entry.ip, port, entry.interface);
    if (!address) return fail(address.error());
    const auto same = [&](const SocketAddress& other) {
      return other.same_ip(*address) && !address->link_local();
    };
    if (std::any_of(bound.begin(), bound.end(), same)) continue;
    Expected<Fd> fd = listen_on(*address, options);
    if (!fd) return fail(fd.error());
    port = local_address(fd->get()).port();
    bound.push_back(*address);
    sockets.push_back(std::move(*fd));
  }
  return sockets;
}

}  // namespace

std::unique_ptr<ByteStream> make_tcp_stream(Fd fd, std::string peer) {
  return std::make_unique<TcpStream>(std::move(fd), std::move(peer));
}

Expected<std::unique_ptr<TcpListener>> TcpListener::open(std::span<const RankAddress> addresses,
                                                         uint16_t port, const OptionSet& options,
                                                         Deadline patience) {
  Expected<std::vector<RankAddress>> publish = published(addresses, options);
  if (!publish) return fail(publish.error());
  if (publish->empty()) {
    return fail(ErrorCode::kConfig, "listen: this rank has no data address",
                "give the host a data address in the host file");
  }
  add_speeds(*publish);
  std::unique_ptr<TcpListener> listener(new TcpListener);
  listener->endpoint_.addresses = *publish;
  const std::string& only = options.text("listen_addr");
  const std::vector<RankAddress> listen =
      wildcard(only) ? std::vector<RankAddress>{{only, -1, {}}} : *publish;
  for (int attempt = 1;; ++attempt) {
    Expected<std::vector<Fd>> sockets = bind_all(listen, port, socket_options(options));
    if (sockets) {
      listener->sockets_ = std::move(*sockets);
      break;
    }
    if (sockets.error().code != ErrorCode::kBusy) return fail(sockets.error());
    if (port == 0 ? attempt == kPortAttempts : patience.passed()) return fail(sockets.error());
    if (port != 0) std::this_thread::sleep_for(std::chrono::milliseconds(kPortLookMs));
  }
  listener->endpoint_.port = local_address(listener->sockets_.front().get()).port();
  return listener;
}

}  // namespace plumbline
