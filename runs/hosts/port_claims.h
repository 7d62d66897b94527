// Ports that this run will listen on, announced to other runs of plumbline on this machine from the
// moment they are chosen: between the choice and the ranks' own listening lie the probes, and two
// runs that start together would choose the same ones. A claim is void when its process ends,
// however it ends. Platform code: port_claims_linux.cc, port_claims_macos.cc.
#pragma once

#include <map>

#include "core/fd.h"

namespace plumbline {

class PortClaims {
 public:
  // false = another run has claimed one of the ports; then none is claimed anew. What this object
  // holds already is its own. Where the system has no means (macOS), every claim is granted, and
  // ranks that find their port taken tell it.
  bool take(int base, int count);

 private:
  std::map<int, Fd> held_;  // by port
};

}  // namespace plumbline
