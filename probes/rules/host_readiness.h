// What a host says of itself, judged once for the checks and for the rules alike. Is it ready to
// run ranks and to be measured: socket buffers, cores, load, clock, connection table, limits, low
// power mode? Are the names that it resolved usable, loopback, of another network, nothing? Which
// of the first rungs of RDMA (verbs library, hardware, device, port, GID, locked memory) fails
// first? Of socket buffers what a socket really gets decides: what it asked for and was granted,
// or, where nothing was asked or the system refused it, how far the system's own tuning lets it
// grow. These two have limits of their own (net.core.rmem_max and wmem_max; the third values of
// net.ipv4.tcp_rmem and tcp_wmem; on macOS kern.ipc.maxsockbuf, and net.inet.tcp.autorcvbufmax and
// autosndbufmax). Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

// Judged once; the check is what the probe shows, the rest what the rule proposes.
struct HostVerdict {
  Check check;
  std::string cause = {};               // "host.overloaded"; empty when nothing is wrong
  Remedy remedy = {};                   // for the host of the check
  Severity severity = Severity::kWarn;  // of readiness; of the others the rule says it
};

// Everything about every host, in the order of the host file.
std::vector<HostVerdict> readiness_of(const EvidenceSet& evidence);

// Ranks that the job places on this host: block-wise over the hosts, and on one machine together.
int ranks_on(const EvidenceSet& evidence, const std::string& host);

struct BufferVerdict {
  CheckOutcome outcome = CheckOutcome::kPass;  // kWarn: too small
  std::string reason;
  Remedy remedy;  // raises the limits that are in the way
};
BufferVerdict judge_socket_buffers(const HostEvidence& host);

// One verdict for every name that this host was asked for; at least one.
std::vector<HostVerdict> judge_names(const EvidenceSet& evidence, const JobHost& job,
                                     const HostEvidence& host);

// One for every host. Where the job does not ask for RDMA and a host has no device, there is
// nothing to judge.
std::vector<HostVerdict> rdma_verdicts(const EvidenceSet& evidence);

}  // namespace plumbline
