// Who is named for what happens between hosts: a set of directions that suffer is brought down to
// as few hosts and pairs as explain it. Pure, thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "probes/evidence.h"

namespace plumbline {

using HostDirection = std::pair<std::string, std::string>;  // from, to
// For each direction the host and the peer to name; the peer is empty when the host suffers with
// all of its peers.
using PathOwners = std::map<HostDirection, HostDirection>;

// A host that suffers with every peer (two at least) is named alone. Otherwise the sender of the
// direction; for both directions of a pair the first in file order.
PathOwners owners_of_directions(const EvidenceSet& evidence,
                                const std::set<HostDirection>& directions);

}  // namespace plumbline
