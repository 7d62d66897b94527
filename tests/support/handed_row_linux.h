// Shared memory as a transport on a system whose memory has no names (macOS), on one where it has:
// regions and rings are handed from rank to rank over Unix sockets.
#pragma once

#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"
#include "transport/transports.h"

namespace plumbline::test {

inline TransportRow handed_row() {
  TransportRow row = **find_transport("shm", false);
  row.name = "shm, handed over";
  row.claim = [](const ClaimSpec& spec) {
    return claim_over_tcp(spec, [&spec](const TcpEndpoint&) {
      return std::vector<TcpUpgrade>{shm_upgrade(*spec.options, MemoryWay::kHanded)};
    });
  };
  return row;
}

}  // namespace plumbline::test
