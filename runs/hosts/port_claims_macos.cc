#include "runs/hosts/port_window.h"

namespace plumbline {

// No names without files that end with their process: ranks that find a port taken move on.
bool PortClaims::take(int, int) { return true; }

}  // namespace plumbline
