// What `plumbline agent --listen` shows and where it listens, apart for tests.
#pragma once

#include <string>
#include <vector>

#include "core/host/host.h"

namespace plumbline {

// Where to listen when no --address is given: the addresses of all interfaces that are up, those of
// real network cards first, without link-local ones; loopback only when there is nothing else.
std::vector<std::string> listening_addresses(const std::vector<Nic>& nics);

// The one line to paste on the other machine. `token_file` empty: the token travels through a pipe,
// since echo is part of the shell and so in nobody's command line; else both machines have the
// file.
std::string paste_line(const std::string& address, int port, const std::string& token,
                       const std::string& token_file);

}  // namespace plumbline
