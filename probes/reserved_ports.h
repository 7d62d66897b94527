// Ports that the system keeps out of its ephemeral range on request, as the remedy for an overlap
// asks for. Platform code: reserved_ports_linux.cc, reserved_ports_macos.cc. Thread-safe.
#pragma once

#include <vector>

namespace plumbline {

// Sorted; empty where there are none or the platform has no such list.
std::vector<int> reserved_ports();

}  // namespace plumbline
