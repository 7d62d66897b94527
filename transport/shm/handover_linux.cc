// Linux opens shared memory by name; there only tests hand it over.
#include <sys/socket.h>

#include "transport/shm/handover.h"

namespace plumbline {

std::string handover_directory() { return "/tmp/"; }

int receive_flags() { return MSG_CMSG_CLOEXEC; }

}  // namespace plumbline
