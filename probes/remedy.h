// Exact commands that put things right, to be run by `sh` as root on the host that they are for,
// in the words of its system ("linux" | "macos"; anything else counts as Linux). Each heals what is
// named and nothing else. Nothing here is ever run by plumbline. Several commands stand one a line.
// Words that come from evidence are quoted where a shell could misread them. Pure functions,
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/evidence.h"

namespace plumbline {

std::string remedy_link_up(const std::string& system, const std::string& interface);
std::string remedy_set_mtu(const std::string& system, const std::string& interface, int mtu);
std::string remedy_arp_on(const std::string& system, const std::string& interface);

std::string remedy_add_address(const std::string& system, const std::string& ip, int prefix,
                               const std::string& interface);
std::string remedy_delete_address(const std::string& system, const std::string& ip, int prefix,
                                  const std::string& interface);
// Gives `ip` another prefix length. Secondary addresses of the interface, which Linux deletes
// together with the primary one of their subnet, are put back.
std::string remedy_replace_prefix(const std::string& system, const InterfaceEvidence& interface,
                                  const std::string& ip, int wrong, int right);

std::string remedy_delete_route(const std::string& system, const RouteEvidence& route);
std::string remedy_add_route(const std::string& system, const RouteEvidence& route);
// The route that the system adds with an address: packets to its subnet leave here.
std::string remedy_connected_route(const std::string& system, const std::string& ip, int prefix,
                                   const std::string& interface);
// A routing policy rule ("ip rule"), named by its priority and its selectors.
std::string remedy_delete_rule(const PolicyRule& rule, bool v6);
std::string remedy_delete_neighbour(const std::string& system, const std::string& ip,
                                    const std::string& interface);

std::string remedy_add_to_bridge(const std::string& system, const std::string& port,
                                 const std::string& bridge);
std::string remedy_forward_on_port(const std::string& port);
std::string remedy_join_ports(const std::vector<std::string>& ports);  // isolation off

std::string remedy_sysctl(const std::string& key, const std::string& value);
std::string remedy_kill(int64_t pid);
std::string remedy_socket_buffers(const std::string& system, int64_t bytes);
// Keeps these ports out of the ephemeral range.
std::string remedy_reserve_ports(const std::string& system, const std::string& ports);
std::string remedy_show_listener(const std::string& system, int port);
std::string remedy_set_clock(const std::string& system);
// Makes the host's own name mean its data address.
std::string remedy_own_name(const std::string& name, const std::string& ip);

}  // namespace plumbline
