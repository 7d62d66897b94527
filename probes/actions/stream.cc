#include "probes/actions/stream.h"

#include <netinet/in.h>
#include <poll.h>

#include <algorithm>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/platform.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

constexpr int64_t kSampleInterval = 20 * kMillisecond;
constexpr int64_t kMaxDurationMs = 60'000;
constexpr int64_t kMessage = 256;  // bytes, of a paced stream when nothing else is asked for
constexpr int64_t kMaxMessage = 64 << 10, kMaxRate = 100'000;
constexpr int64_t kAnswerPatience = kSecond;  // beyond the stream's own duration

StreamLoad load_of(const StreamSettings& settings) {
  StreamLoad load;
  load.until = Deadline::after_ms(std::clamp<int64_t>(settings.duration_ms, 1, kMaxDurationMs));
  if (settings.kind == "paced") {
    load.message_bytes = std::min(settings.bytes > 0 ? settings.bytes : kMessage, kMaxMessage);
    load.gap_ns = kSecond / std::clamp<int64_t>(settings.rate_per_s, 1, kMaxRate);
    load.message_flags = own_segments_flag();
  } else if (settings.bytes > 0) {
    load.bytes = settings.bytes;
  }
  return load;
}

// The sending end of one stream.
class Sender {
 public:
  Sender(Fd fd, const StreamSettings& settings, const AgentCall& call)
      : fd_(std::move(fd)),
        settings_(settings),
        call_(call),
        paced_(settings.kind == "paced"),
        reads_(settings.kind == "two_way") {
    choose_probe_congestion_control(fd_.get());
  }

  StreamEvidence run() {
    const int64_t begin_ns = monotonic_ns(), cpu = thread_cpu_ns();
    const StreamLoad load = load_of(settings_);
    StreamSource source(fd_.get(), load);
    // A deadline of the whole request ends a stream early, like its own duration.
    Status well = source.run(
        patience_of(call_), [&] { return look(source.sent()); },
        static_cast<short>(reads_ ? POLLIN : 0));
    const int64_t sent_ns = monotonic_ns();
    sample(source.sent());
    const int64_t acked = last_.bytes_acked;
    out_.send_buffer = static_cast<int64_t>(granted_buffer(fd_.get(), SO_SNDBUF));
    const double cpu_s = static_cast<double>(thread_cpu_ns() - cpu);
    out_.cpu_sender = cpu_s / static_cast<double>(std::max<int64_t>(1, sent_ns - begin_ns));
    out_.kind = settings_.kind;
    out_.bytes = std::min(acked > header_ ? acked - header_ : 0, source.sent());
    out_.duration_ns = sent_ns - begin_ns;
    bool reported = false;
    if (well) {
      const AgentCall patience = within(call_, sent_ns - begin_ns + kAnswerPatience);
      well = await_report(source.sent(), load.message_bytes, patience_of(patience), reported);
    }
    if (!well) out_.error = well.error().message();
    if (!reported) close_hard(fd_);
    return out_;
  }

  // What went ahead of the stream's own bytes, part of what the kernel counts.
  void set_start(const TcpProgress& start) {
    header_ = start.bytes_acked;
    header_sent_ = start.bytes_sent;
  }

 private:
  // Between two writes.
  Status look(int64_t sent) {
    if (monotonic_ns() >= sampled_ns_ + kSampleInterval) sample(sent);
    if (!reads_) return {};
    const auto got = receive_now(fd_.get(), block_.data(), block_.size());
    if (!got) return fail(got.error());
    if (*got) took(**got);
    return {};
  }

  // Of the other direction, whose end is what the report stands in.
  void took(size_t size) {
    ended_ = ended_ || size == 0;
    tail_.append(block_.data(), size);
    if (tail_.size() > kMaxProbeLine) tail_.erase(0, tail_.size() - kMaxProbeLine);
  }

  void sample(int64_t sent) {
    sampled_ns_ = monotonic_ns();
    last_ = tcp_progress(fd_.get(), sent + header_);
    out_.segments_out = last_.segments_out;
    out_.retransmitted = last_.retransmitted;
    out_.duplicate_reports = last_.duplicate_reports;
    out_.rtt_ns = last_.rtt_ns;
    out_.rtt_min_ns = last_.rtt_min_ns;
    out_.receive_window = std::max(out_.receive_window, last_.peer_window);
    out_.limited_by_receiver = last_.limited_by_receiver;
    out_.limited_by_buffer = last_.limited_by_buffer;
  }

  // What the sink says at its end. When it does not come in time, what the kernel counted stands;
  // a paced stream, which no link holds up, then met trouble on its way.
  Status await_report(int64_t sent, int64_t message, const Patience& patience, bool& reported) {
    ::shutdown(fd_.get(), SHUT_WR);
    while (!ended_) {
      const auto got = receive_some(fd_.get(), block_.data(), block_.size(), patience);
      if (!got && got.error().sys_errno != 0) return fail(got.error());
      if (!got && !paced_) return {};
      if (!got) {
        return fail(ErrorCode::kTimeout, "the peer's count of the stream did not come in time");
      }
      took(*got);
    }
    last_ = tcp_progress(fd_.get(), sent + header_);
    // Late losses count too.
    out_.retransmitted = std::max(out_.retransmitted, last_.retransmitted);
    out_.segments_out = std::max(out_.segments_out, last_.segments_out);
    out_.duplicate_reports = std::max(out_.duplicate_reports, last_.duplicate_reports);
    const size_t begin = tail_.rfind("PLPROBE1 ");
    const auto report = begin == std::string::npos
                            ? std::nullopt
                            : parse_sink_line(std::string_view(tail_).substr(begin));
    if (!report) {
      return fail(ErrorCode::kProtocol, "the peer ended the stream without its count");
    }
    reported = true;
    out_.bytes = report->bytes;
    out_.segments_in = report->segments;
    if (paced_ && report->segments > 0 && last_.bytes_sent >= 0 && report->bytes == sent) {
      const int64_t again = last_.bytes_sent - header_sent_ - sent;
      out_.segments_in = arrived_segments(out_.segments_out, report->segments,
                                          (again + message - 1) / message, out_.duplicate_reports);
    }
    if (report->duration_ns > 0) {
      out_.duration_ns = report->duration_ns;
      out_.cpu_receiver =
          static_cast<double>(report->cpu_ns) / static_cast<double>(report->duration_ns);
    }
    return {};
  }

  Fd fd_;
  const StreamSettings& settings_;
  const AgentCall& call_;
  const bool paced_, reads_;
  std::vector<char> block_ = std::vector<char>(256 << 10);
  bool ended_ = false;
  int64_t header_ = 0, header_sent_ = 0, sampled_ns_ = 0;
  std::string tail_;
  TcpProgress last_;
  StreamEvidence out_;
};

StreamEvidence no_stream(const StreamSettings& settings, const std::string& error) {
  StreamEvidence out;
  out.kind = settings.kind;
  out.error = error;
  return out;
}

}  // namespace

StreamEvidence run_stream(const PairEnds& ends, const StreamSettings& settings,
                          const AgentCall& call) {
  std::string mode = "sink";
  if (settings.kind == "two_way") mode = "both";
  if (settings.kind == "paced") mode = "paced";
  if (mode == "sink" && settings.kind != "one_way") {
    return no_stream(settings, "there is no kind of stream '" + settings.kind + "'");
  }
  auto fd = open_service(ends, mode, settings.duration_ms, call);
  if (!fd) return no_stream(settings, fd.error().message());
  const TcpProgress start = tcp_progress(fd->get(), 0);
  Sender sender(std::move(*fd), settings, call);
  sender.set_start(start);
  return sender.run();
}

int64_t arrived_segments(int64_t sent, int64_t counted, int64_t resent_messages,
                         int64_t duplicates) {
  const int64_t lost = std::max<int64_t>(0, resent_messages - std::max<int64_t>(0, duplicates));
  return std::max(counted, sent - lost);
}

Expected<std::vector<int64_t>> measure_round_trips(const PairEnds& ends, int count,
                                                   const AgentCall& call) {
  auto fd = open_service(ends, "echo", 0, call);
  if (!fd) return fail(fd.error());
  std::vector<int64_t> out;
  std::string message(kEchoBytes, '\0');
  for (int i = 0; i < count && !over(call); ++i) {
    const Expected<int64_t> ns = round_trip(fd->get(), message, patience_of(call));
    if (!ns) {
      close_hard(*fd);
      if (!out.empty()) break;
      Error error = ns.error();
      error.what = "echo from " + to_text(ends.to) + ": " + error.what;
      return fail(error);
    }
    out.push_back(*ns);
  }
  return out;
}

TransferResult transfer(const PairEnds& ends, int64_t bytes, int64_t max_stall_ns,
                        const AgentCall& call) {
  TransferResult out;
  auto fd = open_service(ends, "sink", 0, call);
  if (!fd) {
    out.error = fd.error().message();
    return out;
  }
  const int64_t header = tcp_progress(fd->get(), 0).bytes_acked;
  int64_t moved_ns = monotonic_ns();
  choose_probe_congestion_control(fd->get());
  StreamLoad load;
  load.bytes = bytes;
  StreamSource source(fd->get(), load);
  while (out.acknowledged < bytes && !over(call)) {
    const bool all = source.done();
    const Expected<bool> moved = all ? Expected<bool>(false) : source.step();
    if (!moved) {
      out.error = moved.error().message();
      break;
    }
    const int64_t sent = source.sent();
    const TcpProgress progress = tcp_progress(fd->get(), sent + header);
    const int64_t acknowledged = std::clamp<int64_t>(progress.bytes_acked - header, 0, sent);
    const int64_t now = monotonic_ns();
    out.stalled_ns = std::max(out.stalled_ns, now - moved_ns);
    if (acknowledged > out.acknowledged) {
      out.acknowledged = acknowledged;
      moved_ns = now;
      out.packet_bytes = progress.packet_bytes;
    }
    if (now - moved_ns > max_stall_ns) break;
    // An acknowledgement wakes nobody, so it is looked for every few milliseconds.
    if (*moved) continue;
    const auto events = static_cast<short>(all ? 0 : POLLOUT);
    if (wait_for(fd->get(), events, within(call, 5 * kMillisecond)) && all) {
      out.error = "the connection ended before all was acknowledged";
      break;
    }
  }
  if (out.acknowledged < bytes) close_hard(*fd);
  return out;
}

}  // namespace plumbline
