// NCCL over sockets.
#include <fmt/format.h>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/evidence_query.h"
#include "probes/stacks/choice.h"
#include "probes/stacks/models.h"

namespace plumbline {
namespace {

constexpr size_t kMostInterfaces = 16;  // MAX_IFS

// "^docker,lo" or "=eth0" or "eth,ib": prefixes, unless it begins with "=".
struct NameList {
  std::vector<std::string> names;
  bool exclude = false, exact = false;
  explicit NameList(std::string_view text) {
    if (text.starts_with('^')) exclude = true, text.remove_prefix(1);
    if (text.starts_with('=')) exact = true, text.remove_prefix(1);
    for (const std::string& part : split_at(text, ',')) {
      const std::string name = part.substr(0, part.find(':'));
      if (!name.empty()) names.push_back(name);
    }
  }
  bool takes(const std::string& interface) const {
    if (names.empty()) return !exclude;
    const bool named = any_of(names, [&](const std::string& name) {
      return exact ? interface == name : interface.starts_with(name);
    });
    return named != exclude;
  }
};

class NcclRank {
 public:
  NcclRank(PlannedRank& rank, StackPlan& plan) : rank_(rank), plan_(plan) {}

  void run() {
    const std::vector<StackAddress> found = interfaces();
    if (found.empty()) {
      const std::string list = rank_.variable("NCCL_SOCKET_IFNAME");
      rank_.cannot("no interface fits");
      rank_.trap(
          "stack.interface", "fail",
          list.empty()
              ? fmt::format("{} has no interface that is up with an address", rank_.rank().host)
              : fmt::format("NCCL_SOCKET_IFNAME={}: no interface of {} fits ('Bootstrap : no "
                            "socket interface found')",
                            list, rank_.rank().host),
          set_interface(plan_, rank_.host()));
      return;
    }
    rank_.choose(found[0], why_);
    for (size_t i = 1; i < found.size(); ++i) rank_.rank().also.push_back(shown(found[i]));
    rank_.ephemeral("bootstrap, proxy and data (NCCL)", found[0].address->ip);
    for (size_t i = 1; i < found.size(); ++i) {
      rank_.ephemeral("data (NCCL)", found[i].address->ip);
    }
  }

 private:
  // ncclOsFindInterfaces: the first address of each interface that the list takes.
  std::vector<StackAddress> find(const NameList& list) const {
    const std::string family = rank_.variable("NCCL_SOCKET_FAMILY");
    std::vector<StackAddress> out;
    for (const StackAddress& at : addresses_in_order(rank_.host(), Wants::kRunning)) {
      const bool v6 = is_v6(at.address->ip);
      if ((family == "AF_INET" && v6) || (family == "AF_INET6" && !v6)) continue;
      if (v6 && is_loopback_ip(at.address->ip)) continue;
      if (!list.takes(at.interface->name) || out.size() == kMostInterfaces) continue;
      const bool known =
          any_of(out, [&](const StackAddress& other) { return other.interface == at.interface; });
      if (!known) out.push_back(at);
    }
    return out;
  }

  std::vector<StackAddress> interfaces() {
    const std::string list = rank_.variable("NCCL_SOCKET_IFNAME");
    if (list.size() > 1) {
      why_ = "NCCL_SOCKET_IFNAME=" + list;
      return find(NameList(list));
    }
    std::vector<StackAddress> found = find(NameList("ib"));
    why_ = "interfaces whose name begins with ib go first";
    if (!found.empty()) return found;
    const std::string id = rank_.variable("NCCL_COMM_ID");
    const std::string ip = id.substr(0, id.rfind(':'));
    if (!id.empty()) {
      const auto near = first_address(
          rank_.host(), [&](const StackAddress& at) { return shares_subnet(at, ip); });
      why_ = "it is in the subnet of NCCL_COMM_ID";
      if (near) return {*near};
    }
    why_ =
        "the first interface that is up and is not docker, lo or virbr; NCCL_SOCKET_IFNAME is "
        "not set";
    found = find(NameList("^docker,lo,virbr"));
    for (const char* last : {"docker", "lo", "virbr"}) {
      if (!found.empty()) return found;
      why_ = fmt::format("there is nothing but {}", last);
      found = find(NameList(last));
    }
    return found;
  }

  PlannedRank& rank_;
  StackPlan& plan_;
  std::string why_;
};

void plan_comm_id(const StackQuestion& question, StackPlan& plan) {
  PlannedRank first(question, plan, 0);
  const std::string id = first.variable("NCCL_COMM_ID");
  if (id.empty()) return;
  const size_t colon = id.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse_port(id.substr(colon + 1));
  if (!port) {
    first.trap("config.mismatch", "fail", fmt::format("NCCL_COMM_ID={} is no ADDRESS:PORT", id),
               "give NCCL_COMM_ID as an address of rank 0 and a port");
    return;
  }
  plan.rendezvous_host = first.rank().host;
  plan.rendezvous_ip = id.substr(0, colon);
  plan.rendezvous_port = *port;
  first.fixed("rendezvous (NCCL_COMM_ID)", plan.rendezvous_ip, *port);
}

}  // namespace

void plan_nccl(const StackQuestion& question, StackPlan& plan) {
  if (plan.ranks.empty()) return;
  // NCCL itself hands its id over by whatever the program uses: PyTorch's store, mostly.
  PlannedRank zero(question, plan, 0);
  if (zero.is_set("NCCL_COMM_ID")) {
    plan_comm_id(question, plan);
  } else {
    plan_torch_store(question, plan);
  }
  for (size_t i = 0; i < plan.ranks.size(); ++i) {
    PlannedRank rank(question, plan, i);
    if (!rank.known()) {
      rank.cannot("the host's interfaces are not known");
      continue;
    }
    NcclRank(rank, plan).run();
    const bool devices = rank.host().rdma && !rank.host().rdma->devices.empty();
    if (devices && rank.variable("NCCL_IB_DISABLE") != "1") {
      plan.remarks.push_back(
          fmt::format("{} has RDMA devices, which NCCL takes for its data unless "
                      "NCCL_IB_DISABLE=1; sockets then carry its bootstrap only",
                      rank.rank().host));
    }
  }
}

}  // namespace plumbline
