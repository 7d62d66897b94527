#include <sys/ioctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "collectives/links/link_session.h"
#include "core/stats/stats.h"
#include "transport/tcp/tcp_stream.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

constexpr size_t kChunk = 128u << 10;       // bytes per write and read of a stream
constexpr int64_t kDrainMs = 3000;          // for what is under way when a stream's time is over
constexpr int64_t kReportMs = 3000;         // for the receiver's report after that
constexpr uint64_t kMostRoundTrips = 2000;  // twice what a p99 needs
constexpr uint64_t kWantedRoundTrips = 1000;
constexpr size_t kWarmupRoundTrips = 20;
constexpr int64_t kLatencyStretch = 4;  // at most so many times the asked time for a p99
constexpr size_t kMostIntervals = 100'000;
constexpr int64_t kLoadedGapNs = 500'000;  // between round trips under load: they only look

LinkRtt rtt_of(const std::vector<int64_t>& samples) {
  const TimeSummary summary = summarize(samples);
  return {summary.n, summary.min, summary.p50, summary.p99, summary.max};
}

// The initiator's end of the round trips.
class Pinger {
 public:
  Pinger(int fd, const FlowSettings& settings, Deadline deadline)
      : fd_(fd),
        patience_(settings.wait.until(deadline)),
        message_(std::max<size_t>(settings.message_bytes, 1), '\0') {}

  // Until more(samples so far) says no.
  template <typename More>
  Status many(std::vector<int64_t>& samples, int64_t gap_ns, const More& more) {
    while (more(samples.size())) {
      const Expected<int64_t> ns = round_trip(fd_, message_, patience_);
      if (!ns) return fail(ns.error());
      samples.push_back(*ns);
      if (gap_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(gap_ns));
    }
    return {};
  }

  Status stop() {
    message_.front() = kLastMessage;
    return send_all(fd_, message_.data(), message_.size(), patience_);
  }

  // Warm-up, then idle round trips: enough for a p99 where the time allows.
  Status idle(std::vector<int64_t>& samples, int64_t time_ns) {
    const Status warm = many(samples, 0, [](size_t have) { return have < kWarmupRoundTrips; });
    if (!warm) return warm;
    samples.clear();
    const int64_t start = monotonic_ns();
    return many(samples, 0, [&](size_t have) {
      const int64_t elapsed = monotonic_ns() - start;
      if (have >= kMostRoundTrips || elapsed >= kLatencyStretch * time_ns) return have == 0;
      return elapsed < time_ns || have < kWantedRoundTrips;
    });
  }

 private:
  int fd_;
  Patience patience_;
  std::string message_;
};

// The other end.
Status answer(int fd, const FlowSettings& settings, Deadline deadline) {
  EchoSettings echo;
  echo.bytes = std::max<size_t>(settings.message_bytes, 1);
  echo.heeds_last = true;
  return echo_messages(fd, echo, settings.wait.until(deadline));
}

// Streams move large chunks: there is nothing to gain by spinning, and others want the cores.
Patience patient(const Patience& wait) {
  Patience out = wait;
  out.spin_ns = 0;
  return out;
}

Status send_for(int fd, int64_t time_ns, const Patience& wait) {
  StreamLoad load;
  load.block = kChunk;
  StreamSource source(fd, load);
  // The time begins with the first block: a thread that is kept waiting for a core at its beginning
  // would else send nothing, and the link be taken for one that carries nothing.
  if (const Expected<bool> first = source.step(); !first) return fail(first.error());
  source.end_at(Deadline::after_ns(time_ns));
  const Status sent = source.run(wait);
  if (sent) ::shutdown(fd, SHUT_WR);
  return sent;
}

// Bytes that lie here already and can be read at once.
uint64_t waiting_bytes(int fd) {
  int bytes = 0;
  return ::ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

// What one connection brought.
struct Received {
  uint64_t bytes = 0;  // within the time
  int64_t elapsed_ns = 0;
  std::vector<uint64_t> series;
  Status status;
};

void receive_stream(int fd, int64_t time_ns, const Patience& wait, Received& out) {
  std::vector<char> chunk(kChunk);
  const int64_t interval = series_interval_ns(time_ns);
  // The first byte may come only after the sender's idle round trips.
  Patience patience = wait.until(Deadline::after_ns(2 * time_ns + kDrainMs * kMillisecond));
  // The time begins when what had come before this thread looked has been read: bytes that came
  // while it was kept waiting for a core did not come within it.
  int64_t first = 0;
  uint64_t early = 0, early_left = 0;
  while (true) {
    const Expected<size_t> got = receive_some(fd, chunk.data(), chunk.size(), patience);
    const bool ended = !got || *got == 0;
    // All of it had come before: then it is all that is known, for the whole of the time.
    if (ended && out.bytes == 0 && early > 0) {
      out.bytes = early;
      out.series = {early};
      first = 0;
    }
    if (!got) {
      // The time is over and the rest still waits in buffers on the way: what came, counts.
      if (got.error().code != ErrorCode::kTimeout || out.bytes == 0) out.status = fail(got.error());
      out.elapsed_ns = time_ns;
      return;
    }
    const int64_t now = monotonic_ns();
    if (*got == 0) {
      // Not the last byte's time: a stream that stalled until the end was slow, not short.
      out.elapsed_ns = std::min(time_ns, now - first);
      return;
    }
    if (first == 0) {
      if (early == 0) early = early_left = *got + waiting_bytes(fd);
      early_left -= std::min<uint64_t>(early_left, *got);
      if (early_left > 0) continue;
      first = now;
      patience.deadline = Deadline::at_ns(first + time_ns + kDrainMs * kMillisecond);
      continue;
    }
    const int64_t since = now - first;
    if (since > time_ns) continue;
    out.bytes += *got;
    const auto index = static_cast<size_t>(since / interval);
    if (out.series.size() <= index) out.series.resize(index + 1, 0);
    out.series[index] += *got;
  }
}

std::vector<uint64_t> report_of(const Received& received) {
  std::vector<uint64_t> numbers = {received.bytes, static_cast<uint64_t>(received.elapsed_ns)};
  numbers.insert(numbers.end(), received.series.begin(), received.series.end());
  return numbers;
}

Status take_report(const std::vector<uint64_t>& numbers, int fd, LinkResult& result) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (numbers.size() < 2 || numbers[0] > kMost || numbers[1] > kMost) {
    return fail(ErrorCode::kProtocol, "the receiver's report makes no sense");
  }
  LinkStream stream;
  stream.bytes = numbers[0];
  stream.series.assign(numbers.begin() + 2, numbers.end());
  StreamStats stats;
  read_tcp_stats(fd, stats);
  stream.retransmits = stats.retransmits;
  const auto elapsed = static_cast<int64_t>(numbers[1]);
  if (stream.bytes == 0 || elapsed <= 0) {
    return fail(
        ErrorCode::kTimeout, "no stream arrived although the connection stands",
        "large packets may vanish (check the MTU of both ends and of what is between), or the "
        "receiver got no core");
  }
  result.rate_Bps = result.rate_Bps.value_or(0) +
                    static_cast<double>(stream.bytes) / static_cast<double>(elapsed) * 1e9;
  result.elapsed_ns = std::max(result.elapsed_ns, elapsed);
  result.streams.push_back(std::move(stream));
  return {};
}

// Idle and loaded round trips on the control connection; `streaming` turns false when the streams
// have ended.
Status loaded_round_trips(Pinger& pinger, const std::atomic<bool>& streaming, LinkResult& result) {
  std::vector<int64_t> samples;
  const Status done = pinger.many(samples, kLoadedGapNs, [&](size_t have) {
    return streaming.load(std::memory_order_relaxed) && have < kMostRoundTrips * 10;
  });
  if (done && !samples.empty()) result.loaded_rtt = rtt_of(samples);
  return done;
}

}  // namespace

int64_t series_interval_ns(int64_t time_ns) {
  return std::clamp<int64_t>(time_ns / 5, kMillisecond, 100 * kMillisecond);
}

int64_t flow_limit_ms(int64_t time_ns) {
  return kLatencyStretch * time_ns / kMillisecond + 2 * (kDrainMs + kReportMs);
}

Status latency_from(LinkSession& session, const FlowSettings& settings, LinkResult& result) {
  const Deadline deadline = Deadline::after_ms(flow_limit_ms(settings.time_ns));
  Pinger pinger(session.control.get(), settings, deadline);
  std::vector<int64_t> samples;
  Status done = pinger.idle(samples, settings.time_ns);
  if (done) done = pinger.stop();
  if (done) result.rtt = rtt_of(samples);
  return done;
}

Status latency_to(LinkSession& session, const FlowSettings& settings) {
  return answer(session.control.get(), settings,
                Deadline::after_ms(flow_limit_ms(settings.time_ns)));
}

Status streams_from(LinkSession& session, const FlowSettings& settings, LinkResult& result) {
  const Patience wait = patient(settings.wait);
  const Deadline deadline = Deadline::after_ms(flow_limit_ms(settings.time_ns));
  Pinger pinger(session.control.get(), settings, deadline);
  if (settings.loaded) {
    std::vector<int64_t> samples;
    if (const Status done = pinger.idle(samples, settings.time_ns / kLatencyStretch); !done) {
      return done;
    }
    result.rtt = rtt_of(samples);
  }
  std::vector<Status> sent(session.data.size());
  std::vector<std::thread> threads;
  std::atomic<size_t> running{session.data.size()};
  std::atomic<bool> streaming{true};
  for (size_t i = 0; i < session.data.size(); ++i) {
    threads.emplace_back([&, i] {
      sent[i] = send_for(session.data[i].get(), settings.time_ns, wait);
      if (--running == 0) streaming = false;
    });
  }
  Status done;
  if (settings.loaded) done = loaded_round_trips(pinger, streaming, result);
  for (std::thread& thread : threads) thread.join();
  if (settings.loaded && done) done = pinger.stop();
  for (const Status& status : sent) {
    if (done && !status) done = status;
  }
  result.interval_ns = series_interval_ns(settings.time_ns);
  for (size_t i = 0; done && i < session.data.size(); ++i) {
    const auto report =
        receive_numbers(session.control.get(), kMostIntervals, wait.until(deadline));
    done = report ? take_report(*report, session.data[i].get(), result) : fail(report.error());
  }
  if (!done) {
    result.rate_Bps.reset();
    result.streams.clear();
  }
  return done;
}

Status streams_to(LinkSession& session, const FlowSettings& settings) {
  const Patience wait = patient(settings.wait);
  const Deadline deadline = Deadline::after_ms(flow_limit_ms(settings.time_ns));
  std::vector<Received> received(session.data.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < session.data.size(); ++i) {
    threads.emplace_back(
        [&, i] { receive_stream(session.data[i].get(), settings.time_ns, wait, received[i]); });
  }
  Status done;
  if (settings.loaded) done = answer(session.control.get(), settings, deadline);
  for (std::thread& thread : threads) thread.join();
  for (const Received& one : received) {
    if (done) done = send_numbers(session.control.get(), report_of(one), wait.until(deadline));
  }
  return done;
}

}  // namespace plumbline
