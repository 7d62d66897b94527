// The proposing functions of the rules about hosts, gathered into the table of host_rules.cc. Each
// returns all that its subject gives, possibly of several causes. Pure functions, thread-safe.
#pragma once

#include <vector>

#include "probes/rules/rules.h"

namespace plumbline {

using Checks = std::vector<Check>;

// host_start_rules.cc: files, options, ports, names, agents, readiness, RDMA.
std::vector<Candidate> propose_config(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_ports(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_names(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_launch(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_readiness(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_rdma(const EvidenceSet& evidence, const Checks& checks);
// host_link_rules.cc
std::vector<Candidate> propose_link_down(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_no_carrier(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_link_quality(const EvidenceSet& evidence, const Checks& checks);
// host_bridge_rules.cc: topology.bridge_loop, link.not_in_bridge.
std::vector<Candidate> propose_bridges(const EvidenceSet& evidence, const Checks& checks);
// host_absent_rules.cc: link.missing, ip.missing, ip.wrong_subnet and ip.link_local_only of an
// address that is not where the host file says.
std::vector<Candidate> propose_absent(const EvidenceSet& evidence, const Checks& checks);
// host_ip_rules.cc
std::vector<Candidate> propose_masks(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_duplicates(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_overlaps(const EvidenceSet& evidence, const Checks& checks);
// host_topology_rules.cc: ip.wrong_subnet, topology.not_mesh, topology.rail_mismatch.
std::vector<Candidate> propose_subnets(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_rails(const EvidenceSet& evidence, const Checks& checks);
// host_neighbour_rules.cc
std::vector<Candidate> propose_neighbours(const EvidenceSet& evidence, const Checks& checks);
// host_alone_rules.cc: neighbour.unresolved of a host that no agent speaks for.
std::vector<Candidate> propose_unanswered(const EvidenceSet& evidence, const Checks& checks);
// host_route_rules.cc
std::vector<Candidate> propose_routes(const EvidenceSet& evidence, const Checks& checks);
// host_default_rules.cc
std::vector<Candidate> propose_default_leak(const EvidenceSet& evidence, const Checks& checks);
// host_path_rules.cc
std::vector<Candidate> propose_slower_path(const EvidenceSet& evidence, const Checks& checks);
std::vector<Candidate> propose_mtu(const EvidenceSet& evidence, const Checks& checks);

}  // namespace plumbline
