// Opens a Group over TCP. A rank first claims its port with a TcpListener, learns the endpoints of
// all ranks from whoever started it, and then opens the group, which connects every pair.
#pragma once

#include <memory>

#include "transport/tcp/tcp_listener.h"
#include "transport/transports.h"

namespace plumbline {

// Collective: returns when control connections to all ranks stand (and the data mesh too when the
// option mesh is "eager"), or after connect_timeout_ms with the ranks that are missing. The
// listener's addresses and port must be those of spec.endpoints[spec.rank].
Expected<std::unique_ptr<Group>> open_tcp_group(const GroupSpec& spec,
                                                std::unique_ptr<TcpListener> listener);
// The same, listening on spec.endpoints[spec.rank].
Expected<std::unique_ptr<Group>> open_tcp_group(const GroupSpec& spec);

}  // namespace plumbline
