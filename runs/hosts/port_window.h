// The window of ports that a world of ranks listens on, settled before anything starts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fd.h"
#include "core/options/options.h"
#include "scenarios/scenario.h"

namespace plumbline {

// Ports that this run will listen on, announced to other runs of plumbline on this machine from the
// moment they are chosen: between the choice and the ranks' own listening lie the probes, and two
// runs that start together would choose the same ones. A claim is void when its process ends,
// however it ends. Platform code: port_claims_linux.cc, port_claims_macos.cc.
class PortClaims {
 public:
  // false = another run has claimed one of the ports; then none is claimed anew. What this object
  // holds already is its own. Where the system has no means (macOS), every claim is granted, and
  // ranks that find their port taken tell it.
  bool take(int base, int count);

 private:
  std::map<int, Fd> held_;  // by port
};

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
