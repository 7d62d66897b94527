// The rows behind pair_rules(): each proposes findings of the causes that it is named after. See
// rules.h for what a proposal is. Pure functions, thread-safe.
#pragma once

#include <vector>

#include "probes/rules/rules.h"

namespace plumbline {

using Candidates = std::vector<Candidate>;
using Checks = std::vector<Check>;

// pair_firewall.cc
Candidates propose_idle_timeout(const EvidenceSet& evidence, const Checks& checks);
// pair_tcp.cc
Candidates propose_icmp_blocked(const EvidenceSet& evidence, const Checks& checks);
Candidates propose_no_listener(const EvidenceSet& evidence, const Checks& checks);
Candidates propose_wrong_service(const EvidenceSet& evidence, const Checks& checks);
Candidates propose_local_network_privacy(const EvidenceSet& evidence, const Checks& checks);
// pair_mtu.cc
Candidates propose_mtu_blackhole(const EvidenceSet& evidence, const Checks& checks);
// pair_loss.cc
Candidates propose_loss(const EvidenceSet& evidence, const Checks& checks);
// pair_rate.cc
Candidates propose_rate(const EvidenceSet& evidence, const Checks& checks);
Candidates propose_latency(const EvidenceSet& evidence, const Checks& checks);

}  // namespace plumbline
