// Gathering: asks the agents of all hosts, side by side, and fills the evidence. The order matters:
// first what every host says about itself; then, with listeners on every port of the job and
// captures on all hosts, routes, neighbours, pings and connections of all pairs at once; then what
// loads the links (path MTU, streams) in rounds of disjoint pairs. An agent that fails is written
// down as such and not asked again. Never longer than the context's deadline. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnosis/trace_summary.h"
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

// The time is over, or the user asked to stop.
bool is_over(const ProbeContext& context);
// A port of ours answered there.
bool is_ours(const PortTry& attempt);
// The number of a host by its name; as many as there are hosts when there is none.
size_t index_of(const EvidenceSet& evidence, const std::string& host);

// Parts of gather_evidence, in gather_pairs.cc, gather_later.cc, gather_quality.cc and
// gather_rdma.cc.
void gather_pairs(ProbeContext& context, unsigned needs, std::vector<std::string>& traces);
void gather_quality(ProbeContext& context, unsigned needs);
void gather_rdma(ProbeContext& context);
// gather_equal.cc: what should be the same on all hosts, of each machine once.
void ask_software(ProbeContext& context, const std::vector<ProbeCallSpec>& calls);
void ask_artifacts(ProbeContext& context, const std::vector<ProbeCallSpec>& calls);
// gather_privacy.cc: where a Mac refused connections at once, the same with Apple's own tools, and
// who started the agent there. For use while the peers' listeners are still up.
void ask_apples_tools(ProbeContext& context);
// Where an agent may not send ARP requests of its own, the kernel's word comes late: it gives up
// only after seconds. Asks again for the pairs that nothing else has settled; for use right behind
// the attempts to connect.
void settle_neighbours(ProbeContext& context);

// ---- parts that several files of this folder share: one ordered pair while it is tried ----

struct PairTask {
  PairEvidence* pair = nullptr;
  size_t from = 0, to = 0;
  AskedWay way = {};
  std::string nonce;
  std::map<int, int> source_ports;  // by port
};

// Where no capture saw both ends, counters around many connection attempts tell on which side
// packets are lost. One pair after the other, so that the differences belong to it.
void burst_silent_pairs(ProbeContext& context, std::vector<PairTask>& tasks);

// ---- captures ----

// Started before something is tried, stopped and analysed on each host afterwards, and the files
// fetched where they are wanted; all through the agents.

class HostCaptures {
 public:
  // `own[i]` = addresses of host i that are of interest; `id` names the capture at the agents.
  HostCaptures(ProbeContext& context, std::string id, std::vector<std::vector<std::string>> own,
               std::vector<int> ports)
      : context_(context), id_(std::move(id)), own_(std::move(own)), ports_(std::move(ports)) {}

  // On how many hosts it runs. Those that may not capture say so in their evidence (`unreadable`).
  size_t start();
  // What each host that captured has seen. `keep`: the files stay with the agents until fetched.
  std::map<size_t, TraceSummary> stop(bool keep);
  // Once stopped: whether nothing is missing in what this host captured.
  bool is_whole(size_t host) const { return whole_.count(host) != 0; }
  // Writes the kept files into a folder, NAME.pcap each; returns their paths.
  std::vector<std::string> fetch(const std::string& folder);

 private:
  std::string fetch_one(size_t host, const std::string& folder);
  ProbeContext& context_;
  std::string id_;
  std::vector<std::vector<std::string>> own_;
  std::vector<int> ports_;
  std::vector<size_t> running_;
  std::set<size_t> whole_;
};

// ---- datagrams ----

// Both directions at once: sockets at the receivers, then senders beside whatever else the caller
// asks in the same batch, then the counts. Fills QualityEvidence::datagrams.

// What the streams of one direction said so far of loss: to decide what else is measured, no
// verdict.
struct LossSigns {
  bool tcp_some = false, tcp_sure = false;              // of the paced streams
  bool datagrams_some = false, datagrams_sure = false;  // some did not come, while others did
  void add(const LossSigns& other);
};
LossSigns loss_signs(const PairEvidence& pair);

// How long other datagrams of this direction have to be waited for, ms, where a whole stream of
// them has just got lost, as behind a default-deny filter; 0: there is no reason to hurry. (They
// may still be let through: to the job's own ports.)
int64_t silence_that_tells_ms(const PairEvidence& pair);

class DatagramStreams {
 public:
  explicit DatagramStreams(ProbeContext& context) : context_(context) {}

  // Opens the receivers of both directions of these pairs (indices of hosts). Pairs where nothing
  // passes at all are left out: there is nothing to count. `alone`: longer and slower, so that
  // what a filter rations by the second can be told from what is lost by chance.
  void open(const std::vector<std::pair<size_t, size_t>>& pairs, bool alone);
  void send(AgentBatch& batch);
  // After the batch was collected.
  void close();

 private:
  struct Way {
    PairEvidence* pair = nullptr;
    size_t from = 0, to = 0;
    AskedWay way;
    std::string id, to_interface, token;
    int port = 0;  // 0: the receiver could not open it
    DatagramEvidence result;
  };
  void add(size_t from, size_t to, bool alone);

  ProbeContext& context_;
  std::vector<Way> ways_;
};

}  // namespace plumbline
