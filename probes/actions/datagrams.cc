#include "probes/actions/datagrams.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "probes/actions/probe_line.h"
#include "probes/actions/socket_drops.h"
#include "probes/actions/text.h"

namespace plumbline {
namespace {

constexpr size_t kDatagramBytes = 64;
constexpr int64_t kMaxRate = 100'000;  // a second
constexpr int64_t kMaxKeepMs = 120'000;
constexpr int64_t kMaxSettleMs = 2'000;
constexpr int64_t kSettleForNothing = 20 * kMillisecond;  // the sender took its time already
constexpr int kReceiveBuffer = 4 << 20;  // bytes asked for; the system grants what it allows
constexpr int kReaderSliceMs = 10;       // how soon the reader notices that it is to end
constexpr int64_t kReadAtOnce = 1024;
constexpr int64_t kLongestPause = 20 * kMillisecond;
constexpr const char* kMode = "count";

bool would_wait(int err) { return err == EAGAIN || err == EWOULDBLOCK || err == EINTR; }
// This host's own filter or queue threw it away; the next one may pass.
bool turned_away(int err) { return err == EPERM || err == ENOBUFS; }

Expected<Fd> open_bound(const SocketAddress& address, const std::string& ip) {
  Fd fd(::socket(address.family(), SOCK_DGRAM, 0));
  if (!fd.valid() || !make_nonblocking(fd.get())) {
    return fail(socket_error("open a UDP socket", errno));
  }
  if (address.length != 0 && ::bind(fd.get(), address.get(), address.length) != 0) {
    return fail(socket_error("bind a UDP socket to " + ip, errno));
  }
  return fd;
}

void pause_until(int64_t until_ns) {
  const int64_t pause = std::min(until_ns - monotonic_ns(), kLongestPause);
  const timespec time{0, static_cast<long>(std::max<int64_t>(0, pause))};
  ::nanosleep(&time, nullptr);
}

// One socket and the thread that reads it.
class Counter {
 public:
  Counter(Fd fd, std::string token, int64_t keep_ms)
      : fd_(std::move(fd)), token_(std::move(token)), seen_(static_cast<size_t>(kMaxDatagrams)) {
    until_ns_ = monotonic_ns() + keep_ms * kMillisecond;
    thread_ = std::thread([this] { read(); });
  }
  ~Counter() { end(); }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  int64_t received() const { return received_; }
  // Ends the reader first: it takes what has arrived, however late it was given a processor.
  DatagramHub::Counted finish() {
    end();
    return {received_, duplicates_, strangers_, socket_drops(fd_.get())};
  }

 private:
  void end() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
  }

  void read() {
    while (!ending_ && monotonic_ns() < until_ns_) {
      pollfd item{fd_.get(), POLLIN, 0};
      if (::poll(&item, 1, kReaderSliceMs) <= 0) continue;
      for (int64_t i = 0; i < kReadAtOnce && read_one(); ++i) {
      }
    }
    for (int64_t i = 0; i < kMaxDatagrams && read_one(); ++i) {
    }
  }

  bool read_one() {
    std::array<char, kMaxProbeLine> buffer;
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0) return errno == EINTR;
    const std::string_view text(buffer.data(), static_cast<size_t>(got));
    const auto line = parse_probe_line(text.substr(0, text.find('\n') + 1));
    const bool ours = line && line->nonce == token_ && line->mode == kMode && line->argument >= 0 &&
                      line->argument < kMaxDatagrams;
    if (!ours) {
      ++strangers_;
      return true;
    }
    const auto number = static_cast<size_t>(line->argument);
    ++(seen_[number] ? duplicates_ : received_);
    seen_[number] = true;
    return true;
  }

  Fd fd_;
  std::string token_;
  int64_t until_ns_ = 0;
  std::vector<bool> seen_;  // of the reader's thread
  std::atomic<int64_t> received_{0}, duplicates_{0}, strangers_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace

DatagramEvidence send_datagrams(const PairEnds& ends, const DatagramSettings& settings,
                                const AgentCall& call) {
  DatagramEvidence out;
  const auto fd = open_bound(ends.from, ends.from_ip);
  if (!fd) {
    out.error = fd.error().message();
    return out;
  }
  const int64_t count = std::clamp<int64_t>(settings.count, 1, kMaxDatagrams);
  out.rate_per_s = std::clamp<int64_t>(settings.rate_per_s, 1, kMaxRate);
  const int64_t gap_ns = kSecond / out.rate_per_s;
  const int64_t begin_ns = monotonic_ns();
  int64_t next_ns = begin_ns;
  while (out.sent < count && !over(call)) {
    const int64_t now = monotonic_ns();
    if (now < next_ns) {
      pause_until(next_ns);
      continue;
    }
    std::string payload = probe_line({settings.token, kMode, out.sent});
    payload.resize(std::max(payload.size(), kDatagramBytes), '.');
    const ssize_t sent = ::sendto(fd->get(), payload.data(), payload.size(), send_flags(),
                                  ends.to.get(), ends.to.length);
    if (sent < 0 && would_wait(errno)) {
      wait_for(fd->get(), POLLOUT, within(call, kLongestPause));
      continue;
    }
    if (sent < 0 && !turned_away(errno)) {
      out.error = socket_error("send a datagram to " + to_text(ends.to), errno).message();
      break;
    }
    ++out.sent;
    if (sent < 0) ++out.refused;
    next_ns = std::max(next_ns + gap_ns, now - 10 * gap_ns);  // never makes up for long gaps
  }
  out.duration_ns = monotonic_ns() - begin_ns;
  return out;
}

class DatagramHub::Impl {
 public:
  Expected<Opened> open(const std::string& id, const ListenAddress& at, int64_t keep_ms) {
    const auto address = make_socket_address(at.ip, 0, at.interface);
    if (!address) return fail(address.error());
    const std::lock_guard lock(mutex_);
    if (counters_.count(id) != 0) {
      return fail(ErrorCode::kUsage, "'" + id + "' counts datagrams already");
    }
    if (counters_.size() >= kMaxDatagramSockets) {
      return fail(ErrorCode::kUsage,
                  fmt::format("{} sockets for datagrams are open already", counters_.size()));
    }
    auto fd = open_bound(*address, at.ip);
    if (!fd) return fail(fd.error());
    // Best effort: what does not fit is counted.
    ::setsockopt(fd->get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
    Opened out{local_address(fd->get()).port(), new_nonce()};
    counters_[id] = std::make_shared<Counter>(std::move(*fd), out.token,
                                              std::clamp<int64_t>(keep_ms, 1, kMaxKeepMs));
    return out;
  }

  Expected<Counted> close(const std::string& id, int64_t expected, int64_t settle_ms,
                          const AgentCall& call) {
    const std::shared_ptr<Counter> counter = take(id);
    if (!counter) return fail(ErrorCode::kUsage, "nobody counts datagrams for '" + id + "'");
    const int64_t settle_ns = std::clamp<int64_t>(settle_ms, 0, kMaxSettleMs) * kMillisecond;
    int64_t received = counter->received(), moved_ns = monotonic_ns();
    const auto patience = [&] {
      return received > 0 ? settle_ns : std::min(settle_ns, kSettleForNothing);
    };
    while (counter->received() < expected && monotonic_ns() < moved_ns + patience() &&
           !over(call)) {
      pause_until(monotonic_ns() + kMillisecond);
      if (counter->received() == received) continue;
      received = counter->received();
      moved_ns = monotonic_ns();
    }
    return counter->finish();
  }

 private:
  std::shared_ptr<Counter> take(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = counters_.find(id);
    if (found == counters_.end()) return nullptr;
    auto out = std::move(found->second);
    counters_.erase(found);
    return out;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Counter>> counters_;
};

DatagramHub::DatagramHub() : impl_(std::make_unique<Impl>()) {}
DatagramHub::~DatagramHub() = default;

Expected<DatagramHub::Opened> DatagramHub::open(const std::string& id, const ListenAddress& at,
                                                int64_t keep_ms) {
  return impl_->open(id, at, keep_ms);
}
Expected<DatagramHub::Counted> DatagramHub::close(const std::string& id, int64_t expected,
                                                  int64_t settle_ms, const AgentCall& call) {
  return impl_->close(id, expected, settle_ms, call);
}

}  // namespace plumbline
