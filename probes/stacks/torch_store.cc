// PyTorch's meeting point, which several stacks share.
#include <fmt/format.h>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/stacks/choice.h"

namespace plumbline {
namespace {

constexpr int kTorchPort = 29500;  // torch/distributed/constants.py, torchrun's default

// The first data address of a host, without its prefix.
std::string data_ip(const EvidenceSet& evidence, const std::string& host) {
  const JobHost* job = find_job_host(evidence, host);
  return job == nullptr || job->data.empty() ? std::string() : parse_cidr(job->data[0]).ip;
}

std::vector<std::string> known_as(const HostEvidence& host, const std::string& name) {
  std::vector<std::string> out;
  for (const NameEvidence& each : host.names) {
    if (each.name != name) continue;
    out.insert(out.end(), each.v4.begin(), each.v4.end());
    out.insert(out.end(), each.v6.begin(), each.v6.end());
  }
  return out;
}

bool is_address(const std::string& text) { return parse_ip(text).has_value(); }

// A rank looks the master up on its own host: what it finds there must lead to rank 0's.
void judge_master_name(PlannedRank& rank, const HostEvidence& first, const std::string& master) {
  if (!rank.known() || first.interfaces.empty() || is_address(master)) return;
  const bool asked =
      any_of(rank.host().names, [&](const NameEvidence& name) { return name.name == master; });
  const std::vector<std::string> found = known_as(rank.host(), master);
  if (!asked) return;
  const std::string& where = rank.rank().host;
  const std::string remedy = "set MASTER_ADDR to an address of " + first.name + " in numbers";
  if (found.empty()) {
    rank.trap("name.unresolved", "fail",
              fmt::format("{} cannot resolve MASTER_ADDR={}", where, master), remedy);
  } else if (where != first.name && all_of(found, is_loopback_ip)) {
    rank.trap("name.loopback", "fail",
              fmt::format("MASTER_ADDR={} is {} on {}: it would look for rank 0 on itself", master,
                          join_words(found), where),
              remedy);
  } else if (none_of(found,
                     [&](const std::string& ip) { return carrier_on(first, ip).has_value(); })) {
    rank.trap("name.wrong_address", "fail",
              fmt::format("MASTER_ADDR={} is {} on {}, which is no address of {}, where rank 0 is",
                          master, join_words(found), where, first.name),
              remedy);
  }
}

}  // namespace

void plan_torch_store(const StackQuestion& question, StackPlan& plan) {
  if (plan.ranks.empty()) return;
  PlannedRank first(question, plan, 0);
  std::string master = first.variable("MASTER_ADDR");
  if (master.empty()) {
    master = data_ip(*question.evidence, first.rank().host);
    plan.remarks.push_back(fmt::format(
        "MASTER_ADDR is not given: {} of rank 0 is taken; torchrun without --master-addr, or with "
        "--rdzv-backend=c10d, chooses another one",
        master.empty() ? "no address" : master));
  }
  const int port = first.port("MASTER_PORT", kTorchPort);
  plan.rendezvous_host = first.rank().host;
  plan.rendezvous_port = port;
  plan.rendezvous_ip = master;
  first.fixed("rendezvous (TCPStore)", "0.0.0.0", port);
  if (is_address(master) && first.known() && !carrier_on(first.host(), master)) {
    first.trap("name.wrong_address", "fail",
               fmt::format("MASTER_ADDR={} is no address of {}, where rank 0 listens", master,
                           first.rank().host),
               fmt::format("set MASTER_ADDR to an address of {}", first.rank().host), {port});
  }
  if (all_of(question.evidence->job.hosts, only_loopback)) return;  // all are one machine
  for (size_t i = 0; i < plan.ranks.size(); ++i) {
    PlannedRank rank(question, plan, i);
    judge_master_name(rank, first.host(), master);
    const bool self = is_address(master) && is_loopback_ip(master);
    if (!self || rank.rank().host == first.rank().host) continue;
    rank.trap("name.loopback", "fail",
              fmt::format("MASTER_ADDR={} is {} itself, and rank 0 is on {}", master,
                          rank.rank().host, first.rank().host),
              fmt::format("set MASTER_ADDR to an address of {}", first.rank().host), {port});
  }
}

}  // namespace plumbline
