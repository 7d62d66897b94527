// Which sources this program was built from: "0.1.0-1a2b3c4d5e6f", the version and the commit, the
// same on all platforms. Agents are compared by it, and a file that holds a plumbline tells it
// without being started (launch/push.h).
#pragma once

#include <string>

namespace plumbline {

std::string own_build();

}  // namespace plumbline
