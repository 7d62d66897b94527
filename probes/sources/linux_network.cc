#include <fmt/format.h>

#include <array>
#include <cstring>
#include <map>

#include "core/host/ip.h"
#include "core/json.h"
#include "core/number.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

// ---- routes and neighbours ----

using nlohmann::json;

std::string gateway_of(const json& hop) {
  const std::string gateway = text_at(hop, "gateway");
  return gateway.empty() ? text_at(part_at(hop, "via"), "host") : gateway;
}

std::vector<std::string> flags_of(const json& hop) {
  std::vector<std::string> out;
  for (const json& flag : part_at(hop, "flags")) {
    if (flag.is_string()) out.push_back(flag.get<std::string>());
  }
  return out;
}

RouteEvidence route_of(const json& entry) {
  RouteEvidence out;
  out.destination = text_at(entry, "dst");
  out.type = text_at(entry, "type");
  if (out.type.empty()) out.type = "unicast";
  out.dev = text_at(entry, "dev");
  out.via = gateway_of(entry);
  out.source = text_at(entry, "prefsrc");
  out.table = text_at(entry, "table");
  if (out.table.empty()) out.table = "main";
  out.scope = text_at(entry, "scope");
  out.protocol = text_at(entry, "protocol");
  out.metric = number_at(entry, "metric").value_or(0);
  out.flags = flags_of(entry);
  return out;
}

// "10.9.0.0" and 16 -> "10.9.0.0/16"; "all" where nothing is said.
std::string prefix_of(const json& rule, const char* address, const char* length) {
  const std::string ip = text_at(rule, address);
  if (ip.empty()) return "all";
  const auto bits = number_at(rule, length);
  return bits ? fmt::format("{}/{}", ip, *bits) : ip;
}

PolicyRule policy_rule_of(const json& entry) {
  PolicyRule out;
  out.priority = number_at(entry, "priority").value_or(0);
  out.from = prefix_of(entry, "src", "srclen");
  out.to = prefix_of(entry, "dst", "dstlen");
  out.table = text_at(entry, "table");
  out.action = text_at(entry, "action");
  if (out.action.empty()) out.action = out.table.empty() ? "nop" : "lookup";
  out.text =
      fmt::format("{}: {}from {}", out.priority, flag_at(entry, "not") ? "not " : "", out.from);
  if (out.to != "all") out.text += " to " + out.to;
  for (const char* key : {"fwmark", "iif", "oif", "tos", "ipproto", "uidrange"}) {
    const std::string value = text_at(entry, key);
    if (!value.empty()) out.text += fmt::format(" {} {}", key, value);
  }
  for (const char* key : {"sport", "dport"}) {
    const auto value = number_at(entry, key);
    if (value) out.text += fmt::format(" {} {}", key, *value);
  }
  out.text += out.action == "lookup" ? " lookup " + out.table : " " + out.action;
  return out;
}

// ---- sockets ----

// "0.0.0.0:22", "[::1]:22", "*:22", "127.0.0.53%lo:53", "[fe80::1]%eth0:546". ss writes "*" for a
// socket that listens for both families.
std::optional<SocketEnd> ss_endpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view ip = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  SocketEnd out;
  if (const size_t zone = ip.find('%'); zone != std::string_view::npos) ip = ip.substr(0, zone);
  if (ip.size() >= 2 && ip.front() == '[' && ip.back() == ']') ip = ip.substr(1, ip.size() - 2);
  out.ip = ip == "*" ? "::" : std::string(ip);
  if (port == "*") return out;
  const auto number = parse_whole<int>(port, 0, 65535);
  if (!number || out.ip.empty()) return std::nullopt;
  out.port = *number;
  return out;
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
  const auto local = ss_endpoint(words[4]);
  const auto peer = ss_endpoint(words[5]);
  if (!local || !peer) return std::nullopt;
  SocketEvidence out = socket_between(words[0], state_of(words[1]), *local, *peer);
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

Status parse_ip_route(const std::string& text, HostEvidence& host) {
  const auto routes = parse_json_array(text, "ip route");
  if (!routes) return fail(routes.error());
  for (const json& entry : *routes) {
    RouteEvidence route = route_of(entry);
    // Every address has such routes; they say nothing about the way to a peer.
    const bool noise =
        route.type == "broadcast" || route.type == "multicast" || route.type == "anycast";
    if (route.destination.empty() || noise) continue;
    const json& hops = part_at(entry, "nexthops");
    if (!hops.is_array() || hops.empty()) {
      host.routes.push_back(std::move(route));
      continue;
    }
    for (const json& hop : hops) {  // one line for each of several ways
      RouteEvidence one = route;
      one.dev = text_at(hop, "dev");
      one.via = gateway_of(hop);
      one.flags = flags_of(hop);
      host.routes.push_back(std::move(one));
    }
  }
  return {};
}

Status parse_ip_rule(const std::string& text, HostEvidence& host) {
  const auto rules = parse_json_array(text, "ip rule");
  if (!rules) return fail(rules.error());
  for (const json& entry : *rules) {
    if (entry.is_object() && !entry.empty()) host.policy_rules.push_back(policy_rule_of(entry));
  }
  return {};
}

Status parse_ip_neigh(const std::string& text, HostEvidence& host) {
  const auto entries = parse_json_array(text, "ip neigh");
  if (!entries) return fail(entries.error());
  for (const json& entry : *entries) {
    NeighbourEvidence out;
    out.ip = text_at(entry, "dst");
    out.dev = text_at(entry, "dev");
    out.mac = text_at(entry, "lladdr");
    const json& states = part_at(entry, "state");
    if (states.is_array() && !states.empty() && states[0].is_string()) {
      out.state = states[0].get<std::string>();
    }
    if (!out.ip.empty()) host.neighbours.push_back(std::move(out));
  }
  return {};
}

SocketEvidence socket_between(std::string_view protocol, const std::string& state,
                              const SocketEnd& local, const SocketEnd& peer) {
  SocketEvidence out;
  out.protocol = protocol;
  out.state = state;
  out.ip = local.ip;
  out.port = local.port;
  if (peer.port != 0) {
    const std::string ip = is_v6(peer.ip) ? "[" + peer.ip + "]" : peer.ip;
    out.peer = fmt::format("{}:{}", ip, peer.port);
  }
  return out;
}

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
    const bool udp = table.rfind("udp", 0) == 0;
    const std::string state = udp && words[3] == "07" ? "UNCONN" : state_of_number(words[3]);
    host.sockets.push_back(socket_between(udp ? "udp" : "tcp", state, *local, *peer));
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
