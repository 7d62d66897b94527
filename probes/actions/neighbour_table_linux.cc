#include "probes/actions/neighbour_table_linux.h"

#include <linux/neighbour.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>

#include "probes/actions/neighbour_table.h"
#include "probes/actions/netlink_linux.h"
#include "probes/actions/text.h"

namespace plumbline {
namespace {

struct StateRow {
  unsigned state;
  const char* name;
};
// As ip-neighbour(8) prints them.
constexpr StateRow kStates[] = {
    {NUD_INCOMPLETE, "INCOMPLETE"}, {NUD_REACHABLE, "REACHABLE"}, {NUD_STALE, "STALE"},
    {NUD_DELAY, "DELAY"},           {NUD_PROBE, "PROBE"},         {NUD_FAILED, "FAILED"},
    {NUD_NOARP, "NOARP"},           {NUD_PERMANENT, "PERMANENT"},
};

std::string interface_name(int index) {
  char name[IF_NAMESIZE] = "";
  return ::if_indextoname(static_cast<unsigned>(index), name) == nullptr ? "" : name;
}

}  // namespace

Expected<std::vector<KernelNeighbour>> kernel_neighbours(int family, const AgentCall& call) {
  ndmsg body{};
  body.ndm_family = static_cast<uint8_t>(family);
  const NetlinkRequest request(RTM_GETNEIGH, NLM_F_DUMP, &body, sizeof body);
  std::vector<KernelNeighbour> out;
  const auto read = [&](const nlmsghdr& message) {
    ndmsg entry{};
    if (message.nlmsg_type != RTM_NEWNEIGH || !netlink_body(message, &entry, sizeof entry)) return;
    // A bridge answers for its own table of MACs too (AF_BRIDGE).
    if (entry.ndm_family != AF_INET && entry.ndm_family != AF_INET6) return;
    if (family != AF_UNSPEC && entry.ndm_family != family) return;
    const auto attributes = netlink_attributes(message, sizeof entry);
    KernelNeighbour one;
    one.interface = entry.ndm_ifindex;
    one.ip = netlink_ip(attributes, NDA_DST, entry.ndm_family);
    if (const auto mac = attributes.find(NDA_LLADDR); mac != attributes.end()) {
      one.mac = mac_text(mac->second);
    }
    for (const StateRow& row : kStates) {
      if ((entry.ndm_state & row.state) != 0) one.state = row.name;
    }
    if (!one.ip.empty()) out.push_back(std::move(one));
  };
  if (const Status asked = ask_netlink(request, call, read); !asked) return fail(asked.error());
  return out;
}

std::optional<std::vector<WatchNeighbour>> read_neighbours(const std::set<std::string>& first,
                                                           size_t most, const AgentCall& call) {
  Expected<std::vector<KernelNeighbour>> table = kernel_neighbours(AF_UNSPEC, call);
  if (!table) return std::nullopt;
  std::stable_partition(table->begin(), table->end(), [&first](const KernelNeighbour& entry) {
    return first.count(entry.ip) > 0;
  });
  std::map<int, std::string> names;
  std::vector<WatchNeighbour> out;
  for (const KernelNeighbour& entry : *table) {
    // NOARP: multicast, broadcast, loopback. Without a state: not asked for yet.
    if (entry.state.empty() || entry.state == "NOARP") continue;
    if (out.size() == most) break;
    const auto [name, fresh] = names.try_emplace(entry.interface);
    if (fresh) name->second = interface_name(entry.interface);
    out.push_back({entry.ip, name->second, entry.state});
  }
  return out;
}

}  // namespace plumbline
