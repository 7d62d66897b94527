// What the parts of core/host share among themselves: host.cc and requirement.cc have what every
// platform tells in the same way, host_linux.cc and host_macos.cc the rest. Nobody else includes
// this.
#pragma once

#include <string>

#include "core/host/host.h"

namespace plumbline {

// Everything but name, libraries, environment and network cards.
void read_platform_facts(HostFacts& facts);
// Name and version of the C library, when the platform tells it.
void read_platform_libraries(std::map<std::string, std::string>& libraries);

// The detectors of requirement.cc that differ by platform: empty = present, else the reason.

std::string missing_linux();
std::string missing_macos();
std::string missing_network_namespaces();
std::string missing_raw_sockets();

}  // namespace plumbline
