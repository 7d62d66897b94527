#include <net/if.h>
#include <netinet/in.h>

#include <cerrno>

#include "probes/actions/netlink_linux.h"
#include "probes/actions/route.h"

namespace plumbline {
namespace {

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
  if (address.family() == AF_INET6) {
    const auto& in6 = *reinterpret_cast<const sockaddr_in6*>(&address.storage);
    request.add(type, &in6.sin6_addr, sizeof in6.sin6_addr);
  } else {
    const auto& in4 = *reinterpret_cast<const sockaddr_in*>(&address.storage);
    request.add(type, &in4.sin_addr, sizeof in4.sin_addr);
  }
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

}  // namespace plumbline
