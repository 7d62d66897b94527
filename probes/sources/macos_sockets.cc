#include <algorithm>
#include <array>
#include <map>

#include "core/host/host_parse.h"
#include "core/host/ip.h"
#include "core/number.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kMostSockets = 100'000;
using Words = std::vector<std::string_view>;

// "10.10.0.1.29600", "*.22", "fe80::1%lo0.8021" with '.'; "10.10.0.1:29600", "[::1]:22" with ':'.
std::optional<SocketEnd> endpoint_of(std::string_view text, char separator, bool v6) {
  const size_t at = text.rfind(separator);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view ip = text.substr(0, at);
  const std::string_view port = text.substr(at + 1);
  if (ip.size() >= 2 && ip.front() == '[' && ip.back() == ']') ip = ip.substr(1, ip.size() - 2);
  ip = ip.substr(0, ip.find('%'));
  SocketEnd out;
  out.ip = ip == "*" ? (v6 ? "::" : "0.0.0.0") : std::string(ip);
  // An IPv6 address that the column was too narrow for is none.
  if (!parse_ip(out.ip)) return std::nullopt;
  if (port == "*") return out;
  const auto number = parse_whole<int>(port, 0, 65535);
  if (!number) return std::nullopt;
  out.port = *number;
  return out;
}

// The words of netstat's column (state), in those of Linux.
std::string state_of(std::string_view word) {
  if (word == "SYN_RCVD") return "SYN-RECV";
  if (word == "CLOSED") return "CLOSE";
  std::string out(word);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

// The place of the process among the words of a row, which has one word less for each of the two
// column names of two words. Newer releases write "process:pid" there.
std::optional<size_t> owner_column(const Words& header) {
  if (header.empty() || header[0] != "Proto") return std::nullopt;
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i] == "pid" || header[i] == "process:pid") return i >= 2 ? i - 2 : 0;
  }
  return 0;  // a release that does not tell
}

// "412", or "python3:412"; a name with blanks reaches over several words.
void read_owner(const Words& words, size_t column, SocketEvidence& out) {
  constexpr size_t kMostWords = 8;
  std::string name;
  for (size_t i = column; i < std::min(words.size(), column + kMostWords); ++i) {
    const std::string_view word = words[i];
    const size_t colon = word.rfind(':');
    if (i == column && colon == std::string_view::npos) {
      const auto pid = parse_whole(word);
      if (pid) {
        out.pid = std::max<int64_t>(*pid, 0);
        return;
      }
    }
    const auto pid =
        colon == std::string_view::npos ? std::nullopt : parse_whole(word.substr(colon + 1));
    if (!name.empty()) name += ' ';
    name += word.substr(0, colon);
    if (!pid) continue;
    out.pid = std::max<int64_t>(*pid, 0);
    out.process = name;
    return;
  }
}

// tcp4 0 0 10.10.0.1.29600 *.* LISTEN 0 0 131072 131072 python3:412 00100 00000006
std::optional<SocketEvidence> socket_of(const Words& words, size_t owner) {
  if (words.size() < 6 || words[0].rfind("tcp", 0) != 0) return std::nullopt;
  const bool v6 = words[0].find('6') != std::string_view::npos;
  const auto local = endpoint_of(words[3], '.', v6);
  const auto peer = endpoint_of(words[4], '.', v6);
  if (!local || !peer) return std::nullopt;
  SocketEvidence out = socket_between("tcp", state_of(words[5]), *local, *peer);
  if (owner > 5) read_owner(words, owner, out);
  return out;
}

// Listeners by their port: lsof tells about the same ones once for each process and descriptor.
using ByPort = std::multimap<int, size_t>;

void merge_listener(SocketEvidence found, ByPort& by_port, HostEvidence& host) {
  const auto [first, last] = by_port.equal_range(found.port);
  for (auto it = first; it != last; ++it) {
    SocketEvidence& known = host.sockets[it->second];
    if (known.ip != found.ip) continue;
    // Of several holders the one with the lowest number, mostly the parent of the others.
    if (known.pid == 0 || found.pid < known.pid ||
        (found.pid == known.pid && known.process.empty())) {
      known.pid = found.pid;
      known.process = found.process;
    }
    return;
  }
  if (host.sockets.size() >= kMostSockets || by_port.count(found.port) >= 256) return;
  by_port.emplace(found.port, host.sockets.size());
  host.sockets.push_back(std::move(found));
}

// lsof writes what is no plain character as "\x20".
std::string without_escapes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 4) == "\\x20") {
      out += ' ';
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// python3 412 alex 5u IPv4 0x1f 0t0 TCP 10.10.0.1:29600 (LISTEN)
std::optional<SocketEvidence> listener_of(const Words& words) {
  if (words.size() < 6 || words.back() != "(LISTEN)") return std::nullopt;
  const size_t name = words.size() - 2;
  if (words[name - 1] != "TCP") return std::nullopt;
  const bool v6 = std::find(words.begin(), words.end(), "IPv6") != words.end();
  const auto local = endpoint_of(words[name], ':', v6);
  const auto pid = parse_whole(words[1]);
  if (!local || local->port == 0 || !pid || *pid <= 0) return std::nullopt;
  SocketEvidence out = socket_between("tcp", "LISTEN", *local, {});
  out.pid = *pid;
  out.process = without_escapes(words[0]);
  return out;
}

// "[[DD-]HH:]MM:SS" -> seconds.
std::optional<int64_t> seconds_of(std::string_view text) {
  int64_t days = 0, seconds = 0;
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = parse_whole<int64_t>(text.substr(0, dash), 0, 100'000);
    if (!number) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  const Words parts = parts_of(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  for (const std::string_view part : parts) {
    const auto number = parse_whole<int64_t>(part, 0, 59);
    if (!number) return std::nullopt;
    seconds = seconds * 60 + *number;
  }
  return days * 86400 + seconds;
}

}  // namespace

Status parse_netstat_sockets(const std::string& text, HostEvidence& host) {
  std::optional<size_t> owner;
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    if (const auto column = owner_column(words)) {
      owner = column;
    } else if (owner && host.sockets.size() < kMostSockets) {
      if (auto socket = socket_of(words, *owner)) host.sockets.push_back(std::move(*socket));
    }
  }
  if (!owner) return fail(ErrorCode::kProtocol, "no table of sockets in what netstat printed");
  return {};
}

Status parse_lsof(const std::string& text, HostEvidence& host) {
  ByPort by_port;
  for (size_t i = 0; i < host.sockets.size(); ++i) {
    if (host.sockets[i].state == "LISTEN") by_port.emplace(host.sockets[i].port, i);
  }
  bool header = false;
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    header = header || (!words.empty() && words[0] == "COMMAND");
    if (auto listener = listener_of(words)) merge_listener(std::move(*listener), by_port, host);
  }
  if (!header) return fail(ErrorCode::kProtocol, "no table of sockets in what lsof printed");
  return {};
}

Status parse_ps_etimes(const std::string& text, HostEvidence& host) {
  struct Process {
    int64_t age = 0;
    std::string name;
  };
  std::map<int64_t, Process> processes;
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    if (words.size() < 2) continue;
    const auto pid = parse_whole(words[0]), age = seconds_of(words[1]);
    if (!pid || *pid <= 0 || !age) continue;
    std::string name;
    if (words.size() >= 3) {
      // The program's path, blanks and all.
      name = trimmed(line.substr(static_cast<size_t>(words[2].data() - line.data())));
      name = name.substr(name.rfind('/') + 1);
    }
    processes[*pid] = {*age, std::move(name)};
  }
  for (SocketEvidence& socket : host.sockets) {
    const auto it = processes.find(socket.pid);
    if (it == processes.end()) continue;
    if (!socket.age_s) socket.age_s = it->second.age;
    if (socket.process.empty()) socket.process = it->second.name;
  }
  return {};
}

}  // namespace plumbline
