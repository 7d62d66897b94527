// macOS: `route -n get` prints the routing socket's answer (route(4)) in lines of "key: value". The
// source address that it would use is what a UDP socket gets that connects there. Packet sockets do
// not exist and BPF needs root, so the kernel is made to resolve a neighbour and its table is read
// by the tools that print it (arp(8), ndp(8)).
#include <cctype>
#include <cerrno>
#include <sstream>

#include "core/clock.h"
#include "core/command.h"
#include "probes/actions/neighbour.h"

namespace plumbline {
namespace {

constexpr uint16_t kDiscardPort = 9;  // RFC 863

std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    const size_t at = line.find(key + ": ");
    if (at == std::string::npos) continue;
    std::istringstream words(line.substr(at + key.size() + 2));
    std::string word;
    words >> word;
    return word;
  }
  return {};
}

std::string source_towards(const PairEnds& ends, std::string& error) {
  SocketAddress to = ends.to;
  to.set_port(kDiscardPort);
  const Fd fd(::socket(to.family(), SOCK_DGRAM, 0));
  const bool bound =
      ends.from.length == 0 || ::bind(fd.get(), ends.from.get(), ends.from.length) == 0;
  if (!bound || ::connect(fd.get(), to.get(), to.length) != 0) {
    error = errno_name(errno);
    return {};
  }
  return ip_text(local_address(fd.get()));
}

// The first word that looks like a MAC: hex digits and five colons. ARP prints "0:1c:.." too.
std::string find_mac(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    int colons = 0;
    bool fits = true;
    for (const char c : word) {
      colons += c == ':' ? 1 : 0;
      fits = fits && (c == ':' || std::isxdigit(static_cast<unsigned char>(c)) != 0);
    }
    if (fits && colons == 5) return word;
  }
  return {};
}

void wake_kernel(const PairEnds& ends) {
  SocketAddress to = ends.to;
  to.set_port(kDiscardPort);
  const Fd fd(::socket(to.family(), SOCK_DGRAM, 0));
  if (!fd.valid() || !make_nonblocking(fd.get())) return;
  if (ends.from.length != 0) ::bind(fd.get(), ends.from.get(), ends.from.length);
  ::sendto(fd.get(), "", 0, 0, to.get(), to.length);
}

}  // namespace

Expected<RouteLookup> look_up_route(const PairEnds& ends, const AgentCall& call) {
  std::vector<std::string> argv = {"route", "-n", "get"};
  if (ends.to.family() == AF_INET6) argv.emplace_back("-inet6");
  std::string target = ip_text(ends.to);
  if (ends.to.family() == AF_INET6 && ends.to.link_local()) target += "%" + ends.interface;
  argv.push_back(target);
  const auto said = run_command(argv, call.deadline);
  if (!said) return fail(said.error());
  RouteLookup out;
  out.with_source = ends.from.length != 0;
  out.source = source_towards(ends, out.error);
  out.dev = value_of(said->out, "interface");
  out.via = value_of(said->out, "gateway");
  const std::string flags = value_of(said->out, "flags");
  out.type = "unicast";
  if (flags.find("LOCAL") != std::string::npos) out.type = "local";
  if (flags.find("REJECT") != std::string::npos) out.type = "unreachable";
  if (flags.find("BLACKHOLE") != std::string::npos) out.type = "blackhole";
  if (out.dev.empty() && out.error.empty()) out.error = "ENETUNREACH";
  if (!out.error.empty() && out.dev.empty()) out.type.clear();
  return out;
}

NeighbourProbe probe_neighbour(const PairEnds& ends, const NeighbourSettings& settings,
                               const AgentCall& call) {
  NeighbourProbe out;
  out.method = "kernel";
  out.dev = ends.interface;
  if (settings.duplicate) {
    out.error = "a second owner of an address cannot be looked for without packet sockets";
    return out;
  }
  if (const auto route = look_up_route(ends, call); route && route->error.empty()) {
    if (out.dev.empty()) out.dev = route->dev;
  }
  const bool v6 = ends.to.family() == AF_INET6;
  const std::vector<std::string> argv = {v6 ? "ndp" : "arp", "-n", ip_text(ends.to)};
  wake_kernel(ends);
  const AgentCall patience = within(call, settings.timeout_ms * kMillisecond);
  while (true) {
    const auto said = run_command(argv, call.deadline);
    if (!said) {
      out.error = said.error().message();
      return out;
    }
    out.kernel_mac = find_mac(said->out);
    if (!out.kernel_mac.empty() || over(patience)) break;
    const timespec pause{0, 50 * kMillisecond};
    ::nanosleep(&pause, nullptr);
  }
  out.kernel_state = out.kernel_mac.empty() ? "INCOMPLETE" : "REACHABLE";
  if (!out.kernel_mac.empty()) out.macs = {out.kernel_mac};
  return out;
}

}  // namespace plumbline
