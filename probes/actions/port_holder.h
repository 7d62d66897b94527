// Who stands in the way of listening on an address and port: "PID 4711 (python3)". Platform code:
// port_holder_linux.cc, port_holder_macos.cc. Thread-safe.
#pragma once

#include <string>

namespace plumbline {

// Listeners on this address or on all addresses first, then connections that use the port. Empty
// when nobody can be seen (a socket that is bound and does not listen is in no table).
std::string port_holder(const std::string& ip, int port);

}  // namespace plumbline
