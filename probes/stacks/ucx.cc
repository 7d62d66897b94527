// UCX over TCP, for MPIs that are built on it.
#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/evidence_query.h"
#include "probes/ports.h"
#include "probes/stacks/choice.h"
#include "probes/stacks/models.h"

namespace plumbline {
namespace {

constexpr const char* kPurpose = "connections of peers (UCX tcp)";

bool is_default(const HostEvidence& host, const std::string& interface) {
  return any_of(host.routes, [&](const RouteEvidence& route) {
    return route.destination == "default" && route.dev == interface;
  });
}

// Of each interface the first address; the ones in front are the better ones: faster, and then the
// one of the default route (UCX_TCP_PREFER_DEFAULT).
std::vector<StackAddress> devices_of(const PlannedRank& rank) {
  const std::string wanted = rank.variable("UCX_NET_DEVICES");
  const bool all = wanted.empty() || wanted == "all";
  std::vector<StackAddress> out;
  for (const StackAddress& at : addresses_in_order(rank.host(), Wants::kRunning)) {
    const std::vector<std::string> names = split_at(wanted, ',');
    if (!all && !is_in(names, at.interface->name)) continue;
    if (is_loopback(at)) continue;  // connects to loopback of the same host only
    const bool known =
        any_of(out, [&](const StackAddress& other) { return other.interface == at.interface; });
    if (!known) out.push_back(at);
  }
  const auto worth = [&](const StackAddress& at) {
    return std::pair{at.interface->speed_bps.value_or(0),
                     is_default(rank.host(), at.interface->name)};
  };
  std::stable_sort(out.begin(), out.end(), [&](const StackAddress& a, const StackAddress& b) {
    return worth(a) > worth(b);
  });
  return out;
}

}  // namespace

void plan_ucx_rank(const StackQuestion& question, StackPlan& plan, size_t index) {
  PlannedRank rank(question, plan, index);
  if (!rank.known()) return rank.cannot("the host's interfaces are not known");
  const std::vector<StackAddress> found = devices_of(rank);
  const std::string wanted = rank.variable("UCX_NET_DEVICES");
  if (found.empty()) {
    rank.cannot("no device fits");
    rank.trap("stack.interface", "fail",
              fmt::format("{} has no interface that is up{}", rank.rank().host,
                          wanted.empty() ? "" : " and that UCX_NET_DEVICES=" + wanted + " names"),
              fmt::format("set UCX_NET_DEVICES={} for the ranks on {}",
                          meant_interface(plan, rank.host()), rank.rank().host));
    return;
  }
  rank.choose(found[0], wanted.empty() || wanted == "all"
                            ? "UCX_NET_DEVICES is not set: the fastest interface, then that of the "
                              "default route; all of them are given to the peers"
                            : "UCX_NET_DEVICES=" + wanted);
  for (size_t i = 1; i < found.size(); ++i) rank.rank().also.push_back(shown(found[i]));
  const auto range = port_span(rank.variable("UCX_TCP_PORT_RANGE"), '-');
  for (const StackAddress& at : found) {
    if (range) {
      rank.rank().listeners.push_back(
          {kPurpose, at.address->ip, "ephemeral", range->first, range->second});
    } else {
      rank.ephemeral(kPurpose, at.address->ip);
    }
  }
  if (wanted.empty() || wanted == "all" || is_in(split_at(wanted, ','), std::string("lo"))) {
    rank.ephemeral("ranks of the same host (UCX tcp)", "127.0.0.1");
  }
}

}  // namespace plumbline
