// What a live snapshot and the reader of collect.sh's files have in common. Not thread-safe for one
// HostEvidence.
#pragma once

#include <vector>

#include "probes/evidence.h"

namespace plumbline {

// Leaves out connections that have nothing to do with these ports: they are nobody's business.
// Listeners stay.
void keep_sockets_of_interest(HostEvidence& host, const std::vector<int>& ports);

}  // namespace plumbline
