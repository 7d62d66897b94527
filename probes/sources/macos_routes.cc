#include <algorithm>
#include <array>

#include "core/host/ip.h"
#include "core/number.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kMostEntries = 100'000;
using Words = std::vector<std::string_view>;

bool is_ip(const std::string& text) { return parse_ip(text).has_value(); }

// "fe80::1%en0" -> "fe80::1", and "fe80::%en0/64" -> "fe80::/64".
std::string without_zone(std::string_view text) {
  const size_t percent = text.find('%');
  if (percent == std::string_view::npos) return std::string(text);
  const size_t slash = text.find('/', percent);
  std::string out(text.substr(0, percent));
  if (slash != std::string_view::npos) out += text.substr(slash);
  return out;
}

// "36:0:0:a:0:2" or "36.0.0.a.0.2" -> "36:00:00:0a:00:02"; empty for what is no hardware address.
std::string hardware_address(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  const char separator = text.find(':') != std::string_view::npos ? ':' : '.';
  std::string out;
  const Words parts = parts_of(text, separator);
  if (parts.size() != 6) return {};
  for (const std::string_view part : parts) {
    const bool hex = part.find_first_not_of(kHex) == std::string_view::npos;
    if (part.empty() || part.size() > 2 || !hex) return {};
    if (!out.empty()) out += ':';
    if (part.size() == 1) out += '0';
    for (const char c : part) out += static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
  }
  return out;
}

bool has_flag(std::string_view flags, char flag) {
  return flags.find(flag) != std::string_view::npos;
}

// Where the columns of one section stand; some releases add Refs, Use and Mtu before Netif.
struct Columns {
  size_t flags = 2, netif = 3;
};

std::optional<Columns> columns_of(const Words& header) {
  if (header.size() < 4 || header[0] != "Destination") return std::nullopt;
  const auto place = [&](std::string_view name) {
    return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  const Columns out{place("Flags"), place("Netif")};
  if (out.flags >= header.size() || out.netif >= header.size()) return std::nullopt;
  return out;
}

// default 192.168.4.1 UGScg en0
std::optional<RouteEvidence> route_of(const Words& words, const Columns& columns) {
  if (words.size() <= std::max(columns.flags, columns.netif)) return std::nullopt;
  const std::string_view flags = words[columns.flags];
  // A letter 'L' marks what the neighbour cache has put there: no route of its own.
  if (flags.empty() || !has_flag(flags, 'U') || has_flag(flags, 'L')) return std::nullopt;
  RouteEvidence out;
  out.destination = expand_destination(words[0], has_flag(flags, 'H'));
  if (out.destination.empty()) return std::nullopt;
  out.dev = words[columns.netif];
  const std::string gateway = without_zone(words[1]);
  if (has_flag(flags, 'G') && is_ip(gateway)) out.via = gateway;
  out.scope = out.via.empty() ? "link" : "global";
  out.type = has_flag(flags, 'B') ? "blackhole" : has_flag(flags, 'R') ? "unreachable" : "unicast";
  out.protocol = has_flag(flags, 'S') ? "static" : has_flag(flags, 'D') ? "redirect" : "kernel";
  // Asked only by sockets that are bound to the interface; the ordinary lookup passes it by.
  out.table = has_flag(flags, 'I') ? "ifscope " + out.dev : "main";
  for (const char flag : flags) out.flags.emplace_back(1, flag);
  return out;
}

// The letter of ndp's column St, in the words of Linux.
std::string state_of_letter(std::string_view letter) {
  constexpr std::pair<const char*, const char*> kStates[] = {
      {"I", "INCOMPLETE"}, {"R", "REACHABLE"}, {"S", "STALE"}, {"D", "DELAY"}, {"P", "PROBE"}};
  for (const auto& [key, state] : kStates) {
    if (letter == key) return state;
  }
  return {};
}

}  // namespace

std::string expand_destination(std::string_view text, bool host_route) {
  if (text == "default") return "default";
  const std::string plain = without_zone(text);
  const size_t slash = plain.find('/');
  std::string ip = plain.substr(0, slash);
  std::optional<int64_t> prefix;
  if (slash != std::string::npos) {
    prefix = parse_whole(std::string_view(plain).substr(slash + 1));
    if (!prefix) return {};
  }
  if (ip.find(':') != std::string::npos) {
    if (!is_ip(ip)) return {};
    if (!prefix || *prefix == 128) return ip;
    return *prefix < 0 || *prefix > 128 ? std::string() : network_of(ip, static_cast<int>(*prefix));
  }
  // Zero bytes at the end are left out, and so is the length where it ends with the last byte.
  const auto dots = static_cast<int>(std::count(ip.begin(), ip.end(), '.'));
  if (dots > 3) return {};
  for (int i = dots; i < 3; ++i) ip += ".0";
  if (!is_ip(ip)) return {};
  if (!prefix && (host_route || dots == 3)) return ip;
  const int64_t length = prefix.value_or(8 * (dots + 1));
  if (length < 0 || length > 32) return {};
  return length == 32 ? ip : network_of(ip, static_cast<int>(length));
}

Status parse_netstat_routes(const std::string& text, HostEvidence& host) {
  std::optional<Columns> columns;
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    if (const auto header = columns_of(words)) {
      columns = header;
    } else if (columns && host.routes.size() < kMostEntries) {
      if (auto route = route_of(words, *columns)) host.routes.push_back(std::move(*route));
    }
  }
  if (!columns) return fail(ErrorCode::kProtocol, "no table of routes in what netstat printed");
  return {};
}

// ? (10.10.0.2) at 36:0:0:0:0:2 on bridge0 ifscope [bridge]
// ? (10.10.0.3) at (incomplete) on bridge0 ifscope [bridge]
Status parse_arp(const std::string& text, HostEvidence& host) {
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    const auto at = std::find(words.begin(), words.end(), "at");
    if (at == words.begin() || at == words.end() || at + 1 == words.end()) continue;
    std::string_view ip = *(at - 1);
    if (ip.size() < 3 || ip.front() != '(' || ip.back() != ')') continue;
    ip = ip.substr(1, ip.size() - 2);
    NeighbourEvidence out;
    out.ip = ip;
    if (!is_ip(out.ip) || host.neighbours.size() >= kMostEntries) continue;
    out.dev = word_after(words, "on");
    out.mac = hardware_address(*(at + 1));
    const bool permanent = std::find(words.begin(), words.end(), "permanent") != words.end();
    if (out.mac.empty() && *(at + 1) != "(incomplete)") continue;
    // arp does not tell how old the knowledge is.
    out.state = out.mac.empty() ? "INCOMPLETE" : permanent ? "PERMANENT" : "REACHABLE";
    host.neighbours.push_back(std::move(out));
  }
  return {};
}

// fe80::1%en0 36:0:0:0:0:2 en0 23h59m58s S R
Status parse_ndp(const std::string& text, HostEvidence& host) {
  for (const std::string_view line : lines_of(text)) {
    const Words words = words_of(line);
    if (words.size() < 4 || host.neighbours.size() >= kMostEntries) continue;
    NeighbourEvidence out;
    out.ip = without_zone(words[0]);
    if (!is_v6(out.ip) || !is_ip(out.ip)) continue;
    out.mac = hardware_address(words[1]);
    const bool permanent = words[3] == "permanent";
    if (out.mac.empty() && permanent) continue;  // own, on an interface without such addresses
    out.dev = words[2];
    out.state = words.size() >= 5 ? state_of_letter(words[4]) : std::string();
    if (out.mac.empty()) out.state = "INCOMPLETE";
    if (permanent) out.state = "PERMANENT";
    host.neighbours.push_back(std::move(out));
  }
  return {};
}

}  // namespace plumbline
