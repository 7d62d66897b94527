// Exact commands that put things right, as they are typed on this platform. Nothing here is ever
// run by plumbline. Platform code: remedy_linux.cc, remedy_macos.cc. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

std::string remedy_link_up(const std::string& interface);
// Lets TCP to these ports in from this address; never switches a whole firewall off.
std::string remedy_allow_ports(const std::string& from_ip, const std::string& to_ip,
                               const std::string& ports);
std::string remedy_add_address(const std::string& ip, int prefix, const std::string& interface);
std::string remedy_socket_buffers(uint64_t bytes);
// Keeps these ports out of the ephemeral range.
std::string remedy_reserve_ports(const std::string& ports);
std::string remedy_show_listener(int port);
std::string remedy_governor();
std::string remedy_clock_source();
// Makes the host's own name mean its data address.
std::string remedy_own_name(const std::string& name, const std::string& ip);

}  // namespace plumbline
