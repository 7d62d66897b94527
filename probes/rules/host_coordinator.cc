// The address under which rank 0 coordinates, as the host file names it, is not on the first host:
// addresses change when Macs restart, and hosts are put into another order. What a stack of the
// user's own takes is judged by its model (probes/stacks).
#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

const InterfaceEvidence* with_address(const HostEvidence& host, const Ip& ip) {
  return find_where(host.interfaces, [&](const InterfaceEvidence& interface) {
    return any_of(interface.addresses,
                  [&](const AddressEvidence& own) { return parse_zoned_ip(own.ip) == ip; });
  });
}

bool is_of_one_host(const Ip& ip) {
  const bool any = all_of(ip.bytes, [](uint8_t byte) { return byte == 0; });
  return !any && !ip.loopback();
}

}  // namespace

Candidates propose_coordinator(const EvidenceSet& evidence, const Checks& checks) {
  const Job& job = evidence.job;
  const std::optional<Ip> ip = parse_ip(job.coordinator);
  if (!ip || !is_of_one_host(*ip) || job.hosts.empty() || evidence.stack) return {};
  if (evidence.job_seen) return {};  // its ranks have met, wherever that was
  if (!job.rdma) return {};          // over TCP alone nothing listens there
  const std::string& first = job.hosts.front().name;
  const HostEvidence* const host = find_host(evidence, first);
  if (host == nullptr || !has_facts(*host)) return {};
  if (with_address(*host, *ip) != nullptr) return {};
  Proposal proposal("ip.missing", job.rdma_or_tcp ? Severity::kWarn : Severity::kFail, first);
  proposal.see(
      first, "",
      fmt::format("rank 0 would listen on {}, the coordinator of the host file, which is no "
                  "address of {} (bind fails with errno {})",
                  to_text(*ip), first, host->system == "macos" ? 49 : 99));
  Remedy remedy("write the host file anew: addresses change when Macs restart");
  const HostEvidence* const owner = find_where(evidence.hosts, [&](const HostEvidence& other) {
    return other.name != first && with_address(other, *ip) != nullptr;
  });
  if (owner == nullptr) {
    proposal.see(first, "", fmt::format("no host that was asked has {}", to_text(*ip)));
  } else {
    proposal.see(owner->name, "",
                 fmt::format("{} has it, on {}", owner->name, with_address(*owner, *ip)->name));
    remedy.say(fmt::format("or put {} first in it, where the ranks were meant to begin there",
                           owner->name));
  }
  Candidates out;
  out.push_back(proposal.remedy(remedy).proven().take(checks));
  return out;
}

}  // namespace plumbline
