// Do the sockets of a host get buffers that are large enough? What a socket really gets decides:
// what it asked for and was granted, or, where nothing was asked or the system refused it, how far
// the system's own tuning lets it grow. These two have limits of their own (net.core.rmem_max and
// wmem_max; the third values of net.ipv4.tcp_rmem and tcp_wmem; on macOS kern.ipc.maxsockbuf, and
// net.inet.tcp.autorcvbufmax and autosndbufmax). Pure function, thread-safe.
#pragma once

#include <string>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

struct BufferVerdict {
  CheckOutcome outcome = CheckOutcome::kPass;  // kWarn: too small
  std::string reason;
  Remedy remedy;  // raises the limits that are in the way
};
BufferVerdict judge_socket_buffers(const HostEvidence& host);

}  // namespace plumbline
