#include "scenarios/host_files/find_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scenarios/json_text.h"
#include "scenarios/placement.h"

namespace plumbline {
namespace {

std::string with_prefix(const NicAddress& address) {
  return fmt::format("{}/{}", address.ip, address.prefix);
}

// An IPv6 address of the link alone is on every interface and says nothing; 169.254.x.y is what a
// Thunderbolt cable without configuration has.
bool may_carry_data(const NicAddress& address) {
  return !address.loopback && !(address.v6 && address.link_local);
}

void take_interfaces(ScenarioHost& host, const std::vector<Nic>& nics, Problems& problems) {
  std::vector<std::string> wrong;
  for (const std::string& name : host.data_interfaces) {
    const auto nic = std::find_if(nics.begin(), nics.end(),
                                  [&name](const Nic& candidate) { return candidate.name == name; });
    if (nic == nics.end()) {
      wrong.push_back("there is no " + name);
      continue;
    }
    const size_t before = host.data.size();
    for (const NicAddress& address : nic->addresses) {
      if (may_carry_data(address)) host.data.push_back(with_prefix(address));
    }
    if (host.data.size() == before) wrong.push_back(name + " has no address");
  }
  if (!host.data.empty()) return;
  problems.add(host.name,
               fmt::format("has no data address on the interfaces behind its RDMA devices ({})",
                           fmt::join(wrong, ", ")),
               "give each of them an address, or name the addresses under test as `data` in a host "
               "file of our own form (plumbline hosts convert FILE --to ours)");
}

// The prefix lengths that a file does not say are those found on the machine.
void take_prefixes(ScenarioHost& host, const std::vector<Nic>& nics) {
  for (std::string& text : host.data) {
    if (text.find('/') != std::string::npos) continue;
    for (const Nic& nic : nics) {
      for (const NicAddress& address : nic.addresses) {
        if (address.ip == text && address.prefix > 0) text = with_prefix(address);
      }
    }
  }
}

// Own addresses in a subnet of the next host's, which are those that face this one. Where one that
// the file names does already (all are in one network), there are no others to find.
void take_towards_next(ScenarioHost& host, const ScenarioHost& next, const std::vector<Nic>& nics) {
  take_prefixes(host, nics);
  const bool there = std::any_of(host.data.begin(), host.data.end(),
                                 [&next](const std::string& own) { return faces(own, next); });
  if (there) return;
  for (const Nic& nic : nics) {
    for (const NicAddress& address : nic.addresses) {
      if (faces(with_prefix(address), next)) host.data.push_back(with_prefix(address));
    }
  }
}

}  // namespace

OrProblems<std::vector<ScenarioHost>> find_data(std::vector<ScenarioHost> hosts,
                                                const std::vector<std::vector<Nic>>& nics) {
  Problems problems;
  const std::vector<ScenarioHost> as_written = hosts;
  for (size_t i = 0; i < hosts.size() && i < nics.size(); ++i) {
    if (nics[i].empty()) continue;
    ScenarioHost& host = hosts[i];
    if (host.data.empty() && !host.data_interfaces.empty()) {
      take_interfaces(host, nics[i], problems);
    }
    if (host.ring) take_towards_next(host, as_written[(i + 1) % hosts.size()], nics[i]);
  }
  if (!problems.empty()) return tl::unexpected(problems.take());
  return hosts;
}

}  // namespace plumbline
