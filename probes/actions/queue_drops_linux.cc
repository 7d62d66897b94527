#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "probes/actions/netlink_linux.h"
#include "probes/actions/queue_drops.h"

namespace plumbline {

std::map<int, int64_t> read_queue_drops(const AgentCall& call) {
  const tcmsg everything{};
  const NetlinkRequest request(RTM_GETQDISC, NLM_F_DUMP, &everything, sizeof everything);
  std::map<int, int64_t> out;
  const Status asked = ask_netlink(request, call, [&out](const nlmsghdr& message) {
    tcmsg entry{};
    if (message.nlmsg_type != RTM_NEWQDISC || !netlink_body(message, &entry, sizeof entry)) return;
    // The root counts what its children throw away.
    if (entry.tcm_parent != TC_H_ROOT) return;
    const auto attributes = netlink_attributes(message, sizeof entry);
    const auto found = attributes.find(TCA_STATS);
    tc_stats stats{};
    // Older and newer kernels pad it differently.
    constexpr size_t kEnough = offsetof(tc_stats, drops) + sizeof stats.drops;
    if (found == attributes.end() || found->second.size() < kEnough) return;
    std::memcpy(&stats, found->second.data(), std::min(found->second.size(), sizeof stats));
    out[entry.tcm_ifindex] = stats.drops;
  });
  static_cast<void>(asked);  // what was told until then is told
  return out;
}

}  // namespace plumbline
