// RDMA, for a job that asks for it: each host's devices, and then each two hosts with one another.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/encode.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"
#include "probes/gather/gather.h"
#include "probes/rdma_rungs.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

constexpr int64_t kRungsMs = 30'000;  // of a child that climbs

// What the job would need of its devices.
void climb_rdma_devices(ProbeContext& context) {
  constexpr size_t kMostDevices = 8;
  EvidenceSet& evidence = context.evidence;
  AgentBatch batch(context);
  for (size_t i = 0; i < evidence.hosts.size(); ++i) {
    HostEvidence& host = evidence.hosts[i];
    if (!host.rdma || !same_as_earlier(evidence, evidence.job.hosts[i]).empty()) continue;
    const std::vector<std::string>& named = evidence.job.hosts[i].rdma_devices;
    size_t asked = 0;
    for (const RdmaDevice& device : host.rdma->devices) {
      if (!named.empty() && !is_in(named, device.name)) continue;
      if (++asked > kMostDevices) break;
      batch.ask(i, AskRdma{device.name, device.port, {}, evidence.job.deep}, kRungsMs,
                [&host](RdmaClimb climb) { host.rdma->climbs.push_back(std::move(climb)); });
    }
  }
  batch.collect();
}

bool went_through(const RdmaClimb& climb) {
  return climb.rungs.size() >= rdma_rungs().size() &&
         none_of(climb.rungs, [](const RdmaRung& rung) { return !rung.error.empty(); });
}

// The devices that face the peer, whose address of this host is `own_ip`, rail by rail: those of
// the host file's matrix, where it has one; else the one over that address' interface or with it as
// its GID; else the only one. An empty name = one that did not go through all steps.
std::vector<std::string> devices_towards(const EvidenceSet& evidence, size_t host, size_t peer,
                                         const std::string& own_ip) {
  const HostEvidence& here = evidence.hosts[host];
  if (!here.rdma) return {};
  std::vector<std::string> sound;
  for (const RdmaClimb& climb : here.rdma->climbs) {
    if (went_through(climb)) sound.push_back(climb.device);
  }
  const auto& named = evidence.job.hosts[host].rdma_towards;
  if (!named.empty()) {
    const auto found = named.find(evidence.job.hosts[peer].name);
    if (found == named.end()) return {};
    std::vector<std::string> rails = found->second;
    for (std::string& device : rails) {
      if (!is_in(sound, device)) device.clear();
    }
    return rails;
  }
  const InterfaceEvidence* const carrier = carrier_of(here, own_ip);
  for (const RdmaDevice& device : here.rdma->devices) {
    if (carrier != nullptr && device.netdev == carrier->name && is_in(sound, device.name)) {
      return {device.name};
    }
  }
  for (const RdmaClimb& climb : here.rdma->climbs) {
    const bool has_own = any_of(climb.rungs, [&](const RdmaRung& rung) {
      return rung.text.rfind("::ffff:" + own_ip + " ", 0) == 0;
    });
    if (has_own && is_in(sound, climb.device)) return {climb.device};
  }
  return sound.size() == 1 ? sound : std::vector<std::string>();
}

// Both agents at once; the later host of the two listens, on a port of the job. Of each pair the
// rail of this number; returns whether any has one.
bool meet_round(ProbeContext& context, const std::vector<std::pair<size_t, size_t>>& round,
                size_t rail) {
  EvidenceSet& evidence = context.evidence;
  AgentBatch batch(context);
  bool any = false;
  for (const auto& [a, b] : round) {
    if (context.agents[a] == nullptr || context.agents[b] == nullptr) continue;
    const PairEvidence* const pair =
        find_pair(evidence, evidence.hosts[a].name, evidence.hosts[b].name);
    if (pair == nullptr || !pair->skipped.empty() || pair->same_machine) continue;
    const std::vector<std::string> rails[] = {devices_towards(evidence, a, b, pair->from_ip),
                                              devices_towards(evidence, b, a, pair->to_ip)};
    if (rail >= std::min(rails[0].size(), rails[1].size())) continue;
    any = true;
    if (rails[0][rail].empty() || rails[1][rail].empty()) continue;
    AskRdmaMeet asked;
    asked.nonce = to_hex(random_token()).substr(0, 16);
    const std::vector<int>& ports = evidence.job.ports;
    asked.port = ports[b % ports.size()];
    for (const bool listens : {true, false}) {
      const size_t host = listens ? b : a, peer = listens ? a : b;
      const PairEvidence* const way =
          find_pair(evidence, evidence.hosts[host].name, evidence.hosts[peer].name);
      static_cast<AskedWay&>(asked) = way_of(evidence, way == nullptr ? *pair : *way);
      asked.listens = listens;
      asked.device = rails[listens ? 1 : 0][rail];
      batch.ask(host, asked, kRungsMs, [&evidence, host, peer](RdmaClimb met) {
        met.peer = evidence.hosts[peer].name;
        evidence.hosts[host].rdma->meetings.push_back(std::move(met));
      });
    }
  }
  batch.collect();
  return any;
}

// Of many hosts not every pair: each with the next one.
void meet_over_rdma_in_rounds(ProbeContext& context) {
  constexpr size_t kMostHostsOfAllPairs = 9;
  const EvidenceSet& evidence = context.evidence;
  const size_t hosts = evidence.hosts.size();
  if (evidence.job.ports.empty() || hosts < 2) return;
  for (const auto& round : disjoint_rounds(hosts)) {
    if (is_over(context)) return;
    std::vector<std::pair<size_t, size_t>> wanted;
    std::copy_if(round.begin(), round.end(), std::back_inserter(wanted), [&](const auto& pair) {
      return hosts <= kMostHostsOfAllPairs || pair.second - pair.first == 1;
    });
    constexpr size_t kMostRails = 8;
    for (size_t rail = 0; rail < kMostRails && !is_over(context); ++rail) {
      if (!meet_round(context, wanted, rail)) break;
    }
  }
}

}  // namespace

void gather_rdma(ProbeContext& context) {
  if (!context.evidence.job.rdma) return;  // nothing is taken of the devices for others
  climb_rdma_devices(context);
  meet_over_rdma_in_rounds(context);
}

}  // namespace plumbline
