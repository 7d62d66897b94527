// Gathering: asks the agents of all hosts, side by side, and fills the evidence. The order matters:
// first what every host says about itself; then, with listeners on every port of the job and
// captures on all hosts, routes, neighbours, pings and connections of all pairs at once; then what
// loads the links (path MTU, streams) in rounds of disjoint pairs. An agent that fails is written
// down as such and not asked again. Never longer than the context's deadline.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "probes/probe.h"

namespace plumbline {

// Requests to several agents at the same time: ask() sends, collect() waits for all answers and
// hands each to its `take`. An answer that makes no sense, or none, is noted at its host.
class AgentBatch {
 public:
  using Take = std::function<void(const nlohmann::json& reply)>;
  using Failed = std::function<void(const Error& error)>;

  explicit AgentBatch(ProbeContext& context) : context_(context) {}
  // Nothing is sent to a host without an agent; `failed` is then called at once. `within_ms` is cut
  // to the context's deadline.
  void ask(size_t host, const std::string& request, const nlohmann::json& params, int64_t within_ms,
           Take take, Failed failed = {});
  void collect();

 private:
  struct Pending {
    size_t host = 0;
    std::string request;
    int64_t ticket = 0;
    Take take;
    Failed failed;
  };
  void give(Pending& pending);
  void lose(size_t host, const std::string& request, const Error& error);
  ProbeContext& context_;
  std::vector<Pending> pending_;
};

// `needs` = Need bits. `params` hold the parameters of the probe calls that were made, by probe.
void gather_evidence(ProbeContext& context, unsigned needs, const std::vector<ProbeCallSpec>& calls,
                     std::vector<std::string>& traces);

// The ordered pairs that should talk, each with the addresses under test; pairs that cannot be
// tried carry the reason in `skipped`. Pure, but for the agents that are missing.
std::vector<PairEvidence> pairs_to_try(const EvidenceSet& evidence);
// The interface of a host that carries this address; nullptr when none does.
const InterfaceEvidence* carrier_of(const HostEvidence& host, const std::string& ip);
// Disjoint rounds of unordered pairs (indices of hosts): each host at most once in a round; all
// pairs in n - 1 rounds (n even) by the circle method.
std::vector<std::vector<std::pair<size_t, size_t>>> disjoint_rounds(size_t hosts);

// Parts of gather_evidence, in gather_pairs.cc, gather_neighbours.cc and gather_quality.cc.
void gather_pairs(ProbeContext& context, unsigned needs, std::vector<std::string>& traces);
void gather_quality(ProbeContext& context, unsigned needs);
// Where an agent may not send ARP requests of its own, the kernel's word comes late: it gives up
// only after seconds. Asks again for the pairs that nothing else has settled; for use right behind
// the attempts to connect.
void settle_neighbours(ProbeContext& context);

}  // namespace plumbline
