// The system's ping, for processes that may open no ICMP socket; it is setuid or has a capability.
#include "probes/actions/ping_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/clock.h"
#include "core/command.h"
#include "core/number.h"
#include "core/whole_number.h"
#include "probes/actions/text.h"

namespace plumbline {
namespace {

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
