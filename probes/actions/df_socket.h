// A connected UDP socket whose packets are never fragmented, neither here nor on the way (DF of
// IPv4), and that sends packets larger than what the system believes the path to take. Platform
// code: df_socket_linux.cc (IP_PMTUDISC_PROBE, ip(7), ipv6(7)), df_socket_macos.cc. Thread-safe.
#pragma once

#include "core/error.h"
#include "core/fd.h"
#include "probes/actions/ends.h"

namespace plumbline {

Expected<Fd> open_df_socket(const PairEnds& ends);
// MTU of the path, as the system believes now; 0 = it does not tell.
int believed_mtu(int fd, int family);

}  // namespace plumbline
