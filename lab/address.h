// Handing out the addresses of subnets, IPv4 and IPv6, and ports as nft and people write them:
// "29500,29600-29603". Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/host/ip.h"

namespace plumbline {

// "10.10.0.0/24"; bits behind the prefix are an Error that names the subnet that was meant.
Expected<Subnet> parse_subnet(const std::string& text);
// Address number n of the subnet ("10.10.0.0/24", 5 -> "10.10.0.5"), without prefix length.
std::string nth_address(const Subnet& subnet, uint64_t n);
// Subnet number n of that prefix length inside the subnet.
Subnet nth_subnet(const Subnet& subnet, int length, uint64_t n);
// How many subnets of that length fit, at most 2^20.
uint64_t count_subnets(const Subnet& subnet, int length);
// Addresses for hosts (without network and broadcast in IPv4), at most 2^20.
uint64_t host_capacity(const Subnet& subnet);
// "10.10.0.5" of "10.10.0.5/24", and 24; -1 where there is no prefix.
std::string ip_of(const std::string& address);
int prefix_of(const std::string& address);

// Sorted, each port once.
Expected<std::vector<int>> parse_ports(const std::string& text);
// Runs of neighbours as ranges, joined by `comma`, with `dash` inside a range.
std::string port_words(const std::vector<int>& ports, const char* comma = ",",
                       const char* dash = "-");

}  // namespace plumbline
