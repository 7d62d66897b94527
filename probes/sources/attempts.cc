#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/host/host_parse.h"
#include "core/json.h"
#include "core/number.h"
#include "core/text.h"
#include "probes/sources/collected.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

constexpr size_t kMostErrors = 16;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The number before `word`: "3 packets transmitted".
std::optional<int64_t> number_before(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const auto words = words_of(text.substr(0, at));
  if (words.empty()) return std::nullopt;
  std::string_view last = words.back();
  if (!last.empty() && last.front() == '+') last.remove_prefix(1);
  return parse_whole(last);
}

// "time=0.045 ms" -> 45000.
std::optional<int64_t> round_trip(std::string_view line) {
  const size_t at = line.find("time=");
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + 5);
  const std::optional<double> ms = take_decimal(line);
  if (!ms || *ms > 1e6) return std::nullopt;
  return static_cast<int64_t>(*ms * 1e6);
}

// "From 10.10.0.1 icmp_seq=1 Destination Host Unreachable" (Linux), "92 bytes from 10.10.0.1:
// Destination Host Unreachable" (macOS) -> "from 10.10.0.1: Destination Host Unreachable".
std::string icmp_error(std::string_view line) {
  const std::string low = lower_case(line);
  const bool told = contains(low, "unreachable") || contains(low, "prohibited") ||
                    contains(low, "frag needed") || contains(low, "time to live exceeded") ||
                    contains(low, "packet filtered") || contains(low, "too big");
  const size_t from = low.find("from ");
  if (!told || from == std::string::npos) return {};
  const auto words = words_of(line.substr(from + 5));
  if (words.size() < 2) return {};
  std::string_view who = words[0];
  if (who.back() == ':') who.remove_suffix(1);
  const size_t skip = words[1].rfind("icmp_seq", 0) == 0 ? 2 : 1;
  return fmt::format("from {}: {}", who, joined(words, skip));
}

// "mtu=1400", "mtu = 1400", "(mtu 1400)".
int told_mtu(const std::string& text) {
  const std::string low = lower_case(text);
  size_t at = 0;
  while ((at = low.find("mtu", at)) != std::string::npos) {
    at = low.find_first_not_of(" =:", at + 3);
    if (at == std::string::npos) return 0;
    const int value = leading_whole<int>(low.substr(at, 8)).value_or(0);
    if (value >= 68 && value <= 65535) return value;
  }
  return 0;
}

// What the kinds of nc, bash and python say, by words that they share (all in the C locale).
struct Phrase {
  const char* text;  // lower case
  const char* result;
  const char* error;
};
constexpr std::array<Phrase, 11> kPhrases{{
    {"connection refused", "refused", "ECONNREFUSED"},
    {"no route to host", "unreachable", "EHOSTUNREACH"},
    {"host is unreachable", "unreachable", "EHOSTUNREACH"},
    {"host is down", "unreachable", "EHOSTDOWN"},
    {"network is unreachable", "unreachable", "ENETUNREACH"},
    {"operation not permitted", "denied", "EPERM"},
    {"permission denied", "denied", "EACCES"},
    {"connection reset", "reset", "ECONNRESET"},
    {"timed out", "timeout", "ETIMEDOUT"},
    {"timeout", "timeout", "ETIMEDOUT"},
    {"operation now in progress", "timeout", "ETIMEDOUT"},
}};

RouteLookup from_ip_json(const CollectedSection& section) {
  RouteLookup out;
  const auto routes = parse_json_array(section.output.text, "ip route get");
  if (!routes || routes->empty()) {
    out.error = "unreadable";
    return out;
  }
  const nlohmann::json& route = (*routes)[0];
  out.type = text_at(route, "type");
  if (out.type.empty()) out.type = "unicast";
  out.dev = text_at(route, "dev");
  out.via = text_at(route, "gateway");
  out.source = text_at(route, "prefsrc");
  out.table = text_at(route, "table");
  return out;
}

// macOS: "  interface: en0", "    gateway: 192.168.4.1", flags <UP,GATEWAY,DONE,STATIC>.
RouteLookup from_route_text(const CollectedSection& section) {
  RouteLookup out;
  out.type = "unicast";
  for (const std::string_view raw : lines_of(section.output.text)) {
    const std::string_view line = trimmed(raw);
    if (line.rfind("interface: ", 0) == 0) out.dev = line.substr(11);
    if (line.rfind("gateway: ", 0) == 0 && !contains(line, "link#")) out.via = line.substr(9);
    if (line.rfind("if address: ", 0) == 0) out.source = line.substr(12);
    if (line.rfind("flags: ", 0) == 0 && contains(line, "BLACKHOLE")) out.type = "blackhole";
    if (line.rfind("flags: ", 0) == 0 && contains(line, "REJECT")) out.type = "unreachable";
  }
  if (out.dev.empty()) out.error = "ENETUNREACH";
  return out;
}

std::string route_error(const std::string& said) {
  const std::string low = lower_case(said);
  if (contains(low, "network is unreachable") || contains(low, "not in table")) {
    return "ENETUNREACH";
  }
  if (contains(low, "no route to host")) return "EHOSTUNREACH";
  if (contains(low, "permission denied")) return "EACCES";  // a prohibit route
  if (contains(low, "invalid argument")) return "EINVAL";   // a blackhole route
  return said.empty() ? "unreadable" : first_line(said);
}

}  // namespace

PingEvidence parse_ping(const CollectedSection& section) {
  PingEvidence out;
  using State = SourceOutput::State;
  if (section.output.state == State::kAbsent) {
    out.unavailable = section.output.why;
    return out;
  }
  const auto note = [&out](const std::string& error) {
    if (!error.empty()) add_once(out.errors, error, kMostErrors);
  };
  bool summary = false;
  for (const std::string_view line : lines_of(section.output.text)) {
    if (const auto sent = number_before(line, "packets transmitted")) {
      summary = true;
      auto got = number_before(line, "packets received");
      if (!got) got = number_before(line, "received");
      const auto bounded = [](std::optional<int64_t> count) {
        return static_cast<int>(std::clamp<int64_t>(count.value_or(0), 0, 1000));
      };
      out.sent = bounded(sent);
      out.received = bounded(got);
      out.duplicates = bounded(number_before(line, "duplicates"));
      continue;
    }
    const auto rtt = contains(line, "bytes from") ? round_trip(line) : std::nullopt;
    if (rtt && !contains(line, "DUP!")) out.rtt_ns.push_back(*rtt);
    note(icmp_error(line));
  }
  for (const std::string_view line : lines_of(section.errors)) {
    note(first_line(line));
  }
  if (!summary) {
    out.unavailable = out.errors.empty() ? "ping did not end in time" : out.errors.front();
  }
  return out;
}

MtuEvidence parse_large_ping(const CollectedSection& section) {
  MtuEvidence out;
  out.method = "icmp";
  if (section.args.size() >= 2) {
    out.interface_mtu = parse_whole<int>(section.args[1], 68, 65535).value_or(0);
  }
  const PingEvidence ping = parse_ping(section);
  out.told = told_mtu(section.output.text + section.errors);
  if (!ping.unavailable.empty()) {
    out.error = ping.unavailable;
  } else if (ping.received > 0) {
    out.largest_delivered = out.interface_mtu;
  } else if (out.told == 0 && ping.errors.empty()) {
    out.smallest_lost = out.interface_mtu;
  } else if (out.told == 0) {
    out.error = ping.errors.front();
  }
  return out;
}

PortTry parse_connect(const CollectedSection& section) {
  PortTry out;
  if (section.args.size() >= 2) out.port = parse_port(section.args[1]).value_or(0);
  using State = SourceOutput::State;
  if (section.output.state == State::kAbsent || section.output.state == State::kSkipped) {
    out.error = section.output.why;
    return out;
  }
  if (section.output.state == State::kRead) {
    out.result = "connected";
    return out;
  }
  const std::string said = lower_case(section.output.text + section.errors);
  for (const Phrase& phrase : kPhrases) {
    if (!contains(said, phrase.text)) continue;
    out.result = phrase.result;
    out.error = phrase.error;
    return out;
  }
  // Killed by the script after its time, or silent as OpenBSD's nc -z is after -w without -v.
  const bool late = section.output.why == "did not end in time";
  const bool silent = said.find_first_not_of(" \n") == std::string::npos;
  out.result = late || silent ? "timeout" : "error";
  out.error = late || silent ? "ETIMEDOUT" : first_line(section.errors);
  return out;
}

RouteLookup parse_route_get(const CollectedSection& section) {
  using State = SourceOutput::State;
  RouteLookup out;
  if (section.output.state == State::kRead) {
    return section.command.rfind("ip ", 0) == 0 ? from_ip_json(section) : from_route_text(section);
  }
  out.error = section.output.state == State::kFailed ? route_error(section.errors) : "unreadable";
  return out;
}

NameEvidence parse_resolve(const CollectedSection& section) {
  NameEvidence out;
  out.role = "own";
  if (!section.args.empty()) out.name = section.args[0];
  for (const std::string_view line : lines_of(section.output.text)) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    // "10.10.0.1 STREAM host1" (getent), "ip_address: 10.10.0.1" (dscacheutil)
    const bool keyed = words.size() >= 2 && words[0].ends_with("address:");
    const std::string_view ip = keyed ? words[1] : words[0];
    if (ip.find_first_not_of("0123456789abcdefABCDEF.:%") != std::string_view::npos) continue;
    if (contains(ip, ":")) {
      add_once(out.v6, ip);
    } else if (contains(ip, ".")) {
      add_once(out.v4, ip);
    }
  }
  if (out.v4.empty() && out.v6.empty()) {
    out.error = section.output.why.empty() ? "no address" : section.output.why;
  }
  return out;
}

}  // namespace plumbline
