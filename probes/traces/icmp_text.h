// What an ICMP error says, in words. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

// "administratively prohibited", "fragmentation needed, MTU 1400"; `mtu` 0 = not told.
std::string icmp_text(bool v6, int type, int code, uint32_t mtu);
// Does it end an attempt to connect (destination unreachable, time exceeded, parameter problem)?
bool icmp_is_hard(bool v6, int type, int code);

}  // namespace plumbline
