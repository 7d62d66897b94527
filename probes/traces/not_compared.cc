#include "probes/traces/not_compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace plumbline {
namespace {

using Pair = std::pair<IpAddress, IpAddress>;

std::set<Pair> pairs_of(const Analysis& trace) {
  std::set<Pair> pairs;
  for (const FlowState& flow : trace.flows()) {
    pairs.insert(std::minmax(flow.a.ip, flow.b.ip));
  }
  return pairs;
}

bool share_hosts(const Analysis& first, const Analysis& second) {
  const std::set<Pair> here = pairs_of(first), there = pairs_of(second);
  return std::any_of(here.begin(), here.end(),
                     [&](const Pair& pair) { return there.count(pair) > 0; });
}

// One capture given twice, or a part of it: two hosts never see everything at the same time.
bool is_one_capture(const Analysis& first, const Analysis& second,
                    const std::vector<CommonPacket>& common) {
  const auto same = [&](const CommonPacket& packet) {
    return packet.delta() == common.front().delta() && packet.first.ttl == packet.second.ttl;
  };
  if (!std::all_of(common.begin(), common.end(), same)) return false;
  // By directions, which only one place can show like that.
  std::set<std::pair<Endpoint, Endpoint>> ways;
  for (const CommonPacket& packet : common) {
    const FlowState& flow = first.flows()[static_cast<size_t>(packet.first.flow)];
    ways.insert(packet.first.side == 0 ? std::pair(flow.a, flow.b) : std::pair(flow.b, flow.a));
  }
  const bool both_ways = std::any_of(ways.begin(), ways.end(), [&](const auto& way) {
    return ways.count({way.second, way.first}) > 0;
  });
  return both_ways || (common.front().delta() == 0 && first.packets() == second.packets() &&
                       static_cast<int64_t>(common.size()) == first.packets());
}

std::string nothing_common(const Analysis& first, const Analysis& second) {
  const std::string ranges = fmt::format(
      "by its clock the first covers {} to {}, the second {} to {}", trace_time(first.first_ns()),
      trace_time(first.last_ns()), trace_time(second.first_ns()), trace_time(second.last_ns()));
  if (!share_hosts(first, second)) {
    return "no packet is in both files, and no two hosts are that speak with each other in both: "
           "these are captures of other hosts, or everything between the two was lost (" +
           ranges + ")";
  }
  const bool apart = first.last_ns() < second.first_ns() || second.last_ns() < first.first_ns();
  if (apart) {
    return "no packet is in both files: they were captured at different times (" + ranges + ")";
  }
  return "no packet is in both files, so nothing tells how their clocks compare: they were "
         "captured "
         "at different times by clocks that disagree, or everything between the two was lost (" +
         ranges + ")";
}

}  // namespace

std::string why_not_compared(const Analysis& first, const Analysis& second,
                             const std::vector<CommonPacket>& common, bool any_flow) {
  if (first.packets() == 0 && second.packets() == 0) return "neither file holds a packet";
  if (first.packets() == 0 || second.packets() == 0) {
    const bool first_is = first.packets() == 0;
    return fmt::format(
        "the {} file holds no packet, so nothing tells what time it covers; if it was captured "
        "while the {} one was, nothing of that came to its wire",
        first_is ? "first" : "second", first_is ? "second" : "first");
  }
  if (common.empty()) return nothing_common(first, second);
  if (is_one_capture(first, second, common)) {
    return "both files are of one capture: what one has, the other has at the same time; give one "
           "from each host";
  }
  if (!any_flow) {
    return "no flow runs between the two hosts that captured, as far as the files tell these; "
           "--first-at ADDRESS names the first file's host";
  }
  return "";
}

}  // namespace plumbline
