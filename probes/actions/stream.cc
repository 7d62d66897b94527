#include "probes/actions/stream.h"

#include <netinet/in.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "core/clock.h"
#include "probes/actions/probe_line.h"
#include "probes/actions/tcp_progress.h"

namespace plumbline {
namespace {

constexpr size_t kBlock = 256 << 10;
constexpr int64_t kSampleInterval = 20 * kMillisecond;
constexpr int64_t kMaxDurationMs = 60'000;
constexpr int64_t kMessage = 256;  // bytes, of a paced stream when nothing else is asked for
constexpr int64_t kMaxMessage = 64 << 10, kMaxRate = 100'000;
constexpr int64_t kAnswerPatience = kSecond;  // beyond the stream's own duration

bool would_wait(int err) { return err == EAGAIN || err == EWOULDBLOCK || err == EINTR; }

// The sending end of one stream.
class Sender {
 public:
  Sender(Fd fd, const StreamSettings& settings, const AgentCall& call)
      : fd_(std::move(fd)), settings_(settings), call_(call), zeros_(kBlock), block_(kBlock) {
    paced_ = settings.kind == "paced";
    reads_ = settings.kind == "two_way";
    const int64_t asked = settings.bytes > 0 ? settings.bytes : kMessage;
    message_ = paced_ ? std::min(asked, kMaxMessage) : 0;
    gap_ns_ = kSecond / std::clamp<int64_t>(settings.rate_per_s, 1, kMaxRate);
    limit_ = paced_ || settings.bytes <= 0 ? INT64_MAX : settings.bytes;
    choose_probe_congestion_control(fd_.get());
  }

  StreamEvidence run() {
    begin_ns_ = monotonic_ns();
    const int64_t cpu = thread_cpu_ns();
    const int64_t duration_ns =
        std::clamp<int64_t>(settings_.duration_ms, 1, kMaxDurationMs) * kMillisecond;
    end_ns_ = begin_ns_ + duration_ns;
    bool well = send_all();
    const int64_t sent_ns = monotonic_ns();
    sample();
    const int64_t acked = last_.bytes_acked;
    out_.send_buffer = static_cast<int64_t>(granted_buffer(fd_.get(), SO_SNDBUF));
    const double cpu_s = static_cast<double>(thread_cpu_ns() - cpu);
    out_.cpu_sender = cpu_s / static_cast<double>(std::max<int64_t>(1, sent_ns - begin_ns_));
    out_.kind = settings_.kind;
    out_.bytes = std::min(acked > header_ ? acked - header_ : 0, sent_);
    out_.duration_ns = sent_ns - begin_ns_;
    well = well && await_report(sent_ns);
    if (!well) close_hard(fd_);
    return out_;
  }

  // What went ahead of the stream's own bytes, part of what the kernel counts.
  void set_start(const TcpProgress& start) {
    header_ = start.bytes_acked;
    header_sent_ = start.bytes_sent;
  }

 private:
  bool broken(const char* what) {
    out_.error = socket_error(what, errno).message();
    return false;
  }

  // A deadline of the whole request ends a stream early, like its own duration.
  bool sending() const { return monotonic_ns() < end_ns_ && sent_ < limit_ && !over(call_); }

  bool send_all() {
    int64_t next_ns = begin_ns_;
    while (sending()) {
      const int64_t now = monotonic_ns();
      if (now >= sampled_ns_ + kSampleInterval) sample();
      if (paced_ && unsent_ == 0) {
        if (now < next_ns) {
          // poll counts milliseconds, messages come closer than that
          const int64_t pause = std::min(next_ns, end_ns_) - now;
          const timespec time{0, static_cast<long>(std::min(pause, 20 * kMillisecond))};
          ::nanosleep(&time, nullptr);
          continue;
        }
        unsent_ = message_;
        next_ns = std::max(next_ns + gap_ns_, now - 10 * gap_ns_);  // never makes up for long gaps
      }
      if (!send_some() || (reads_ && !read_some())) return false;
    }
    return true;
  }

  bool send_some() {
    int64_t want = std::min<int64_t>(kBlock, limit_ - sent_);
    if (paced_) want = unsent_;
    const int flags = send_flags() | (paced_ ? own_segments_flag() : 0);
    const ssize_t sent = ::send(fd_.get(), zeros_.data(), static_cast<size_t>(want), flags);
    if (sent < 0 && !would_wait(errno)) return broken("send");
    if (sent > 0) {
      sent_ += sent;
      if (paced_) unsent_ -= sent;
    } else {
      const int64_t left = std::max<int64_t>(kMillisecond, end_ns_ - monotonic_ns());
      const int events = reads_ ? POLLIN | POLLOUT : POLLOUT;
      wait_for(fd_.get(), static_cast<short>(events),
               within(call_, std::min(left, kSampleInterval)));
    }
    return true;
  }

  // The other direction of a two-way stream; its end is what the report stands in.
  bool read_some() {
    const ssize_t got = ::recv(fd_.get(), block_.data(), block_.size(), 0);
    if (got < 0) return would_wait(errno) || broken("receive");
    if (got == 0) {
      ended_ = true;
      return true;
    }
    const auto size = static_cast<size_t>(got);
    tail_.append(block_.data(), size);
    if (tail_.size() > kMaxProbeLine) tail_.erase(0, tail_.size() - kMaxProbeLine);
    return true;
  }

  void sample() {
    sampled_ns_ = monotonic_ns();
    last_ = tcp_progress(fd_.get(), sent_ + header_);
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
  bool await_report(int64_t sent_ns) {
    ::shutdown(fd_.get(), SHUT_WR);
    const AgentCall patience = within(call_, sent_ns - begin_ns_ + kAnswerPatience);
    while (!ended_) {
      if (!wait_for(fd_.get(), POLLIN, patience)) {
        if (paced_) out_.error = "the peer's count of the stream did not come in time";
        return false;
      }
      if (!read_some()) return false;
    }
    last_ = tcp_progress(fd_.get(), sent_ + header_);
    // Late losses count too.
    out_.retransmitted = std::max(out_.retransmitted, last_.retransmitted);
    out_.segments_out = std::max(out_.segments_out, last_.segments_out);
    out_.duplicate_reports = std::max(out_.duplicate_reports, last_.duplicate_reports);
    const size_t begin = tail_.rfind("PLPROBE1 ");
    const auto report = begin == std::string::npos
                            ? std::nullopt
                            : parse_sink_line(std::string_view(tail_).substr(begin));
    if (!report) {
      out_.error = "the peer ended the stream without its count";
      return false;
    }
    out_.bytes = report->bytes;
    out_.segments_in = report->segments;
    if (paced_ && report->segments > 0 && last_.bytes_sent >= 0 && report->bytes == sent_) {
      const int64_t again = last_.bytes_sent - header_sent_ - sent_;
      out_.segments_in =
          arrived_segments(out_.segments_out, report->segments, (again + message_ - 1) / message_,
                           out_.duplicate_reports);
    }
    if (report->duration_ns > 0) {
      out_.duration_ns = report->duration_ns;
      out_.cpu_receiver =
          static_cast<double>(report->cpu_ns) / static_cast<double>(report->duration_ns);
    }
    return true;
  }

  Fd fd_;
  const StreamSettings& settings_;
  const AgentCall& call_;
  std::vector<char> zeros_, block_;
  bool paced_ = false, reads_ = false, ended_ = false;
  int64_t message_ = 0, gap_ns_ = 0, limit_ = 0, unsent_ = 0, sent_ = 0;
  int64_t header_ = 0, header_sent_ = 0;
  int64_t begin_ns_ = 0, end_ns_ = 0, sampled_ns_ = 0;
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

bool echo_once(int fd, const AgentCall& call, int& err) {
  const char message[kEchoBytes] = {};
  if (::send(fd, message, sizeof message, send_flags()) != static_cast<ssize_t>(sizeof message)) {
    err = errno;
    return false;
  }
  size_t back = 0;
  while (back < kEchoBytes) {
    char buffer[kEchoBytes];
    const ssize_t got = ::recv(fd, buffer, kEchoBytes - back, 0);
    if (got > 0) {
      back += static_cast<size_t>(got);
    } else if (got == 0 || !would_wait(errno)) {
      err = got == 0 ? ECONNRESET : errno;
      return false;
    } else if (!wait_for(fd, POLLIN, call)) {
      err = ETIMEDOUT;
      return false;
    }
  }
  return true;
}

Expected<std::vector<int64_t>> measure_round_trips(const PairEnds& ends, int count,
                                                   const AgentCall& call) {
  auto fd = open_service(ends, "echo", 0, call);
  if (!fd) return fail(fd.error());
  std::vector<int64_t> out;
  for (int i = 0; i < count && !over(call); ++i) {
    const int64_t begin = monotonic_ns();
    int err = 0;
    if (!echo_once(fd->get(), call, err)) {
      close_hard(*fd);
      if (out.empty()) return fail(socket_error("echo from " + to_text(ends.to), err));
      break;
    }
    out.push_back(monotonic_ns() - begin);
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
  const std::vector<char> zeros(kBlock);
  const int64_t header = tcp_progress(fd->get(), 0).bytes_acked;
  int64_t sent = 0, moved_ns = monotonic_ns();
  choose_probe_congestion_control(fd->get());
  while (out.acknowledged < bytes && !over(call)) {
    const auto want = static_cast<size_t>(std::min<int64_t>(kBlock, bytes - sent));
    const ssize_t now_sent = want == 0 ? 0 : ::send(fd->get(), zeros.data(), want, send_flags());
    if (now_sent < 0 && !would_wait(errno)) {
      out.error = socket_error("send", errno).message();
      break;
    }
    sent += std::max<ssize_t>(0, now_sent);
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
    if (now_sent > 0) continue;
    const auto events = static_cast<short>(want > 0 ? POLLOUT : 0);
    if (wait_for(fd->get(), events, within(call, 5 * kMillisecond)) && want == 0) {
      out.error = "the connection ended before all was acknowledged";
      break;
    }
  }
  if (out.acknowledged < bytes) close_hard(*fd);
  return out;
}

}  // namespace plumbline
