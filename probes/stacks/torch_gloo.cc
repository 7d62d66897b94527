// PyTorch with the backend gloo, over TCP.
#include <fmt/format.h>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/evidence_query.h"
#include "probes/stacks/choice.h"
#include "probes/stacks/models.h"

namespace plumbline {
namespace {

constexpr const char* kPairs = "connections of peers (gloo)";

// ProcessGroupGloo takes each interface of the list; the first one carries the first connection.
void by_interface(PlannedRank& rank, StackPlan& plan) {
  const std::string list = rank.variable("GLOO_SOCKET_IFNAME");
  for (const std::string& name : split_at(list, ',')) {
    const auto at = first_address(
        rank.host(), [&](const StackAddress& each) { return each.interface->name == name; });
    if (!at) {
      rank.cannot(fmt::format("GLOO_SOCKET_IFNAME names {}, which has no address here", name));
      const std::string other = meant_interface(plan, rank.host());
      rank.trap("stack.interface", "fail",
                fmt::format("GLOO_SOCKET_IFNAME={}: {} has no interface '{}' with an address that "
                            "is up",
                            list, rank.rank().host, name),
                other.empty() ? "give the name of an interface that this host has"
                              : set_interface(plan, rank.host()));
      return;
    }
    if (rank.rank().ip.empty()) {
      rank.choose(*at,
                  fmt::format("the first address of {}, which GLOO_SOCKET_IFNAME names", name));
    } else {
      rank.rank().also.push_back(shown(*at));
    }
    rank.ephemeral(kPairs, at->address->ip);
  }
}

// One of each two ranks waits: the one with the lower address (Device::isInitiator).
void name_callers(StackPlan& plan) {
  plan.higher_calls = true;
  for (StackRank& rank : plan.ranks) {
    const auto own = parse_ip(rank.ip);
    if (!own) continue;
    std::vector<std::string> callers;
    for (const StackRank& peer : plan.ranks) {
      const auto other = parse_ip(peer.ip);
      if (peer.host == rank.host || (other && *other < *own)) continue;
      if (!is_in(callers, peer.host)) callers.push_back(peer.host);
    }
    for (StackListener& listener : rank.listeners) {
      if (listener.purpose == kPairs) listener.callers = callers;
    }
  }
}

// What getaddrinfo(3) gives for gethostname(2), as far as it can be bound; else loopback.
void by_own_name(PlannedRank& rank, StackPlan& plan) {
  plan.own_name = true;
  const NameEvidence* own =
      find_where(rank.host().names, [](const NameEvidence& name) { return name.role == "own"; });
  if (own == nullptr) {
    rank.cannot("what the host's own name gives is not known");
    return;
  }
  std::vector<std::string> found = own->v4;
  found.insert(found.end(), own->v6.begin(), own->v6.end());
  for (const std::string& ip : found) {
    const auto at = carrier_on(rank.host(), ip);
    if (!at) continue;
    rank.choose(ip, fmt::format("the host's own name '{}' gives it, and GLOO_SOCKET_IFNAME is not "
                                "set",
                                own->name));
    rank.ephemeral(kPairs, ip);
    return;
  }
  rank.choose(
      "127.0.0.1",
      fmt::format("the host's own name '{}' gives {}: gloo falls back to loopback", own->name,
                  found.empty() ? "no address" : join_words(found) + ", not of this host"));
  rank.ephemeral(kPairs, "127.0.0.1");
}

}  // namespace

void plan_torch_gloo(const StackQuestion& question, StackPlan& plan) {
  plan_torch_store(question, plan);
  for (size_t i = 0; i < plan.ranks.size(); ++i) {
    PlannedRank rank(question, plan, i);
    if (!rank.known()) {
      rank.cannot("the host's interfaces are not known");
    } else if (!rank.variable("GLOO_SOCKET_IFNAME").empty()) {
      by_interface(rank, plan);
    } else {
      by_own_name(rank, plan);
    }
  }
  name_callers(plan);
}

}  // namespace plumbline
