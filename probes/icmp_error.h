// Was a TCP connection refused by the peer itself (RST) or by an ICMP message, which filters and
// routers send? Both end as ECONNREFUSED at the socket. Platform code: icmp_error_linux.cc,
// icmp_error_macos.cc. Thread-safe.
#pragma once

namespace plumbline {

// To be called before connect(2). Makes every ICMP error end the attempt at once, where the
// platform can.
void watch_icmp_errors(int fd, int family);
// After a failed connect: did an ICMP message end it? False where the platform does not tell.
bool ended_by_icmp(int fd);

}  // namespace plumbline
