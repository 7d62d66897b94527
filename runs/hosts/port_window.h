// The window of ports that a world of ranks listens on, settled before anything starts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/options/options.h"
#include "runs/hosts/port_claims.h"
#include "scenarios/scenario.h"

namespace plumbline {

// First port of the window of `ranks` ports: with port_base "auto" a window that is free now,
// otherwise the option's, checked on the data addresses of this namespace: a busy port is an error
// that names its owner (kBusy, tcp.port_in_use). Ports in other namespaces are claimed by their
// ranks, which say the same. `claims` keeps other runs of this machine from choosing the same
// window; null = nobody is kept.
Expected<int> choose_port_base(const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                               int ranks, PortClaims* claims = nullptr);

// Nobody has fixed the window: `auto`, or the default where all ranks are on this machine.
bool may_choose_window(const OptionSet& options, const std::vector<ScenarioHost>& hosts);

struct MovedWindow {
  OptionSet options;   // with the new port_base and where it comes from
  std::string notice;  // one line for the user
};
// Another, free window in place of one that was lost (`why`).
Expected<MovedWindow> move_window(const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                                  int ranks, const Error& why, PortClaims* claims);

// choose_port_base() before a run begins: where the window may be chosen, a busy one is left for
// another. nullopt = it is as the options say.
Expected<std::optional<MovedWindow>> settle_window(const OptionSet& options,
                                                   const std::vector<ScenarioHost>& hosts,
                                                   int ranks, PortClaims& claims);

}  // namespace plumbline
