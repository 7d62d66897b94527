// All TCP sockets of this thread's network namespace as the kernel shows them over sock_diag(7),
// with its account of each connection. Needs no privilege; who holds a socket is another question
// (its inode, and /proc/PID/fd). Thread-safe.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "probes/job_evidence.h"

namespace plumbline {

struct KernelSocket {
  uint64_t inode = 0;  // 0: no process has it (yet, or any more)
  JobSocket socket;    // without its pid
};
struct KernelSockets {
  std::vector<KernelSocket> sockets;
  std::vector<std::string> cut;  // what was left out, in words
};
KernelSockets read_kernel_sockets(const AgentCall& call);

// One message of the kernel's answer; nothing when it is none, or damaged.
std::optional<KernelSocket> kernel_socket(const nlmsghdr& message);

}  // namespace plumbline
