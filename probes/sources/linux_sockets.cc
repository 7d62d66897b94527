#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>

#include "core/host/ip.h"
#include "core/number.h"
#include "probes/sources/linux_sources.h"
#include "probes/sources/text_lines.h"

namespace plumbline {
namespace {

struct SocketEnd {
  std::string ip;
  int port = 0;
};

// "0.0.0.0:22", "[::1]:22", "*:22", "127.0.0.53%lo:53", "[fe80::1]%eth0:546". ss writes "*" for a
// socket that listens for both families.
std::optional<SocketEnd> endpoint_of(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view ip = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  SocketEnd out;
  if (const size_t zone = ip.find('%'); zone != std::string_view::npos) ip = ip.substr(0, zone);
  if (ip.size() >= 2 && ip.front() == '[' && ip.back() == ']') ip = ip.substr(1, ip.size() - 2);
  out.ip = ip == "*" ? "::" : std::string(ip);
  if (port == "*") return out;
  const auto number = parse_whole(port);
  if (!number || *number < 0 || *number > 65535 || out.ip.empty()) return std::nullopt;
  out.port = static_cast<int>(*number);
  return out;
}

std::string join_endpoint(const std::string& ip, int port) {
  return ip.find(':') == std::string::npos ? fmt::format("{}:{}", ip, port)
                                           : fmt::format("[{}]:{}", ip, port);
}

// "ESTAB" and "UNCONN" are ss's own abbreviations.
std::string state_of(std::string_view word) {
  if (word == "ESTAB") return "ESTABLISHED";
  return std::string(word);
}

// users:(("python3",pid=412,fd=7),("python3",pid=413,fd=7)): of several holders the one with the
// lowest number, which mostly is the parent of the others.
void read_users(std::string_view text, SocketEvidence& out) {
  constexpr std::string_view kOpen = "users:((\"", kPid = "\",pid=", kNext = "),(\"";
  const size_t begin = text.find(kOpen);
  if (begin == std::string_view::npos) return;
  text.remove_prefix(begin + kOpen.size());
  while (true) {
    const size_t end = text.find(kPid);
    if (end == std::string_view::npos) return;
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(end + kPid.size());
    const auto pid = parse_whole(text.substr(0, text.find_first_not_of("0123456789")));
    if (pid && *pid > 0 && (out.pid == 0 || *pid < out.pid)) {
      out.process = name;
      out.pid = *pid;
    }
    const size_t next = text.find(kNext);
    if (next == std::string_view::npos) return;
    text.remove_prefix(next + kNext.size());
  }
}

std::optional<SocketEvidence> socket_of(std::string_view line) {
  const auto words = words_of(line);
  // tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(...)
  if (words.size() < 6 || (words[0] != "tcp" && words[0] != "udp")) return std::nullopt;
  const auto local = endpoint_of(words[4]);
  const auto peer = endpoint_of(words[5]);
  if (!local || !peer) return std::nullopt;
  SocketEvidence out;
  out.protocol = words[0];
  out.state = state_of(words[1]);
  out.ip = local->ip;
  out.port = local->port;
  if (peer->port != 0) out.peer = join_endpoint(peer->ip, peer->port);
  read_users(line, out);
  return out;
}

// The states of /proc/net/tcp by their number (include/net/tcp_states.h).
std::string state_of_number(std::string_view hex) {
  constexpr std::array kStates = {"?",          "ESTABLISHED", "SYN-SENT",  "SYN-RECV",
                                  "FIN-WAIT-1", "FIN-WAIT-2",  "TIME-WAIT", "CLOSE",
                                  "CLOSE-WAIT", "LAST-ACK",    "LISTEN",    "CLOSING"};
  const auto value = parse_hex(hex);
  return value && *value < kStates.size() ? kStates[*value] : "?";
}

// "0100007F:1F90" or 32 digits: groups of four bytes as the machine's own 32-bit numbers, which
// are little-endian on all systems that this is built for.
std::optional<SocketEnd> hex_endpoint(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  std::array<unsigned char, 16> bytes{};
  for (size_t i = 0; i < colon / 2; ++i) {
    const auto byte = parse_hex<unsigned char>(text.substr(2 * i, 2));
    if (!byte) return std::nullopt;
    bytes[i / 4 * 4 + (3 - i % 4)] = *byte;
  }
  SocketEnd out;
  const auto port = parse_hex<uint16_t>(text.substr(colon + 1));
  if (!port) return std::nullopt;
  out.port = *port;
  out.ip = to_text(ip_of_bytes(bytes.data(), colon == 32));
  return out;
}

}  // namespace

Status parse_ss(const std::string& text, HostEvidence& host) {
  size_t strange = 0, good = 0;
  for (const std::string_view line : lines_of(text)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    auto socket = socket_of(line);
    strange += socket ? 0 : 1;
    good += socket ? 1 : 0;
    if (socket) host.sockets.push_back(std::move(*socket));
  }
  if (good == 0 && strange > 0) {
    return fail(ErrorCode::kProtocol, "no line of ss's output could be understood");
  }
  return {};
}

Status parse_proc_net_sockets(const std::string& text, HostEvidence& host) {
  for (const auto& [path, line] : file_lines(text)) {
    const std::string_view table = path.substr(path.rfind('/') + 1);
    const auto words = words_of(line);
    // sl local_address rem_address st ...
    if (words.size() < 4 || words[0] == "sl") continue;
    const auto local = hex_endpoint(words[1]);
    const auto peer = hex_endpoint(words[2]);
    if (!local || !peer) continue;
    SocketEvidence out;
    out.protocol = table.rfind("udp", 0) == 0 ? "udp" : "tcp";
    out.ip = local->ip;
    out.port = local->port;
    out.state = out.protocol == "udp" && words[3] == "07" ? "UNCONN" : state_of_number(words[3]);
    if (peer->port != 0) out.peer = join_endpoint(peer->ip, peer->port);
    host.sockets.push_back(std::move(out));
  }
  return {};
}

Status parse_ps_ages(const std::string& text, HostEvidence& host) {
  std::map<int64_t, int64_t> ages;
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() < 2) continue;
    const auto pid = parse_whole(words[0]), age = parse_whole(words[1]);
    if (pid && *pid > 0 && age && *age >= 0) ages[*pid] = *age;
  }
  for (SocketEvidence& socket : host.sockets) {
    const auto it = ages.find(socket.pid);
    if (it != ages.end() && !socket.age_s) socket.age_s = it->second;
  }
  return {};
}

}  // namespace plumbline
