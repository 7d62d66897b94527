// The two addresses between which a pair is measured: those of the ranks' own channel, because they
// are what collectives use. One thread, the group's.
#pragma once

#include <vector>

#include "collectives/links/link_session.h"
#include "transport/group.h"
#include "transport/group_spec.h"

namespace plumbline {

// Connects the channel to `peer` first where that has not happened. `endpoints` of all ranks tell
// whether the two addresses share a subnet; null = not known, and then not direct.
Expected<LinkPath> link_path(Group& group, int peer, const std::vector<RankEndpoint>* endpoints,
                             Deadline deadline);

}  // namespace plumbline
