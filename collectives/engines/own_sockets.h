// Sockets of this process that a library has opened and keeps to itself, found by their addresses.
// Linux (/proc/self/fd).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/fd.h"

namespace plumbline {

// Descriptors of our own (dup) for the connected sockets whose own address is in `locals` or whose
// peer's is in `remotes`, written "[127.0.0.1]:80".
std::vector<Fd> own_sockets(const std::set<std::string>& locals,
                            const std::set<std::string>& remotes);

}  // namespace plumbline
