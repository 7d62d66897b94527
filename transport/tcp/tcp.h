// The row of the table for TCP. A rank first claims its port with a TcpListener, learns the
// endpoints of all ranks from whoever started it, and then opens the group, which connects every
// pair.
#pragma once

#include <memory>
#include <string>

#include "transport/tcp/tcp_listener.h"
#include "transport/transports.h"

namespace plumbline {

std::string tcp_unavailable(bool ranks_in_process);
std::string tcp_site(const RankSite& site);
Expected<std::unique_ptr<TransportClaim>> claim_tcp(const ClaimSpec& spec);

// TransportClaim::open over a listener whose addresses and port are those of
// spec.endpoints[spec.rank].
Expected<std::unique_ptr<Group>> open_tcp_group(const GroupSpec& spec,
                                                std::unique_ptr<TcpListener> listener);

// Where the rank of this endpoint listens, for those who measure beside the group.
Expected<TcpEndpoint> tcp_endpoint(int rank, const RankEndpoint& endpoint);

}  // namespace plumbline
