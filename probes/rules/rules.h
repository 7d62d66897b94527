// From evidence to causes: the doctor's judgement. Every rule is one row: it reads the evidence and
// the checks and proposes findings, each with the cause id, the host whose fault it is, confidence,
// the deciding evidence, the exact remedy, and the checks it explains. Then `find_causes` keeps one
// root cause per broken pair (or one of a host that explains several pairs) by the ladder's order:
// what an earlier cause explains is not reported again. Pure functions, thread-safe: nothing here
// opens a socket, and the same evidence always gives the same findings.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

// Places on the ladder, as in the table of probes.
enum Rung : int {
  kRungConfig = 10,
  kRungPorts = 20,
  kRungName = 30,
  kRungLaunch = 40,
  kRungHost = 50,
  kRungLink = 60,
  kRungIp = 70,
  kRungNeighbour = 80,
  kRungRoute = 90,
  kRungIcmp = 100,
  kRungFirewall = 110,
  kRungTcp = 120,
  kRungMtu = 130,
  kRungQuality = 140,
  kRungRdma = 150,
  kRungEndpoint = 160,
  // What the sockets of somebody's own job tell of the network: after all that the ladder names.
  kRungJobNetwork = 170,
};

// Two hosts by their names, from the first to the second.
using OrderedPair = std::pair<std::string, std::string>;
using OrderedPairs = std::set<OrderedPair>;
// From the one to the other, and back.
inline OrderedPairs both_ways(const std::string& a, const std::string& b) {
  return {{a, b}, {b, a}};
}

// A finding that a rule proposes.
struct Candidate {
  Finding finding;
  // What it makes unusable, so that later causes there are only its symptoms. Empty for warnings
  // and notes that break nothing.
  OrderedPairs breaks;
  // Has evidence of its own (a capture, a filter's rule, an answer), so that it stands even where
  // an earlier cause breaks the same pairs already.
  bool proven = false;
  // That evidence is what captures saw or did not see. Packets that go astray on the link (a wrong
  // neighbour, no route) look just the same there, so it does not stand against an earlier cause
  // of the link, in either direction.
  bool by_captures_only = false;
  // That evidence is rules of filters alone, which no packet of the pair can have met: it stands
  // beside a host that is cut off from the link only where the same rules stop other pairs.
  bool by_rules_only = false;
  // A fault of the way back explains it as well: it is dropped when an earlier cause breaks the
  // pair in either direction.
  bool needs_way_back = false;
  // Causes that are only symptoms of this one on the pairs that it breaks, though they stand
  // earlier on the ladder: a filter that drops every frame also stops address resolution.
  std::vector<std::string> supersedes;
};

// A candidate with its place on the ladder.
struct RankedCandidate {
  Candidate candidate;
  int rung = 0;
  size_t row = 0;  // of the table of rules; earlier rows go first on one rung
};

// Rows with one function are a family: it is asked once, and each row takes the candidates of the
// cause that it is named after. A row that has its function for itself takes all of them.
using Checks = std::vector<Check>;
using Candidates = std::vector<Candidate>;
using Propose = Candidates(const EvidenceSet& evidence, const Checks& checks);
struct RuleRow {
  const char* name;  // "firewall.drop_inbound"
  int rung;          // one of Rung
  const char* help;  // one line: by which evidence it is told apart from its neighbours
  Propose* propose;

  bool is_of_job() const { return std::string_view(name).starts_with("job"); }
};

// Rows in ladder order: config, name, launch, host, link, ip, neighbour, route, icmp, firewall,
// tcp, mtu, quality, rdma, endpoint. rules.cc holds them.
const std::vector<RuleRow>& host_rules();
const std::vector<RuleRow>& pair_rules();

// What all of them propose, each with its place on the ladder.
std::vector<RankedCandidate> proposals(const std::vector<RuleRow>& rules,
                                       const EvidenceSet& evidence,
                                       const std::vector<Check>& checks);

// Root causes only: fail, then warn, then note, each in ladder order; findings of one cause on one
// host are joined (peer dropped when it meets all peers of that host that it could meet). Where
// somebody's own job was looked at, what the ladder finds counts only between hosts where that job
// does not get on (job_scope.cc).
std::vector<Finding> find_causes(const EvidenceSet& evidence, const std::vector<Check>& checks);

// Of the proposals of all rules those that concern somebody's own job, where one was looked at; all
// of them otherwise.
std::vector<RankedCandidate> in_job_scope(const EvidenceSet& evidence,
                                          const std::vector<RuleRow>& rules,
                                          std::vector<RankedCandidate> proposals);

// The choice behind find_causes, for proposals that are at hand.
std::vector<Finding> select_causes(const EvidenceSet& evidence, const std::vector<Check>& checks,
                                   std::vector<RankedCandidate> proposals);

// Every ordered pair of the evidence that touches this host (in either role), for `breaks`.
OrderedPairs pairs_of(const EvidenceSet& evidence, const std::string& host);

// ---- which causes are only symptoms of others: what find_causes leaves out (symptoms.cc) ----

// A warning or note about a pair that a failure on this rung of the ladder breaks.
bool follows_from_failure(const std::string& symptom, int rung);
// A warning next to another one about the same hosts.
bool follows_from_warning(const std::string& symptom, const std::string& cause);
// Something between two hosts whose link flaps; `proven`: it has evidence that no lost packet
// gives.
bool follows_from_flapping(const std::string& symptom, bool proven);
// A failure of a host next to another finding about the same host.
bool follows_on_host(const std::string& symptom, const std::string& cause);

// ---- the proposing functions of the rows, each in its file ----
// Each returns all that its subject gives, possibly of several causes.

// host_start_rules.cc, host_launch_rules.cc: files, options, ports, names, agents, readiness, RDMA.
Propose propose_config, propose_ports, propose_names, propose_launch, propose_readiness,
    propose_rdma;
// host_releases.cc: config.version_mismatch of macOS where the job asks for RDMA.
Propose propose_releases;
// host_rdma_addresses.cc: ip.link_local_only behind a device of the matrix.
Propose propose_self_assigned;
// host_coordinator.cc: ip.missing of the address under which rank 0 coordinates.
Propose propose_coordinator;
// stack_rules.cc: what the user's own stack would take.
Propose propose_stack;
// host_link_rules.cc
Propose propose_link_down, propose_no_carrier, propose_link_quality;
// host_topology_rules.cc: topology.bridge_loop, link.not_in_bridge.
Propose propose_bridges;
// host_absent_rules.cc: link.missing, ip.missing, ip.wrong_subnet and ip.link_local_only of an
// address that is not where the host file says.
Propose propose_absent;
// host_ip_rules.cc, host_duplicate_rules.cc
Propose propose_masks, propose_duplicates, propose_overlaps;
// host_topology_rules.cc: ip.wrong_subnet, topology.not_mesh, topology.rail_mismatch.
Propose propose_subnets, propose_rails;
// host_cables.cc: topology.* and rdma.unsupported_hardware of Thunderbolt cables.
Propose propose_cables;
// host_neighbour_rules.cc; host_silent_rules.cc: neighbour.unresolved of a host that no agent
// speaks for.
Propose propose_neighbours, propose_unanswered;
// host_route_rules.cc, host_path_rules.cc, host_mtu_rules.cc
Propose propose_routes, propose_default_leak, propose_slower_path, propose_mtu;
// pair_idle.cc, pair_tcp.cc
Propose propose_idle_timeout, propose_icmp_blocked, propose_no_listener, propose_wrong_service,
    propose_local_network_privacy;
// pair_firewall.cc: all firewall.* candidates that tell of connections that fail.
Propose block_candidates;
// job_processes.cc: job.stopped, rank.dead, rank.missing; job_config.cc: config.mismatch;
// job_worlds.cc: stack.one_rank; job_places.cc: name.loopback, tcp.listener_wrong_address,
// stack.interface; job_reading.cc: job.not_reading; job_network.cc: firewall.* of the job's own
// connections.
Propose propose_job_processes, propose_job_config, propose_job_places, propose_job_reading,
    propose_job_network, propose_job_worlds;
// equality_rules.cc: config.* of versions and variables; artifact.*.
Propose propose_software, propose_artifacts;
// endpoint_rules.cc: all endpoint.* causes.
Propose propose_endpoints;
// pair_mtu.cc, pair_loss.cc, pair_rate.cc
Propose propose_mtu_blackhole, propose_loss, propose_rate, propose_latency;

}  // namespace plumbline
