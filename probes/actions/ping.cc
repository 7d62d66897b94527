#include "probes/actions/ping.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <sstream>
#include <vector>

#include "core/clock.h"
#include "core/command.h"
#include "core/encode.h"
#include "core/number.h"
#include "probes/actions/ends.h"
#include "probes/actions/platform.h"
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

// ---- the system's ping, for processes that may open no ICMP socket; it is setuid or has a
// capability ----

constexpr size_t kMaxRtts = 1000;
// To start the program and to round its waiting up to whole seconds.
constexpr int64_t kStartNs = kSecond;

// The number behind `key`, as in "time=0.045 ms".
std::optional<double> number_behind(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  const std::optional<double> value = take_decimal(line);
  return value && *value < 1e9 ? value : std::nullopt;
}

// "From 10.0.0.1 icmp_seq=1 Destination Host Unreachable" -> "from 10.0.0.1: Destination Host
// Unreachable"; BSD: "92 bytes from 10.0.0.1: Destination Host Unreachable".
std::string error_of(const std::string& line) {
  const bool upper = line.rfind("From ", 0) == 0;
  const size_t begin = upper ? 5 : line.find("bytes from ");
  if (begin == std::string::npos) return {};
  std::istringstream words(line.substr(upper ? begin : begin + 11));
  std::string from, word, rest;
  words >> from;
  while (!from.empty() && from.back() == ':') from.pop_back();
  while (words >> word) {
    if (word.find("seq=") != std::string::npos || (word.front() == '(' && rest.empty())) continue;
    rest += (rest.empty() ? "" : " ") + word;
  }
  return rest.empty() ? std::string() : "from " + from + ": " + rest;
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

PingEvidence parse_ping(const std::string& text) {
  PingEvidence out;
  std::set<std::string> errors;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::optional<double> number = number_behind(line, "time=");
    if (!number) number = number_behind(line, "time<");
    if (number) {
      if (line.find("DUP!") != std::string::npos) {
        ++out.duplicates;
      } else if (out.rtt_ns.size() < kMaxRtts) {
        ++out.received;
        out.rtt_ns.push_back(whole_number_of(*number * 1e6));
      }
    } else if (line.find("packets transmitted") != std::string::npos) {
      out.sent = leading_whole<int>(line).value_or(0);
    } else if (const std::string error = error_of(line); !error.empty() && errors.size() < 16) {
      errors.insert(escaped(error, 160));
    }
  }
  out.errors.assign(errors.begin(), errors.end());
  return out;
}

PingEvidence ping_by_program(const PairEnds& ends, const PingSettings& settings,
                             const AgentCall& call) {
  PingEvidence out;
  const bool v6 = ends.to.family() == AF_INET6;
  std::vector<std::string> argv = {"ping", "-n"};
  // Some systems have a program of its own for IPv6, others an option.
  if (v6 && !find_program("ping6").empty()) {
    argv[0] = "ping6";
  } else if (v6) {
    argv.emplace_back("-6");
  }
  // The whole second is what every program accepts from everybody; users of iputils may go down
  // to a fifth.
  const double interval = std::max(0.2, static_cast<double>(settings.interval_ms) / 1000);
  // The program is slower than our own sockets: no more echoes than there is time for.
  const auto interval_ns = static_cast<int64_t>(interval * 1e9);
  const int64_t linger_ns = settings.timeout_ms * kMillisecond;
  const int64_t left_ns = call.deadline.remaining_ns() - linger_ns - kStartNs;
  const int count = static_cast<int>(std::clamp<int64_t>(left_ns / interval_ns, 1, settings.count));
  for (const std::string& word :
       {std::string("-c"), std::to_string(count), std::string("-i"),
        fmt::format("{:.1f}", interval), std::string("-s"), std::to_string(settings.bytes)}) {
    argv.push_back(word);
  }
  add_linger_option(argv, v6, settings.timeout_ms);
  if (!ends.from_ip.empty()) add_source_option(argv, ends);
  std::string target = ip_text(ends.to);
  if (v6 && ends.to.link_local()) target += "%" + ends.interface;
  argv.push_back(target);
  // Printed as it goes, so what came until the end of the time would be lost with the program.
  const int64_t ns = interval_ns * count + linger_ns + 2 * kSecond;
  const auto done = run_command(argv, within(call, ns).deadline);
  if (!done) {
    out.unavailable = done.error().message();
    return out;
  }
  out = parse_ping(done->out);
  if (out.sent == 0) {
    const std::string said = escaped(done->err.empty() ? done->out : done->err, 160);
    out.unavailable = fmt::format("ping ended with status {}: {}", done->status, said);
  }
  return out;
}

}  // namespace plumbline
