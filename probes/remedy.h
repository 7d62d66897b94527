// What puts things right, to be done as root on the host that it is for, in the words of its system
// ("linux" | "macos"; anything else counts as Linux). Each heals what is named and nothing else.
// Nothing here is ever run by plumbline. Values from the evidence stand in slots
// (core/diagnosis/remedy.h): one that is not what it should be leaves advice in the place of the
// command. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/diagnosis/remedy.h"
#include "probes/evidence.h"

namespace plumbline {

Command remedy_link_up(const std::string& system, const std::string& interface);
Command remedy_set_mtu(const std::string& system, const std::string& interface, int mtu);
Command remedy_arp_on(const std::string& system, const std::string& interface);

Command remedy_add_address(const std::string& system, const std::string& ip, int prefix,
                           const std::string& interface);
Command remedy_delete_address(const std::string& system, const std::string& ip, int prefix,
                              const std::string& interface);
// Gives `ip` another prefix length. Secondary addresses of the interface, which Linux deletes
// together with the primary one of their subnet, are put back.
Remedy remedy_replace_prefix(const std::string& system, const InterfaceEvidence& interface,
                             const std::string& ip, int wrong, int right);

Command remedy_delete_route(const std::string& system, const RouteEvidence& route);
Command remedy_add_route(const std::string& system, const RouteEvidence& route);
// The route that the system adds with an address: packets to its subnet leave here.
Command remedy_connected_route(const std::string& system, const std::string& ip, int prefix,
                               const std::string& interface);
// A routing policy rule ("ip rule"), named by its priority and its selectors.
Command remedy_delete_rule(const PolicyRule& rule, bool v6);
Command remedy_delete_neighbour(const std::string& system, const std::string& ip,
                                const std::string& interface);

// A VLAN on this interface, which there was once.
Command remedy_add_vlan(const std::string& parent, const std::string& interface,
                        const std::string& tag);
Command remedy_add_to_bridge(const std::string& system, const std::string& port,
                             const std::string& bridge);
Command remedy_leave_bridge(const std::string& system, const std::string& port,
                            const std::string& bridge);
Command remedy_forward_on_port(const std::string& port);
Remedy remedy_join_ports(const std::vector<std::string>& ports);  // isolation off
Command remedy_negotiate_duplex(const std::string& interface);

Command remedy_sysctl(const std::string& key, const std::string& value);
Command remedy_kill(int64_t pid);
// Keeps these ports out of the ephemeral range.
Remedy remedy_reserve_ports(const std::string& system, const std::string& ports);
Command remedy_set_clock(const std::string& system);
// Makes the host's own name mean its data address.
Command remedy_own_name(const std::string& name, const std::string& ip);

// How a person finds out who listens there; it changes nothing.
std::string remedy_show_listener(const std::string& system, int port);

}  // namespace plumbline
