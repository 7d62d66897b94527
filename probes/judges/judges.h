// The judges of the ladder's probes: evidence in, checks out. One function per row of probes.cc, in
// judge_*.cc; what a failed check means is decided by the rules (probes/rules). A check is passed
// only when the thing was seen to be right; not seen is `unknown` with what was lacking, not asked
// is `skipped` with why. Keys follow checks.h. Pure functions, thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

using ProbeParams = std::map<std::string, std::string>;

// judge_config.cc: files, port plan, options equal everywhere, agents.
std::vector<Check> judge_config(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_ports(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_name(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_ssh(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_launch(const EvidenceSet& evidence, const ProbeParams& params);
// judge_host.cc
std::vector<Check> judge_host(const EvidenceSet& evidence, const ProbeParams& params);
// judge_link.cc: interfaces, addresses; judge_route.cc: neighbours, routes.
std::vector<Check> judge_link(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_ip(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_neighbour(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_route(const EvidenceSet& evidence, const ProbeParams& params);
// judge_pair.cc
std::vector<Check> judge_icmp(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_firewall(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_tcp_connect(const EvidenceSet& evidence, const ProbeParams& params);
// judge_quality.cc
std::vector<Check> judge_mtu(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_quality(const EvidenceSet& evidence, const ProbeParams& params);
// judge_rdma.cc
std::vector<Check> judge_rdma(const EvidenceSet& evidence, const ProbeParams& params);
std::vector<Check> judge_command(const EvidenceSet& evidence, const ProbeParams& params);

}  // namespace plumbline
