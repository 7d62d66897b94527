// Gathering: asks the agents of all hosts, side by side, and fills the evidence. The order matters:
// first what every host says about itself; then, with listeners on every port of the job and
// captures on all hosts, routes, neighbours, pings and connections of all pairs at once; then what
// loads the links (path MTU, streams) in rounds of disjoint pairs. An agent that fails is written
// down as such and not asked again. Never longer than the context's deadline.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "probes/agent_requests.h"
#include "probes/probe.h"

namespace plumbline {

// Requests to several agents at the same time: ask() sends, collect() waits for all answers and
// hands each to its `take`. An answer that makes no sense, or none, is noted at its host.
class AgentBatch {
 public:
  template <typename Request>
  using Take = std::function<void(typename Request::Reply reply)>;
  using Failed = std::function<void(const Error& error)>;

  explicit AgentBatch(ProbeContext& context) : context_(context) {}
  // Nothing is sent to a host without an agent; `failed` is then called at once. `within_ms` is cut
  // to the context's deadline.
  template <typename Request>
  void ask(size_t host, const Request& request, int64_t within_ms, Take<Request> take,
           Failed failed = {}) {
    HostAgent* agent = agent_on(host, failed);
    if (agent == nullptr) return;
    const int64_t at = std::min(Deadline::after_ms(within_ms).at_ns(), context_.deadline.at_ns());
    const int64_t ticket = AgentWire<Request>::ask(*agent, request, Deadline::at_ns(at));
    auto receive = [ticket, take = std::move(take)](HostAgent& from) -> Status {
      auto reply = AgentWire<Request>::reply(from, ticket);
      if (!reply) return fail(reply.error());
      take(std::move(*reply));
      return {};
    };
    pending_.push_back({host, Request::kName, std::move(receive), std::move(failed)});
  }
  void collect();

 private:
  struct Pending {
    size_t host = 0;
    std::string request;
    std::function<Status(HostAgent& from)> receive;
    Failed failed;
  };
  HostAgent* agent_on(size_t host, const Failed& failed);
  void give(Pending& pending);
  void lose(size_t host, const std::string& request, const Error& error);
  ProbeContext& context_;
  std::vector<Pending> pending_;
};

// `needs` = Need bits. `params` hold the parameters of the probe calls that were made, by probe.
void gather_evidence(ProbeContext& context, unsigned needs, const std::vector<ProbeCallSpec>& calls,
                     std::vector<std::string>& traces);

// By which interface and addresses `pair.from` reaches the other end; without the interface where
// none of its host's carries the address.
AskedWay way_of(const EvidenceSet& evidence, const PairEvidence& pair);
// The ordered pairs that should talk, each with the addresses under test; pairs that cannot be
// tried carry the reason in `skipped`. Pure, but for the agents that are missing.
std::vector<PairEvidence> pairs_to_try(const EvidenceSet& evidence);
// The interface of a host that carries this address; nullptr when none does.
const InterfaceEvidence* carrier_of(const HostEvidence& host, const std::string& ip);

// Parts of gather_evidence, in gather_pairs.cc, gather_neighbours.cc and gather_quality.cc.
void gather_pairs(ProbeContext& context, unsigned needs, std::vector<std::string>& traces);
void gather_quality(ProbeContext& context, unsigned needs);
// Where an agent may not send ARP requests of its own, the kernel's word comes late: it gives up
// only after seconds. Asks again for the pairs that nothing else has settled; for use right behind
// the attempts to connect.
void settle_neighbours(ProbeContext& context);

}  // namespace plumbline
