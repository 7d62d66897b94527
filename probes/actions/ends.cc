#include "probes/actions/ends.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <vector>

#include "core/encode.h"
#include "core/number.h"
#include "probes/icmp_error.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

// Reads up to the end of one line, not a byte further.
Expected<std::string> read_line(int fd, const AgentCall& call) {
  std::string line;
  while (line.size() < kMaxProbeLine) {
    char byte = 0;
    const auto got = receive_some(fd, &byte, 1, patience_of(call));
    if (!got && got.error().sys_errno != 0) return fail(got.error());
    if (!got) return fail(ErrorCode::kTimeout, "no answer after connecting");
    if (*got == 0) {
      return fail(ErrorCode::kPeerLost, "the peer closed the connection without an answer");
    }
    line += byte;
    if (byte == '\n') return line;
  }
  return line;
}

// ---- lines ----

constexpr std::string_view kMagic = "PLPROBE1";
constexpr size_t kMaxNonce = 64;

// The words of one complete line with single spaces between them; nothing otherwise.
std::optional<std::vector<std::string_view>> probe_words(std::string_view text) {
  if (text.empty() || text.size() > kMaxProbeLine || text.back() != '\n') return std::nullopt;
  text.remove_suffix(1);
  // Two spaces would have nothing between them, or nothing behind.
  if (text.ends_with(' ') || text.find("  ") != text.npos) return std::nullopt;
  std::vector<std::string_view> words = parts_of(text, ' ');
  if (words.empty() || words.front() != kMagic) return std::nullopt;
  return words;
}

std::optional<int64_t> not_negative(std::string_view text) {
  return parse_whole(text, int64_t{0}, INT64_MAX);
}

}  // namespace

Expected<PairEnds> make_ends(const std::string& from_ip, const std::string& to_ip,
                             const std::string& interface, int port) {
  if (port < 0 || port > 65535) {
    return fail(ErrorCode::kUsage, fmt::format("{} is no port number", port));
  }
  PairEnds ends;
  ends.from_ip = from_ip;
  ends.to_ip = to_ip;
  ends.interface = interface;
  const auto to = make_socket_address(to_ip, static_cast<uint16_t>(port), interface);
  if (!to) return fail(to.error());
  ends.to = *to;
  if (from_ip.empty()) return ends;
  const auto from = make_socket_address(from_ip, 0, interface);
  if (!from) return fail(from.error());
  ends.from = *from;
  if (ends.from.family() != ends.to.family()) {
    return fail(ErrorCode::kConfig, from_ip + " and " + to_ip + " are of different families");
  }
  return ends;
}

std::string ip_text(const SocketAddress& address) {
  return address.length == 0 ? std::string() : to_text(address.ip());
}

int ip_header_bytes(int family) { return family == AF_INET6 ? 40 : 20; }

bool over(const AgentCall& call) {
  return call.deadline.passed() || (call.ending != nullptr && *call.ending);
}

int64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

AgentCall within(const AgentCall& call, int64_t ns) {
  const int64_t left = std::min(call.deadline.remaining_ns(), ns);
  return {Deadline::after_ns(left), call.ending};
}

Patience patience_of(const AgentCall& call) {
  return {call.deadline, [ending = call.ending] { return ending != nullptr && *ending; }};
}

bool wait_for(int fd, short events, const AgentCall& call) {
  return !over(call) && await_ready(fd, events, patience_of(call)).has_value();
}

bool make_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
         ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

void close_hard(Fd& fd) {
  const linger reset{1, 0};
  if (fd.valid()) ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  fd.reset();
}

StartedConnect start_probe_connect(const PairEnds& ends, int port) {
  StartedConnect out;
  SocketAddress to = ends.to;
  to.set_port(static_cast<uint16_t>(port));
  out.before_connect = true;
  out.fd = new_stream_socket(to.family());
  const int fd = out.fd.get();
  if (!out.fd.valid()) {
    out.err = errno;
    return out;
  }
  watch_icmp_errors(fd, to.family());
  SocketAddress own = ends.from;
  if (own.length == 0) own = *make_socket_address(to.family() == AF_INET6 ? "::" : "0.0.0.0", 0);
  if (::bind(fd, own.get(), own.length) != 0) {
    out.err = errno;
    return out;
  }
  out.source_port = local_address(fd).port();
  // Best effort: the address alone decides where the kernel may not bind to an interface.
  if (own.link_local() && !ends.interface.empty() && !own.same_ip(to)) {
    bind_to_interface(fd, own.family(), ends.interface);
  }
  // Fewer packets with a broken header than with plain Nagle: every line leaves at once.
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  out.before_connect = false;
  if (::connect(fd, to.get(), to.length) != 0 && errno != EINPROGRESS && errno != EINTR) {
    out.err = errno;
  }
  return out;
}

Expected<Fd> open_service(const PairEnds& ends, const std::string& mode, int64_t argument,
                          const AgentCall& call) {
  const std::string what = "connect to " + to_text(ends.to);
  StartedConnect started = start_probe_connect(ends, ends.to.port());
  if (started.err != 0) return fail(socket_error(what, started.err));
  const int fd = started.fd.get();
  if (!wait_for(fd, POLLOUT, call)) return fail(ErrorCode::kTimeout, what);
  if (const Status status = finish_connect(fd, ends.to); !status) return fail(status.error());
  watch_icmp_errors(fd, ends.to.family(), false);  // they would end it; TCP gets over most of them
  const std::string nonce = new_nonce();
  const std::string line = probe_line({nonce, mode, argument});
  const Status sent = send_all(fd, line.data(), line.size(), patience_of(call));
  if (!sent) return fail(sent.error());
  const auto answer = read_line(fd, call);
  if (!answer) {
    Error error = answer.error();
    error.what = to_text(ends.to) + ": " + error.what;
    return fail(error);
  }
  if (*answer != ok_line(nonce)) {
    return fail(ErrorCode::kProtocol,
                to_text(ends.to) + " answers as a stranger: \"" + escaped(*answer, 64) + "\"");
  }
  return std::move(started.fd);
}

bool usable_nonce(std::string_view nonce) {
  return !nonce.empty() && nonce.size() <= kMaxNonce &&
         std::all_of(nonce.begin(), nonce.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '.' || c == '_' || c == '-';
         });
}

std::string probe_line(const ProbeLine& line) {
  return fmt::format("{} {} {} {}\n", kMagic, line.nonce, line.mode, line.argument);
}

std::optional<ProbeLine> parse_probe_line(std::string_view text) {
  const auto words = probe_words(text);
  if (!words || words->size() != 4 || !usable_nonce((*words)[1])) return std::nullopt;
  const auto argument = not_negative((*words)[3]);
  if (!argument) return std::nullopt;
  return ProbeLine{std::string((*words)[1]), std::string((*words)[2]), *argument};
}

std::string ok_line(const std::string& nonce) { return fmt::format("{} ok {}\n", kMagic, nonce); }

std::string sink_line(const SinkReport& report) {
  return fmt::format("{} got {} {} {} {}\n", kMagic, report.bytes, report.duration_ns,
                     report.cpu_ns, report.segments);
}

std::optional<SinkReport> parse_sink_line(std::string_view text) {
  const auto words = probe_words(text);
  if (!words || words->size() < 5 || words->size() > 6 || (*words)[1] != "got") {
    return std::nullopt;
  }
  const auto bytes = not_negative((*words)[2]), duration = not_negative((*words)[3]),
             cpu = not_negative((*words)[4]);
  const auto segments = words->size() == 6 ? not_negative((*words)[5]) : int64_t{0};
  if (!bytes || !duration || !cpu || !segments) return std::nullopt;
  return SinkReport{*bytes, *duration, *cpu, *segments};
}

std::string escaped(std::string_view bytes, size_t max_bytes) {
  std::string out;
  for (const char c : bytes.substr(0, max_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

std::string mac_text(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (!text.empty()) text += ':';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15u];
  }
  return text;
}

std::string new_nonce() {
  const Digest random = random_token();
  return to_hex(std::span(random).first(8));
}

}  // namespace plumbline
