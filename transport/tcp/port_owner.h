// Who holds a TCP port on this host, for error messages and checks: "PID 4711 (plumbline)". Reads
// the system's tables; processes of other users may be invisible without privilege, then it says
// what is known. Platform code: port_owner_linux.cc, port_owner_macos.cc. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

// The process that listens on this port of this address or of all addresses, or else has a
// connection that uses it; an empty address stands for any (and always does on macOS). Empty when
// nobody does or nothing can be seen (a socket that is bound and does not listen is in no table).
std::string port_owner(uint16_t port, const std::string& ip = {});

}  // namespace plumbline
