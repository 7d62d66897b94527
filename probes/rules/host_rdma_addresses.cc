// Devices of a Mac that the host file's matrix names, and whose port has no address of IPv4 but one
// of 169.254/16: macOS gave it to the port itself when no DHCP server answered. RDMA works with the
// GID that is made of it, until the Mac or the cable's other end starts anew: then there is none
// for minutes, and often another one.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

struct SelfAssigned {
  std::string device, interface, ip;
};

// Its only address of IPv4, where that is a self-assigned one; else empty.
std::string self_assigned_ip(const InterfaceEvidence& port) {
  std::string out;
  for (const AddressEvidence& address : port.addresses) {
    if (is_v6(address.ip)) continue;
    if (!is_link_local_ip(address.ip)) return {};
    out = address.ip;
  }
  return out;
}

// Where the table is not known it is taken to be there; one that lacks it is rdma.no_gid.
bool has_mapped_gid(const RdmaDevice& device, const std::string& ip) {
  const auto mapped = parse_ip("::ffff:" + ip);
  const auto is_mapped = [&](const std::string& gid) { return mapped && parse_ip(gid) == mapped; };
  return device.gids.empty() || any_of(device.gids, is_mapped);
}

std::vector<std::string> matrix_devices(const JobHost& job) {
  std::vector<std::string> out = job.rdma_devices;
  for (const auto& row : job.rdma_towards) {
    for (const std::string& device : row.second) {
      if (!is_in(out, device)) out.push_back(device);
    }
  }
  return out;
}

std::vector<SelfAssigned> self_assigned_of(const HostView& view) {
  std::vector<SelfAssigned> out;
  if (view.host->system != "macos" || !view.host->rdma) return out;
  for (const std::string& name : matrix_devices(*view.job)) {
    const RdmaDevice* const device = find_where(
        view.host->rdma->devices, [&](const RdmaDevice& one) { return one.name == name; });
    const InterfaceEvidence* const port =
        device == nullptr ? nullptr : find_interface(*view.host, device->netdev);
    if (port == nullptr || !is_usable(*port)) continue;
    const std::string ip = self_assigned_ip(*port);
    // What the host file names is judged by the rules about data addresses.
    const bool named = any_of(data_of(*view.job), [&](const Cidr& data) { return data.ip == ip; });
    if (!ip.empty() && !named && has_mapped_gid(*device, ip)) out.push_back({name, port->name, ip});
  }
  return out;
}

}  // namespace

Candidates propose_self_assigned(const EvidenceSet& evidence, const Checks& checks) {
  Candidates out;
  for (const HostView& view : host_views(evidence)) {
    const std::vector<SelfAssigned> found = self_assigned_of(view);
    if (found.empty()) continue;
    Proposal proposal("ip.link_local_only", Severity::kWarn, view.job->name);
    std::vector<std::string> interfaces;
    for (const SelfAssigned& one : found) {
      if (!is_in(interfaces, one.interface)) interfaces.push_back(one.interface);
      proposal.see(view.job->name, "",
                   fmt::format("{} over {} has its GID from {} alone, which macOS gave to the port "
                               "itself: after a restart it is missing for minutes, and then often "
                               "another one",
                               one.device, one.interface, one.ip));
    }
    out.push_back(proposal
                      .remedy(fmt::format(
                          "give {} a fixed address of a /30 for its cable, the other end too: "
                          "`plumbline hosts discover HOST...` plans them, with the commands",
                          join_words(interfaces, " and ")))
                      .proven()
                      .take(checks));
  }
  return out;
}

}  // namespace plumbline
