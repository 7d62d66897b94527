// Small helpers with which all probes build their checks and findings. Pure functions, thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "probes/probe.h"

namespace plumbline {

// What a check is about. Its key is "ID/HOST[>PEER][:PORT][#DETAIL]".
struct Subject {
  std::string id, host, peer = {};
  std::optional<int> port = {};
  std::string detail = {};
};
Check make_check(const Subject& subject, CheckOutcome outcome, std::string reason);

// A finding about the host of this check, with the check's reason as evidence and its key among
// what is explained.
Finding make_finding(const std::string& cause, Severity severity, const Check& check,
                     std::string remedy);

// For probes that look at the machine rather than at an address: an earlier host of the list is
// this very machine, so that asking again would say the same. Its name, or nothing for the first.
std::optional<std::string> same_machine(const ProbeContext& context, size_t host);
// The same for probes of addresses: an earlier host has the same data addresses.
std::optional<std::string> same_addresses(const ProbeContext& context, size_t host);
// Judges every host, but those of an earlier host's addresses only once: they get a skipped check
// `id`.
ProbeResult judge_each_host(const ProbeContext& context, const std::string& id,
                            const std::function<ProbeResult(const ProbeHost&)>& judge);

// Puts findings that say the same of one host together (evidence and explained checks are joined,
// the peer is dropped when several differ) and sorts fail before warn before note, keeping the
// ladder's order inside each.
void merge_findings(std::vector<Finding>& findings);

void append(ProbeResult& to, ProbeResult from);

}  // namespace plumbline
