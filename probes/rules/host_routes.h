// Facts about routes that both a check and a rule need. Pure functions, thread-safe.
#pragma once

#include <optional>
#include <string>

#include "probes/rules/host_common.h"

namespace plumbline {

// The default route of this host leaves through a data interface although it should not: another
// interface has one too, or the other hosts keep theirs off the data network.
const RouteEvidence* leaked_default(const EvidenceSet& evidence, const HostView& view);

// The kernel cannot send: an error, or a route that says no.
bool is_refusal(const RouteLookup& lookup);

// Do packets of this pair leave through another interface than the one of their source? Absent
// when that is not known.
std::optional<bool> leaves_elsewhere(const EvidenceSet& evidence, const PairEvidence& pair);

}  // namespace plumbline
