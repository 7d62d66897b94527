// Connects to ports on which it listens itself. Whoever accepts must have got the bytes that were
// sent, so that a redirect to somebody else is noticed, and strangers who connect meanwhile do no
// harm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.h"
#include "probes/tcp_rules.h"

namespace plumbline {

struct TcpEnd {
  std::string ip;
  std::string interface;  // for link-local addresses
};

// Tries all ports at once (in batches, to spare descriptors). Never longer than `timeout_ms` a
// batch, nor beyond the deadline. `of_job` is left as it is by default.
std::vector<PortAttempt> try_connect(const TcpEnd& from, const TcpEnd& to,
                                     const std::vector<int>& ports, int64_t timeout_ms,
                                     Deadline deadline);

}  // namespace plumbline
