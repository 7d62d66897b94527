
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <string>

#include "core/clock.h"
#include "probes/actions/ends.h"
#include "probes/actions/platform.h"
#include "probes/actions/stream.h"
#include "probes/icmp_error.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

constexpr int kUdpHeader = 8;
constexpr int kMaxPacket = 65535;
constexpr int kSmallest = 576, kSmallestV6 = 1280;  // every path takes these (RFC 791, RFC 8200)
constexpr int kTries = 3;                           // of one size before small ones are asked
constexpr int kMostTries = 40;
// A size counts as lost when the smallest, sent as often, would all be lost with this probability.
constexpr double kByChance = 1e-4;
constexpr int kSmallSample = 10;
constexpr int kFirstTries = 5;  // of the smallest: is anything let through?
constexpr int64_t kFirstPatience = 1500 * kMillisecond;  // for an answer to any of those
// For an answer to the first try of a size; each further try waits longer.
constexpr int64_t kMinWait = 15 * kMillisecond, kMaxWait = 200 * kMillisecond;
constexpr int64_t kWaitRoundTrips = 8;
constexpr int64_t kMaxStall = 1500 * kMillisecond;  // several time-outs in a row

class Sweep {
 public:
  Sweep(int fd, int family, MtuEvidence& out, const AgentCall& call)
      : fd_(fd), header_(ip_header_bytes(family) + kUdpHeader), out_(out), call_(call) {}

  enum class Fate { kDelivered, kTooLarge, kLost, kRefused };

  // The smallest size: is anything let through? Sent several times within `patience_ns`; an answer
  // to any of them will do, so that a far or busy peer has all of that time.
  Fate try_smallest(int packet, int64_t patience_ns) {
    smallest_ = packet;
    Fate fate = Fate::kLost;
    for (int i = 0; i < kFirstTries && fate == Fate::kLost && !over(call_); ++i) {
      fate = send_one(packet, patience_ns / kFirstTries, true);
      ++out_.small_sent;
    }
    if (fate == Fate::kDelivered) {  // the others may still come
      while (!asked_.empty() && await_answer(wait_ns_) == Fate::kDelivered) {
      }
      out_.small_lost = static_cast<int>(asked_.size());
    } else {
      out_.small_lost = out_.small_sent;
    }
    return fate;
  }

  // Sends packets of this size until one is confirmed, or so many are lost that chance, which
  // takes small ones as well, does not explain it.
  Fate try_size(int packet) {
    tries_ = 0;
    for (int enough = kTries; tries_ < enough && !over(call_);) {
      const Fate fate = send_one(packet, tries_ == 0 ? wait_ns_ : 2 * wait_ns_);
      if (fate != Fate::kLost) return fate;
      if (++tries_ == kTries) enough = tries_that_tell();
    }
    return Fate::kLost;
  }

  // Largest size that gets through, by bisection between one that does and one that does not.
  void bisect(int good, int bad) {
    while (bad - good > 1 && !over(call_)) {
      // An MTU that we were told is very likely the answer.
      int middle = good + (bad - good) / 2;
      if (out_.told > good && out_.told < bad) middle = out_.told;
      if (out_.told == good) middle = good + 1;
      const Fate fate = try_size(middle);
      note(middle, fate);
      (fate == Fate::kDelivered ? good : bad) = middle;
    }
  }

  void note(int packet, Fate fate) {
    if (fate == Fate::kDelivered) {
      out_.largest_delivered = std::max(out_.largest_delivered, packet);
    } else if (fate == Fate::kLost && !over(call_) &&
               (out_.smallest_lost == 0 || packet < out_.smallest_lost)) {
      out_.smallest_lost = packet;
      out_.lost_tries = tries_;
    }
  }

  void note_told(int mtu) {
    if (mtu > 0 && (out_.told == 0 || mtu < out_.told)) out_.told = mtu;
  }

 private:
  Fate send_small(int64_t wait_ns) {
    const Fate fate = send_one(smallest_, wait_ns);
    ++out_.small_sent;
    if (fate != Fate::kDelivered) ++out_.small_lost;
    return fate;
  }

  int tries_that_tell() {
    while (out_.small_sent < kSmallSample && !over(call_)) send_small(2 * wait_ns_);
    const double lost = (out_.small_lost + 1.0) / (out_.small_sent + 2.0);
    return std::clamp(static_cast<int>(std::ceil(std::log(kByChance) / std::log(lost))), kTries,
                      kMostTries);
  }

  // Waits for its answer, or with `any` for that of one that was sent before it.
  Fate send_one(int packet, int64_t wait_ns, bool any = false) {
    const ProbeLine line{new_nonce(), "size", packet};
    std::string payload = probe_line(line);
    payload.resize(static_cast<size_t>(packet - header_), '.');
    if (!any) asked_.clear();
    asked_[line.nonce] = {monotonic_ns(), static_cast<int64_t>(payload.size())};
    // An error that came meanwhile is reported by the next call, whatever it is about.
    ssize_t sent = -1;
    for (int i = 0; i < 3 && sent < 0; ++i) {
      sent = ::send(fd_, payload.data(), payload.size(), send_flags());
      if (sent < 0 && errno == EMSGSIZE && take_errors() == Fate::kTooLarge) return Fate::kTooLarge;
      if (sent < 0 && errno == EMSGSIZE && i > 0) return Fate::kTooLarge;
      if (sent < 0 && (errno == ENOBUFS || errno == EPERM)) break;
      if (sent < 0) take_errors();
    }
    // Thrown away on this host already, by a queue or a filter, without a word about the size.
    if (sent < 0 && (errno == ENOBUFS || errno == EPERM)) return Fate::kLost;
    if (sent < 0) return Fate::kRefused;
    return await_answer(wait_ns);
  }

  Fate await_answer(int64_t wait_ns) {
    const AgentCall patience = within(call_, wait_ns);
    while (wait_for(fd_, POLLIN, patience)) {
      const Fate error = take_errors();
      if (error != Fate::kLost) return error;
      if (const int64_t sent_ns = take_answer(); sent_ns > 0) {
        wait_ns_ = std::clamp(kWaitRoundTrips * (monotonic_ns() - sent_ns), kMinWait, kMaxWait);
        return Fate::kDelivered;
      }
    }
    return take_errors();
  }

  // kLost: nothing of importance is in the queue.
  Fate take_errors() {
    Fate fate = Fate::kLost;
    while (const auto error = take_icmp_error(fd_)) {
      note_told(error->told_mtu);
      if (error->err == EMSGSIZE) {
        fate = Fate::kTooLarge;
      } else if (error->icmp_origin && fate == Fate::kLost) {
        out_.error = error->icmp.text + ", from " + error->icmp.from;
        fate = Fate::kRefused;
      }
    }
    return fate;
  }

  // When the packet was sent that is answered; 0: none of those that we wait for.
  int64_t take_answer() {
    char buffer[kMaxProbeLine];
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return 0;
    const auto answer = parse_probe_line({buffer, static_cast<size_t>(got)});
    if (!answer || answer->mode != "size") return 0;
    const auto asked = asked_.find(answer->nonce);
    if (asked == asked_.end() || asked->second.payload != answer->argument) return 0;
    const int64_t sent_ns = asked->second.sent_ns;
    asked_.erase(asked);
    return sent_ns;
  }

  struct Asked {
    int64_t sent_ns = 0, payload = 0;  // payload in bytes
  };
  int fd_;
  int header_, smallest_ = 0, tries_ = 0;
  int64_t wait_ns_ = kMaxWait;
  std::map<std::string, Asked> asked_;  // by nonce: sent, and not answered yet
  MtuEvidence& out_;
  const AgentCall& call_;
};

// A connected UDP socket whose packets are never fragmented.
Expected<Fd> open_whole_datagrams(const PairEnds& ends) {
  Fd fd = new_datagram_socket(ends.to.family());
  if (!fd.valid()) return fail(socket_error("open a UDP socket", errno));
  never_fragment(fd.get(), ends.to.family());
  const SocketAddress& own = ends.from;
  if (own.length != 0 && ::bind(fd.get(), own.get(), own.length) != 0) {
    return fail(socket_error("bind the source address " + ends.from_ip, errno));
  }
  if (::connect(fd.get(), ends.to.get(), ends.to.length) != 0) {
    return fail(socket_error("find a way to " + to_text(ends.to), errno));
  }
  return fd;
}

void sweep_udp(const PairEnds& ends, int64_t patience_ns, MtuEvidence& out, const AgentCall& call) {
  const int family = ends.to.family();
  const auto fd = open_whole_datagrams(ends);
  if (!fd) {
    out.error = fd.error().message();
    return;
  }
  const int believed = believed_mtu(fd->get(), family);
  if (out.interface_mtu <= 0) out.interface_mtu = believed;
  const int largest = std::min(out.interface_mtu, kMaxPacket);
  const int smallest = std::min(largest, family == AF_INET6 ? kSmallestV6 : kSmallest);
  if (largest < ip_header_bytes(family) + kUdpHeader + static_cast<int>(kMaxProbeLine)) {
    out.error = "the MTU of the way to the peer is not known";
    return;
  }
  Sweep sweep(fd->get(), family, out, call);
  if (believed < out.interface_mtu) sweep.note_told(believed);
  auto fate = sweep.try_smallest(smallest, patience_ns);
  if (fate != Sweep::Fate::kDelivered) return;  // datagrams say nothing about sizes here
  out.method = "udp";
  out.error.clear();
  sweep.note(smallest, fate);
  if (largest == smallest) return;
  fate = sweep.try_size(largest);
  sweep.note(largest, fate);
  if (fate != Sweep::Fate::kDelivered) sweep.bisect(smallest, largest);
}

}  // namespace

MtuEvidence probe_mtu(const PairEnds& ends, const MtuSettings& settings, const AgentCall& call) {
  MtuEvidence out;
  out.interface_mtu = settings.interface_mtu;
  const int64_t each_ns = std::clamp<int64_t>(settings.timeout_ms, 1, 60'000) * kMillisecond;
  // The transfer says whether a job would hang, so half of the request's time is kept for it.
  const int64_t patience_ns = settings.silence_ms > 0
                                  ? std::min(settings.silence_ms * kMillisecond, kFirstPatience)
                                  : kFirstPatience;
  sweep_udp(ends, patience_ns, out,
            within(call, std::min(each_ns, call.deadline.remaining_ns() / 2)));
  out.transfer_bytes = std::clamp<int64_t>(settings.transfer_bytes, 1, int64_t{1} << 30);
  const TransferResult moved = transfer(ends, out.transfer_bytes, kMaxStall, within(call, each_ns));
  out.transferred = moved.acknowledged;
  out.stalled_ns = moved.stalled_ns;
  if (!moved.error.empty() || out.method.empty()) out.error = moved.error;
  if (out.method.empty()) {  // no datagram came through, whatever its size
    out.method = "tcp";
    const bool complete = moved.acknowledged >= out.transfer_bytes;
    out.largest_delivered = complete ? moved.packet_bytes : 0;
  }
  return out;
}

}  // namespace plumbline
