#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/clock.h"
#include "probes/actions/neighbour.h"
#include "probes/actions/netlink_linux.h"

namespace plumbline {
namespace {

// ---- routes ----

struct TypeRow {
  unsigned type;
  const char* name;
  int err;  // with which the kernel refuses packets by such a route; 0 = it does not
};
constexpr TypeRow kTypes[] = {
    {RTN_UNICAST, "unicast", 0},        {RTN_LOCAL, "local", 0},
    {RTN_BROADCAST, "broadcast", 0},    {RTN_ANYCAST, "anycast", 0},
    {RTN_MULTICAST, "multicast", 0},    {RTN_BLACKHOLE, "blackhole", EINVAL},
    {RTN_PROHIBIT, "prohibit", EACCES}, {RTN_UNREACHABLE, "unreachable", EHOSTUNREACH},
    {RTN_THROW, "throw", EAGAIN},
};

std::string table_name(uint32_t table) {
  if (table == RT_TABLE_MAIN) return "main";
  if (table == RT_TABLE_LOCAL) return "local";
  if (table == RT_TABLE_DEFAULT) return "default";
  return table == 0 ? std::string() : std::to_string(table);
}

void add_ip(NetlinkRequest& request, uint16_t type, const SocketAddress& address) {
  const Ip ip = address.ip();
  request.add(type, ip.bytes.data(), ip.size());
}

void read_answer(const nlmsghdr& message, int family, RouteLookup& out) {
  rtmsg route{};
  if (message.nlmsg_type != RTM_NEWROUTE || !netlink_body(message, &route, sizeof route)) return;
  const auto attributes = netlink_attributes(message, sizeof route);
  char name[IF_NAMESIZE] = "";
  if (const uint32_t index = netlink_number(attributes, RTA_OIF); index != 0) {
    if (::if_indextoname(index, name) != nullptr) out.dev = name;
  }
  out.via = netlink_ip(attributes, RTA_GATEWAY, family);
  out.source = netlink_ip(attributes, RTA_PREFSRC, family);
  const uint32_t table = netlink_number(attributes, RTA_TABLE);
  out.table = table_name(table != 0 ? table : route.rtm_table);
  out.type = std::to_string(route.rtm_type);
  for (const TypeRow& row : kTypes) {
    if (row.type != route.rtm_type) continue;
    out.type = row.name;
    if (row.err != 0) out.error = errno_name(row.err);
  }
}

// ---- neighbours ----

constexpr uint16_t kDiscardPort = 9;  // RFC 863
constexpr int64_t kTablePause = 20 * kMillisecond;

// What the kernel's table says about an address on an interface.
KernelNeighbour kernel_entry(const SocketAddress& wanted, int interface, const AgentCall& call) {
  const std::string ip = ip_text(wanted);
  const auto table = kernel_neighbours(wanted.family(), call);
  if (!table) return {};
  for (const KernelNeighbour& entry : *table) {
    if (entry.interface == interface && entry.ip == ip) return entry;
  }
  return {};
}

bool settled(const KernelNeighbour& entry) {
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
KernelNeighbour ask_kernel(const PairEnds& ends, int interface, int64_t timeout_ms,
                           const AgentCall& call) {
  wake_kernel(ends);
  const AgentCall patience = within(call, timeout_ms * kMillisecond);
  KernelNeighbour entry = kernel_entry(ends.to, interface, call);
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

Expected<RouteLookup> look_up_route(const PairEnds& ends, const AgentCall& call) {
  const int family = ends.to.family();
  rtmsg body{};
  body.rtm_family = static_cast<uint8_t>(family);
  body.rtm_flags = RTM_F_LOOKUP_TABLE;
  const uint8_t bits = family == AF_INET6 ? 128 : 32;
  body.rtm_dst_len = bits;
  body.rtm_src_len = ends.from.length != 0 ? bits : uint8_t{0};
  NetlinkRequest request(RTM_GETROUTE, 0, &body, sizeof body);
  add_ip(request, RTA_DST, ends.to);
  if (ends.from.length != 0) add_ip(request, RTA_SRC, ends.from);
  // Link-local destinations exist on every link: the one that is meant must be said.
  if (ends.to.link_local() && !ends.interface.empty()) {
    const uint32_t index = ::if_nametoindex(ends.interface.c_str());
    request.add(RTA_OIF, &index, sizeof index);
  }
  RouteLookup out;
  out.with_source = ends.from.length != 0;
  const Status asked = ask_netlink(
      request, call, [&](const nlmsghdr& message) { read_answer(message, family, out); });
  if (asked) return out;
  if (asked.error().sys_errno == 0) return fail(asked.error());
  out.error = errno_name(asked.error().sys_errno);
  for (const TypeRow& row : kTypes) {
    if (row.err != 0 && row.err == asked.error().sys_errno) out.type = row.name;
  }
  // A source that is not ours is refused with EINVAL too.
  if (out.with_source && asked.error().sys_errno == EINVAL) out.type.clear();
  return out;
}

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
  const KernelNeighbour entry = ask_kernel(ends, query.interface, patience, call);
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
