// The row of the table for RDMA. Ranks find their devices when they claim their places: those that
// the host file's matrix names for a peer, those of the option rdma_device, or the one that has the
// address of the pair's TCP connection as a GID, so that RDMA takes the way that data addresses
// say. docs/rdma.md tells users how to switch it on.
#pragma once

#include <memory>
#include <string>

#include "transport/tcp/tcp_upgrade.h"
#include "transport/transports.h"

namespace plumbline {

std::string rdma_unavailable(bool ranks_in_process);
Expected<std::unique_ptr<TransportClaim>> claim_rdma(const ClaimSpec& spec);
// What it makes of connections. A rank without devices says why where somebody counts on them: the
// option transport, a device that is named.
TcpUpgrade rdma_upgrade(const OptionSet& options, const TcpEndpoint& site);

}  // namespace plumbline
