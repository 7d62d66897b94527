// MCCL over TCP.
#include <fmt/format.h>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/stacks/choice.h"
#include "probes/stacks/models.h"

namespace plumbline {
namespace {

constexpr int kPortBase = 20100, kLastOfAll = 65535;

class McclRank {
 public:
  McclRank(PlannedRank& rank, StackPlan& plan) : rank_(rank), plan_(plan) {}

  void run(int world) {
    const std::string given = rank_.variable("MCCL_LISTEN_ADDR");
    const std::string bind = choose(given);
    const int base = rank_.port("MCCL_PORT_BASE", kPortBase);
    if (base == 0) return;
    const int port = base + rank_.rank().rank;
    if (port > kLastOfAll) {
      rank_.trap("tcp.port_collision", "fail",
                 fmt::format("MCCL_PORT_BASE {} and rank {} give port {}, which there is not", base,
                             rank_.rank().rank, port),
                 fmt::format("MCCL_PORT_BASE={}", kLastOfAll - world));
      return;
    }
    rank_.window("connections of peers", bind, port, port);
  }

 private:
  // Returns the address that it binds.
  std::string choose(const std::string& given) {
    if (!given.empty() && given != "0.0.0.0") {
      rank_.choose(given, "MCCL_LISTEN_ADDR");
      if (!carrier_on(rank_.host(), given)) {
        rank_.trap("stack.interface", "fail",
                   fmt::format("MCCL_LISTEN_ADDR={} is no address of {}", given, rank_.rank().host),
                   "set MCCL_LISTEN_ADDR on each host to its own address");
      }
      return given;
    }
    const std::string named = rank_.variable("MCCL_IFNAME");
    if (!named.empty()) {
      plan_.remarks.push_back(fmt::format(
          "MCCL_IFNAME={} selects nothing: it only switches the search for Thunderbolt off",
          named));
    } else if (const auto cable = thunderbolt()) {
      rank_.choose(*cable,
                   "a self-assigned address (169.254/16) on a bridge or an en interface "
                   "looks like Thunderbolt, and wins");
      return cable->address->ip;
    }
    publish();
    return "0.0.0.0";
  }

  std::optional<StackAddress> thunderbolt() const {
    for (const char* prefix : {"bridge", "en"}) {
      const auto found = first_address(rank_.host(), [&](const StackAddress& at) {
        return at.interface->name.starts_with(prefix) && !is_v6(at.address->ip) &&
               is_link_local_ip(at.address->ip);
      });
      if (found) return found;
    }
    return std::nullopt;
  }

  // What is told to peers while 0.0.0.0 is bound.
  void publish() {
    const std::string master = plan_.rendezvous_ip;
    const auto v4 = [](const StackAddress& at) {
      return !is_v6(at.address->ip) && !is_loopback(at);
    };
    for (const bool link_local : {false, true}) {
      const auto near = first_address(rank_.host(), [&](const StackAddress& at) {
        return v4(at) && is_link_local_ip(at.address->ip) == link_local &&
               shares_subnet(at, master);
      });
      if (near) return rank_.choose(*near, "it is in the subnet of MASTER_ADDR");
    }
    const auto any = first_address(rank_.host(), v4);
    if (any) return rank_.choose(*any, "the first interface that is not loopback");
    rank_.cannot("there is no IPv4 interface but loopback");
  }

  PlannedRank& rank_;
  StackPlan& plan_;
};

void judge_ports(StackPlan& plan) {
  for (const StackRank& rank : plan.ranks) {
    for (const StackListener& listener : rank.listeners) {
      if (listener.kind != "window" || listener.first != plan.rendezvous_port) continue;
      plan.traps.push_back(
          {"tcp.port_collision",
           "fail",
           rank.host,
           {},
           {listener.first},
           fmt::format("rank {} would listen on port {}, which is MASTER_PORT as well", rank.rank,
                       listener.first),
           fmt::format("MCCL_PORT_BASE={}", plan.rendezvous_port + 100)});
    }
  }
}

}  // namespace

void plan_mccl(const StackQuestion& question, StackPlan& plan) {
  plan_torch_store(question, plan);
  const int world = static_cast<int>(plan.ranks.size());
  for (size_t i = 0; i < plan.ranks.size(); ++i) {
    PlannedRank rank(question, plan, i);
    if (rank.known()) {
      McclRank(rank, plan).run(world);
    } else {
      rank.cannot("the host's interfaces are not known");
    }
  }
  judge_ports(plan);
  plan.remarks.emplace_back(
      "ranks connect with 30 attempts of a second each and wait 30 s for each other: a connection "
      "that is none of theirs (a port scan) at the start ends the job");
}

}  // namespace plumbline
