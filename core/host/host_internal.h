// What the parts of the host facts share among themselves: host.cc has the facts that every
// platform tells in the same way, host_linux.cc and host_macos.cc the others. Nobody else includes
// this.
#pragma once

#include "core/host/host.h"

namespace plumbline {

// Everything but name, libraries, environment and network cards.
void read_platform_facts(HostFacts& facts);
// Name and version of the C library, when the platform tells it.
void read_platform_libraries(std::map<std::string, std::string>& libraries);

}  // namespace plumbline
