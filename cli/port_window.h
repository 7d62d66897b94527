// The window of ports that a world of ranks listens on, settled before anything starts.
#pragma once

#include <vector>

#include "core/options.h"
#include "scenarios/scenario.h"

namespace plumbline {

// First port of the window of `ranks` ports: with port_base "auto" a window that is free now,
// otherwise the option's, checked on the data addresses of this namespace: a busy port is an error
// that names its owner (kBusy, tcp.port_in_use). Ports in other namespaces are claimed by their
// ranks, which say the same.
Expected<int> choose_port_base(const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                               int ranks);

}  // namespace plumbline
