// Counters of this host's network stack, of the own network namespace: what came, what went, what
// was thrown away. For the difference over a burst of packets, where no capture is possible.
// Platform code: counters_linux.cc (proc(5)), counters_macos.cc. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/error.h"

namespace plumbline {

// By the names of docs/agent_protocol.md: "tcp.out_segments", "ip.in_discards",
// "if.eth0.rx_packets"; those of IPv6 begin with "ip6.", every other one of the kernel's appears as
// "TcpExt.ListenDrops".
using Counters = std::map<std::string, int64_t>;

Expected<Counters> read_counters();
// later - earlier; names that only one of them has are left out, and so are those that went
// backwards (an interface that was made anew).
Counters counters_difference(const Counters& earlier, const Counters& later);

// Of the files' text, for tests; what makes no sense is left out.
void parse_snmp(const std::string& text, Counters& counters);         // snmp, netstat
void parse_snmp6(const std::string& text, Counters& counters);        // snmp6
void parse_net_devices(const std::string& text, Counters& counters);  // dev

}  // namespace plumbline
