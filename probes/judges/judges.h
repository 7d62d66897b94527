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
using Judge = std::vector<Check>(const EvidenceSet& evidence, const ProbeParams& params);

// judge_config.cc: files, port plan, options equal everywhere, agents.
Judge judge_config, judge_ports, judge_name, judge_stack, judge_ssh, judge_launch;
// judge_link.cc: interfaces, addresses; judge_route.cc: neighbours, routes.
Judge judge_link, judge_ip, judge_neighbour, judge_route;
// judge_pair.cc
Judge judge_icmp, judge_firewall, judge_tcp_connect;
// judge_quality.cc
Judge judge_mtu, judge_quality;
// judge_rdma.cc: readiness, RDMA, a command on every host.
Judge judge_host, judge_rdma, judge_command;
// judge_equality.cc: what should be the same on all hosts.
Judge judge_software, judge_artifact;
// judge_endpoint.cc
Judge judge_endpoint;

}  // namespace plumbline
