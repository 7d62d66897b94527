// Which ICMP error met a socket: refusals by RST and by ICMP (as filters and routers send them)
// both end as ECONNREFUSED at the socket, and only the error queue tells them apart and says who
// sent it. Platform code: icmp_error_linux.cc (IP_RECVERR in ip(7), ipv6(7)), icmp_error_macos.cc.
// Thread-safe.
#pragma once

#include <cstddef>
#include <optional>

#include "core/diagnosis/trace_summary.h"

namespace plumbline {

// To be called before connect(2) or the first send. Makes every ICMP error end a connection attempt
// at once and be kept for take_icmp_error, where the platform can. `on` false: no longer.
void watch_icmp_errors(int fd, int family, bool on = true);

struct QueuedIcmpError {
  TraceIcmp icmp;           // at_ns is left 0
  int err = 0;              // errno that the system made of it
  int told_mtu = 0;         // of "fragmentation needed" and "packet too big"; otherwise 0
  bool icmp_origin = true;  // false: the own stack found it (EMSGSIZE), no packet came
};
// The next error of the socket's queue; nothing when there is none or the platform does not tell.
// `data` (may be null) gets the first bytes of the payload that was refused, at most `size`; `got`
// how many.
std::optional<QueuedIcmpError> take_icmp_error(int fd, void* data = nullptr, size_t size = 0,
                                               size_t* got = nullptr);

}  // namespace plumbline
