#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/clock.h"
#include "probes/actions/link_query_linux.h"
#include "probes/actions/neighbour.h"
#include "probes/actions/neighbour_table_linux.h"
#include "probes/actions/route.h"

namespace plumbline {
namespace {

constexpr uint16_t kDiscardPort = 9;  // RFC 863
constexpr int64_t kTablePause = 20 * kMillisecond;

struct KernelEntry {
  std::string state, mac;
};

// What the kernel's table says about an address on an interface.
KernelEntry kernel_entry(const SocketAddress& wanted, int interface, const AgentCall& call) {
  const std::string ip = ip_text(wanted);
  const auto table = kernel_neighbours(wanted.family(), call);
  if (!table) return {};
  for (const KernelNeighbour& entry : *table) {
    if (entry.interface == interface && entry.ip == ip) return {entry.state, entry.mac};
  }
  return {};
}

bool settled(const KernelEntry& entry) {
  return !entry.state.empty() && entry.state != "INCOMPLETE" && entry.state != "DELAY" &&
         entry.state != "PROBE";
}

// A datagram to the discard port makes the kernel look for the neighbour, as any traffic would.
void wake_kernel(const PairEnds& ends) {
  SocketAddress to = ends.to;
  to.set_port(kDiscardPort);
  const Fd fd(::socket(to.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (ends.from.length != 0 && ::bind(fd.get(), ends.from.get(), ends.from.length) != 0) return;
  if (::sendto(fd.get(), "", 0, 0, to.get(), to.length) < 0) return;  // the table tells why
}

// Sending makes the kernel forget an earlier failure and ask anew, so that FAILED is the outcome of
// this attempt: nobody answered any of its requests (mcast_solicit of arp(7), three, one a second).
KernelEntry ask_kernel(const PairEnds& ends, int interface, int64_t timeout_ms,
                       const AgentCall& call) {
  wake_kernel(ends);
  const AgentCall patience = within(call, timeout_ms * kMillisecond);
  KernelEntry entry = kernel_entry(ends.to, interface, call);
  while (!settled(entry) && !over(patience)) {
    const timespec pause{0, kTablePause};
    ::nanosleep(&pause, nullptr);
    const std::string before = entry.state;
    entry = kernel_entry(ends.to, interface, call);
    // Failed entries are swept away soon.
    if (entry.state.empty() && before == "INCOMPLETE") entry.state = "FAILED";
  }
  return entry;
}

// MAC of an Ethernet-like interface; false for those that have no address resolution.
bool ethernet_mac(const std::string& name, MacAddress& mac) {
  ifaddrs* head = nullptr;
  if (::getifaddrs(&head) != 0) return false;
  bool found = false;
  for (const ifaddrs* item = head; item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr || item->ifa_addr->sa_family != AF_PACKET) continue;
    if (name != item->ifa_name || (item->ifa_flags & (IFF_LOOPBACK | IFF_NOARP)) != 0) continue;
    sockaddr_ll link{};
    std::memcpy(&link, item->ifa_addr, sizeof link);
    if (link.sll_hatype != ARPHRD_ETHER || link.sll_halen != mac.size()) continue;
    std::memcpy(mac.data(), link.sll_addr, mac.size());
    found = true;
  }
  ::freeifaddrs(head);
  return found;
}

// The interface to ask on, and whether the peer is on its link at all.
bool find_link(const PairEnds& ends, const NeighbourSettings& settings, const AgentCall& call,
               NeighbourProbe& out) {
  out.dev = ends.interface;
  if (settings.duplicate || (ends.to.link_local() && !out.dev.empty())) return true;
  const auto route = look_up_route(ends, call);
  if (!route || !route->error.empty()) {
    out.error =
        "no route to " + ends.to_ip + ": " + (route ? route->error : route.error().message());
    return !out.dev.empty();  // who answers there is worth knowing all the same
  }
  out.on_link = route->via.empty() && route->type == "unicast";
  if (out.dev.empty()) out.dev = route->dev;
  return out.on_link;
}

}  // namespace

NeighbourProbe probe_neighbour(const PairEnds& ends, const NeighbourSettings& settings,
                               const AgentCall& call) {
  NeighbourProbe out;
  out.method = "kernel";
  if (!find_link(ends, settings, call, out)) return out;
  LinkQuery query;
  query.interface = static_cast<int>(::if_nametoindex(out.dev.c_str()));
  if (query.interface == 0) {
    out.error = out.dev.empty() ? "the interface is not known" : "there is no interface " + out.dev;
    return out;
  }
  query.own = ends.from;
  query.wanted = settings.duplicate ? ends.from : ends.to;
  query.duplicate = settings.duplicate || ends.from.length == 0;
  query.timeout_ms = std::clamp<int64_t>(settings.timeout_ms, 1, 30'000);
  const bool ethernet = query.wanted.length != 0 && ethernet_mac(out.dev, query.mac);
  const bool has_route = out.error.empty();
  if (ethernet) {
    const auto macs = ask_link(query, call);
    if (macs) {
      out.method = "arp";
      out.macs = *macs;
    } else {
      out.error = macs.error().message();
    }
  } else {
    out.error = out.dev + " has no address resolution";
  }
  if (settings.duplicate) return out;  // the kernel does not say who else has our address
  // After our own questions the kernel has only its own answer to tell.
  const int64_t patience = out.method == "arp" ? 50 : query.timeout_ms;
  const KernelEntry entry = ask_kernel(ends, query.interface, patience, call);
  out.kernel_state = entry.state;
  out.kernel_mac = entry.mac;
  if (out.method == "kernel" && settled(entry)) {
    if (!entry.mac.empty()) out.macs = {entry.mac};
    // That nobody answered is an answer as well, though our own requests were not permitted.
    const bool told = !entry.mac.empty() || (entry.state == "FAILED" && has_route);
    if (ethernet && told) out.error.clear();
  }
  return out;
}

}  // namespace plumbline
