#include "probes/actions/datagrams.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "transport/traffic/traffic.h"

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
constexpr const char* kMode = "count";

}  // namespace

// One socket and the thread that reads it.
class DatagramHub::Counter {
 public:
  Counter(Fd fd, std::string token, int64_t keep_ms)
      : fd_(std::move(fd)), token_(std::move(token)) {
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
    return {received_, static_cast<int64_t>(tally_.duplicates()), strangers_,
            static_cast<int64_t>(socket_drops(fd_.get()).value_or(0))};
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
    const auto got = receive_datagram(fd_.get(), buffer.data(), buffer.size());
    if (!got || !*got) return false;
    const std::string_view text(buffer.data(), **got);
    const auto line = parse_probe_line(text.substr(0, text.find('\n') + 1));
    const bool ours = line && line->nonce == token_ && line->mode == kMode && line->argument >= 0 &&
                      line->argument < kMaxDatagrams;
    if (!ours) {
      ++strangers_;
      return true;
    }
    tally_.add(static_cast<uint64_t>(line->argument), 0, 0);
    received_ = static_cast<int64_t>(tally_.received());
    return true;
  }

  Fd fd_;
  std::string token_;
  int64_t until_ns_ = 0;
  DatagramTally tally_{kMaxDatagrams};  // of the reader's thread
  int64_t strangers_ = 0;               // of the same
  std::atomic<int64_t> received_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

DatagramEvidence send_datagrams(const PairEnds& ends, const DatagramSettings& settings,
                                const AgentCall& call) {
  DatagramEvidence out;
  const auto fd = open_datagram(ends.from, 0);
  if (!fd) {
    out.error = fd.error().message();
    return out;
  }
  out.rate_per_s = std::clamp<int64_t>(settings.rate_per_s, 1, kMaxRate);
  DatagramLoad load;
  load.gap_ns = kSecond / out.rate_per_s;
  load.count = static_cast<uint64_t>(std::clamp<int64_t>(settings.count, 1, kMaxDatagrams));
  std::string payload;
  const auto fill = [&](uint64_t number, int64_t) -> std::string_view {
    payload = probe_line({settings.token, kMode, static_cast<int64_t>(number)});
    payload.resize(std::max(payload.size(), kDatagramBytes), '.');
    return payload;
  };
  const DatagramsSent sent = send_numbered(fd->get(), &ends.to, load, fill, patience_of(call));
  out.sent = static_cast<int64_t>(sent.sent + sent.refused);
  out.refused = static_cast<int64_t>(sent.refused);
  out.duration_ns = sent.duration_ns;
  if (!sent.status) out.error = sent.status.error().message();
  return out;
}

std::shared_ptr<DatagramHub::Counter> DatagramHub::take(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = counters_.find(id);
  if (found == counters_.end()) return nullptr;
  auto out = std::move(found->second);
  counters_.erase(found);
  return out;
}

Expected<DatagramHub::Opened> DatagramHub::open(const std::string& id, const ListenAddress& at,
                                                int64_t keep_ms) {
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
  auto fd = open_datagram(*address, kReceiveBuffer);  // what does not fit is counted
  if (!fd) return fail(fd.error());
  Opened out{local_address(fd->get()).port(), new_nonce()};
  counters_[id] = std::make_shared<Counter>(std::move(*fd), out.token,
                                            std::clamp<int64_t>(keep_ms, 1, kMaxKeepMs));
  return out;
}

Expected<DatagramHub::Counted> DatagramHub::close(const std::string& id, int64_t expected,
                                                  int64_t settle_ms, const AgentCall& call) {
  const std::shared_ptr<Counter> counter = take(id);
  if (!counter) return fail(ErrorCode::kUsage, "nobody counts datagrams for '" + id + "'");
  const int64_t settle_ns = std::clamp<int64_t>(settle_ms, 0, kMaxSettleMs) * kMillisecond;
  int64_t received = counter->received(), moved_ns = monotonic_ns();
  const auto patience = [&] {
    return received > 0 ? settle_ns : std::min(settle_ns, kSettleForNothing);
  };
  while (counter->received() < expected && monotonic_ns() < moved_ns + patience() && !over(call)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (counter->received() == received) continue;
    received = counter->received();
    moved_ns = monotonic_ns();
  }
  return counter->finish();
}

}  // namespace plumbline
