// The option `push`: before anything is started, the hosts that are reached through ssh are asked
// whether they have plumbline, and get the static one of their architecture where they should
// (launch/push.h, docs/clusters.md).
#pragma once

#include <vector>

#include "core/options/options.h"
#include "runs/hosts/reach.h"
#include "scenarios/scenario.h"

namespace plumbline {

// Fills in reach.pushed and reach.not_pushed by host name, all hosts side by side; says what
// is sent. With push = never it does nothing. Takes a session per host over the connection
// that later commands share, and a second one where something is sent; each has a deadline.
void push_programs(Reach& reach, const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                   Caller& caller);

}  // namespace plumbline
