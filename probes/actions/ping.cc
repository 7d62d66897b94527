#include "probes/actions/ping.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "core/clock.h"
#include "core/sha256.h"
#include "probes/actions/ping_program.h"
#include "probes/icmp_error.h"

namespace plumbline {
namespace {

constexpr int kEchoV4 = 8, kEchoReplyV4 = 0, kEchoV6 = 128, kEchoReplyV6 = 129;
constexpr size_t kIcmpHeader = 8, kCookie = 8;  // bytes
constexpr int kMaxCount = 1000, kMaxBytes = 60'000;

void put16(std::string& bytes, size_t at, unsigned value) {
  bytes[at] = static_cast<char>(value >> 8 & 255u);
  bytes[at + 1] = static_cast<char>(value & 255u);
}

unsigned get16(const char* bytes) {
  return static_cast<unsigned>(static_cast<unsigned char>(bytes[0])) << 8 |
         static_cast<unsigned char>(bytes[1]);
}

// RFC 1071.
unsigned checksum(const std::string& bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    const char pair[2] = {bytes[i], i + 1 < bytes.size() ? bytes[i + 1] : '\0'};
    sum += get16(pair);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<unsigned>(~sum & 0xffff);
}

class EchoRun {
 public:
  EchoRun(int fd, const PairEnds& ends, const PingSettings& settings, const AgentCall& call)
      : fd_(fd), v6_(ends.to.family() == AF_INET6), settings_(settings), call_(call) {
    const Digest random = random_token();
    std::memcpy(cookie_, random.data(), kCookie);
    std::memcpy(&id_, random.data() + kCookie, sizeof id_);
    sent_ns_.resize(static_cast<size_t>(settings.count));
    answered_.resize(sent_ns_.size());
  }

  PingEvidence run() {
    int64_t next_ns = monotonic_ns();
    for (int i = 0; i < settings_.count && !over(call_); ++i) {
      collect_until(next_ns);
      send_echo(i);
      next_ns += settings_.interval_ms * kMillisecond;
    }
    const int64_t until = monotonic_ns() + settings_.timeout_ms * kMillisecond;
    // Once all came, duplicates may be on their heels.
    while (!over(call_) && monotonic_ns() < until && out_.received < out_.sent) {
      collect_until(std::min(until, monotonic_ns() + 20 * kMillisecond));
    }
    collect_until(monotonic_ns() + 2 * kMillisecond);
    out_.errors.assign(errors_.begin(), errors_.end());
    return out_;
  }

 private:
  void send_echo(int sequence) {
    std::string packet(kIcmpHeader + static_cast<size_t>(settings_.bytes), '\0');
    packet[0] = static_cast<char>(v6_ ? kEchoV6 : kEchoV4);
    put16(packet, 4, id_);
    put16(packet, 6, static_cast<unsigned>(sequence));
    packet.replace(kIcmpHeader, kCookie, cookie_, kCookie);
    if (!v6_) put16(packet, 2, checksum(packet));  // of ICMPv6 the kernel makes it
    sent_ns_[static_cast<size_t>(sequence)] = monotonic_ns();
    ssize_t sent = -1;
    // An error that came for an earlier packet is reported by this call, and the packet not sent.
    for (int i = 0; i < 3 && sent < 0; ++i) {
      sent = ::send(fd_, packet.data(), packet.size(), send_flags());
      if (sent < 0 && !take_errors() && i > 0) {
        note_error("cannot send: " + errno_name(errno));
        break;
      }
    }
    ++out_.sent;
  }

  void note_error(const std::string& text) {
    if (errors_.size() < 16) errors_.insert(text);
  }

  bool take_errors() {
    const int before = errno;
    bool any = false;
    while (const auto error = take_icmp_error(fd_)) {
      any = true;
      if (error->icmp_origin) {
        note_error(fmt::format("from {}: {}", error->icmp.from, error->icmp.text));
      } else if (error->err != 0) {
        note_error("cannot send: " + errno_name(error->err));
      }
    }
    errno = before;
    return any;
  }

  void collect_until(int64_t until_ns) {
    while (true) {
      const int64_t left = until_ns - monotonic_ns();
      if (left <= 0 || !wait_for(fd_, POLLIN, within(call_, left))) return;
      take_errors();
      char buffer[2048];
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got > 0) packet_came(buffer, static_cast<size_t>(got));
    }
  }

  // Raw sockets of IPv4, and all of macOS, give the IP header too; an echo reply begins with 0.
  void packet_came(const char* data, size_t size) {
    if (!v6_ && size > 20 && (static_cast<unsigned char>(data[0]) >> 4) == 4) {
      const size_t header = (static_cast<unsigned char>(data[0]) & 15u) * 4;
      if (header >= size) return;
      data += header;
      size -= header;
    }
    const int reply = v6_ ? kEchoReplyV6 : kEchoReplyV4;
    if (size < kIcmpHeader + kCookie || static_cast<unsigned char>(data[0]) != reply) return;
    if (std::memcmp(data + kIcmpHeader, cookie_, kCookie) != 0) return;
    const size_t sequence = get16(data + 6);
    if (sequence >= answered_.size() || sent_ns_[sequence] == 0) return;
    if (answered_[sequence]) {
      ++out_.duplicates;
      return;
    }
    answered_[sequence] = true;
    ++out_.received;
    out_.rtt_ns.push_back(monotonic_ns() - sent_ns_[sequence]);
  }

  int fd_;
  bool v6_;
  const PingSettings& settings_;
  const AgentCall& call_;
  char cookie_[kCookie];
  uint16_t id_ = 0;
  std::vector<int64_t> sent_ns_;
  std::vector<bool> answered_;
  std::set<std::string> errors_;
  PingEvidence out_;
};

// An ICMP socket of this type that talks to the peer only; invalid with errno set.
Fd open_icmp(const PairEnds& ends, int type) {
  const int family = ends.to.family();
  const int protocol = family == AF_INET6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP};
  Fd fd(::socket(family, type, protocol));
  if (!fd.valid()) return fd;
  watch_icmp_errors(fd.get(), family);
  SocketAddress own = ends.from, to = ends.to;
  to.set_port(0);
  const bool ready = make_nonblocking(fd.get()) &&
                     (own.length == 0 || ::bind(fd.get(), own.get(), own.length) == 0) &&
                     ::connect(fd.get(), to.get(), to.length) == 0;
  if (!ready) {
    const int err = errno;
    fd.reset();
    errno = err;
  }
  return fd;
}

}  // namespace

PingEvidence ping(const PairEnds& ends, const PingSettings& settings, const AgentCall& call) {
  PingSettings bounded = settings;
  bounded.count = std::clamp(settings.count, 1, kMaxCount);
  bounded.bytes = std::clamp(settings.bytes, static_cast<int>(kCookie), kMaxBytes);
  bounded.interval_ms = std::clamp<int64_t>(settings.interval_ms, 0, 10'000);
  bounded.timeout_ms = std::clamp<int64_t>(settings.timeout_ms, 1, 60'000);
  int denied = 0;
  for (const int type : {SOCK_DGRAM, SOCK_RAW}) {
    const Fd fd = open_icmp(ends, type);
    if (fd.valid()) return EchoRun(fd.get(), ends, bounded, call).run();
    if (errno != EACCES && errno != EPERM && errno != EPROTONOSUPPORT) {
      PingEvidence out;
      out.unavailable = "no echo to " + ends.to_ip + ": " + errno_name(errno);
      // No route is an answer, not a lack of means.
      if (errno == ENETUNREACH || errno == EHOSTUNREACH || errno == EINVAL) {
        out.errors.push_back("cannot send: " + errno_name(errno));
      }
      return out;
    }
    denied = errno;
  }
  PingEvidence out = ping_by_program(ends, bounded, call);
  if (!out.unavailable.empty()) {
    out.unavailable = fmt::format("ICMP sockets are not allowed to this user ({}), and: {}",
                                  errno_name(denied), out.unavailable);
  }
  return out;
}

}  // namespace plumbline
