// The detectors of requirement.cc that differ by platform: empty = present, else the reason.
#pragma once

#include <string>

namespace plumbline {

std::string missing_linux();
std::string missing_macos();
std::string missing_network_namespaces();
std::string missing_raw_sockets();

}  // namespace plumbline
