// macOS: packet sockets do not exist and BPF needs root, so the kernel is made to resolve and its
// table is read by the tools that print it (arp(8), ndp(8)).
#include <cctype>
#include <sstream>

#include "core/clock.h"
#include "core/command.h"
#include "probes/actions/neighbour.h"
#include "probes/actions/route.h"

namespace plumbline {
namespace {

constexpr uint16_t kDiscardPort = 9;  // RFC 863

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
